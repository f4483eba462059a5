"""Moves that are cancelled are those that were shown; plans that cannot be are refused."""

import asyncio
import json
from collections.abc import Callable, Collection
from types import SimpleNamespace
from uuid import UUID

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.clients.admin.results import Results
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.manager.pages import reassignments
from kafka_py.manager.throttle_keeper import PART, ThrottleKeeper
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.reassignments import carrying
from kafka_py.operations.reassignments.carrying import ThrottleSeen
from kafka_py.operations.reassignments.kept_throttles import KeptSetting, KeptThrottles
from kafka_py.operations.rebalancing.throttles import LEADER_RATE
from kafka_py.testing.web_manager import CalledManager

PATH = "/clusters/test/reassignments/cancel"
MOVE = PartitionReassignment([1, 2], [2], [1])
ONE, TWO, THREE = (TopicPartition("t", number) for number in (1, 2, 3))


class MovingAdmin(SimpleNamespace):
    """Moves that run; cancelled ones are gone."""

    def __init__(self) -> None:
        super().__init__(moves={ONE: MOVE, TWO: MOVE})

    async def list_partition_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        return dict(self.moves)

    async def alter_partition_reassignments(self, wanted: Collection[TopicPartition]) -> Results[TopicPartition, None]:
        for each in wanted:
            del self.moves[each]
        return Results(dict.fromkeys(wanted))

    async def close(self) -> None: ...


def test_moves_that_begin_after_a_cancellation_was_shown_go_on(played: Callable[..., None]) -> None:
    admin = MovingAdmin()

    async def scene(manager: CalledManager) -> None:
        shown = (await manager.submit(PATH)).text
        named = [part.partition('"')[0] for part in shown.split('name="partition" value="')[1:]]
        assert named == ["t-1", "t-2"]
        del admin.moves[ONE]
        admin.moves[THREE] = MOVE
        fields = {"partition": named, "shown": shown.split('name="shown" value="')[1].partition('"')[0]}
        assert (await manager.submit(PATH, step="apply", submission="1", **fields)).status_code == 303
        assert list(admin.moves) == [THREE]

    played(scene, admin=admin, allow_changes=True)


def test_a_plan_is_for_partitions_and_brokers_that_are_there(
    played: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    info = PartitionInfo("t", 1, 1, 0, (1, 2), (1, 2), ())
    topic = TopicInfo("t", UUID(int=0), False, (info,))
    snapshot = ClusterSnapshot(0, nodes={1: Node(1, "a", 1), 2: Node(2, "b", 2)}, topics={"t": topic})

    async def look(*_: object, **__: object) -> ClusterSnapshot:
        return snapshot

    monkeypatch.setattr(reassignments, "seen", look)

    async def scene(manager: CalledManager) -> None:
        for partition, replicas, status, why in (
            (1, [1, 3], 400, "broker 3, which is not alive"), (2, [2, 1], 404, "There is no partition t-2"),
            (1, [1, 2], 400, "where the plan wants it already"), (1, [2, 1], 200, "Move 1 partitions"),
        ):  # fmt: skip
            rows = [{"topic": "t", "partition": partition, "replicas": replicas}]
            plan = json.dumps({"version": 1, "partitions": rows})
            answer = await manager.call("/clusters/test/reassignments", plan=plan, dry_run=True)
            assert (answer.status_code, why in answer.text) == (status, True), answer.text

    played(scene, admin=MovingAdmin(), allow_changes=True)


def test_throttles_are_not_removed_while_another_user_sets_some(
    played: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that user's throttles are to be removed by must not be forgotten."""
    done = []

    async def look(*_: object, **__: object) -> ClusterSnapshot:
        return ClusterSnapshot(0, nodes={1: Node(1, "a", 1)}, topics={})

    async def throttles(*_: object) -> ThrottleSeen:
        return ThrottleSeen({1: 1_000}, [])

    async def clear(_: object, brokers: list[int], __: object) -> None:
        done.append(brokers)

    monkeypatch.setattr(reassignments, "seen", look)
    monkeypatch.setattr(carrying, "seen_throttles", throttles)
    monkeypatch.setattr(carrying, "clear_throttles", clear)
    admin = MovingAdmin()

    async def scene(manager: CalledManager) -> None:
        keeper: ThrottleKeeper = manager.services.parts[PART]
        row = {LEADER_RATE: KeptSetting(None, "1000")}
        async with keeper.holding("test"):
            removing = asyncio.ensure_future(manager.call("/clusters/test/reassignments/throttle", rate=0))
            for _ in range(200):
                await asyncio.sleep(0)
            assert not done and not removing.done()
            await keeper._keep("test", KeptThrottles("c", {}, {"1": row, "2": row}))
        assert (await removing).json()["message"] == "All throttles were removed."
        assert done == [[1]] and list(keeper.kept("test").brokers) == ["2"]  # broker 2 is down

    played(scene, admin=admin, allow_changes=True)

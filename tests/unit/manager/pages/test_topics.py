"""Topics as rows: trouble first, sums only of what is known."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.admin.results import Results
from kafka_py.clients.admin.topics import NewPartitions
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.manager.pages import brokers, topic_changes, topics
from kafka_py.manager.pages.topic_changes import hints_of
from kafka_py.manager.web.requests import NotFound
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, LogBounds, UnseenPart, ViewPart
from kafka_py.testing.web_manager import CalledManager


def topic(name: str, *rows: tuple[int, tuple[int, ...], tuple[int, ...]], internal: bool = False) -> TopicInfo:
    """rows: leader, replicas, in-sync set."""
    infos = [PartitionInfo(name, number, leader, 0, replicas, isr, ()) for number, (leader, replicas, isr) in
             enumerate(rows)]  # fmt: skip
    return TopicInfo(name, UUID(int=0), internal, tuple(infos))


SNAPSHOT = ClusterSnapshot(
    0,
    controller_id=1,
    nodes={1: Node(1, "a", 1), 2: Node(2, "b", 2, "rack")},
    topics={
        each.name: each
        for each in (
            topic("fine", (1, (1, 2), (1, 2))),
            topic("behind", (1, (1, 2), (1,)), (1, (1, 2), (1,))),
            topic("gone", (-1, (3,), (3,))),
            topic("__internal", (2, (2,), (2,)), internal=True),
        )
    },
    log_dirs={1: {"/d": LogDirDescription(None, {TopicPartition("fine", 0): ReplicaInfo(100, 0, False)})}},
    offsets={TopicPartition("fine", 0): LogBounds(5, 15), TopicPartition("behind", 0): LogBounds(0, 1)},
)


def test_a_broker_has_its_own_problems_and_those_of_the_cluster() -> None:
    unseen = tuple(
        UnseenPart(ViewPart.LOG_DIRS, broker, "", ErrorCode.REQUEST_TIMED_OUT, "") for broker in (1, 10, None)
    )
    found = brokers.problems_with(replace(SNAPSHOT, unseen=unseen), 1)
    assert [each.what for each in found] == ["log dirs of broker 1", "log dirs"]


class TopicAdmin(SimpleNamespace):
    """Notes what becomes of partitions; one of two elections is not needed."""

    def __init__(self) -> None:
        super().__init__(grown=[])

    async def create_partitions(self, wanted: dict[str, NewPartitions], validate_only: bool = False) -> Any:
        if not validate_only:
            self.grown.append(wanted)
        return Results(dict.fromkeys(wanted))

    async def elect_leaders(self, _kind: object, partitions: list[TopicPartition]) -> Any:
        codes = (ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
        return Results({each: KafkaError(code) for each, code in zip(partitions, codes, strict=True)})

    async def close(self) -> None: ...


@pytest.fixture
def seen_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look(*_: object, **__: object) -> ClusterSnapshot:
        moved = topic("moved", (2, (1, 2), (1, 2)), (2, (1, 2), (1, 2)))
        return replace(SNAPSHOT, topics={**SNAPSHOT.topics, "moved": moved})

    async def settled(*_: object) -> None: ...

    monkeypatch.setattr(topic_changes, "seen", look)
    monkeypatch.setattr(topic_changes, "wait_settled", settled)


def test_a_topic_gets_more_partitions_only(played: Callable[..., None], seen_topics: None) -> None:
    admin = TopicAdmin()

    async def scene(manager: CalledManager) -> None:
        for count in (1, 2):
            refused = await manager.call("/clusters/test/topics/behind/partitions", count=count)
            assert (refused.status_code, "has 2 partitions already" in refused.text) == (400, True)
        await manager.submit("/clusters/test/topics/behind/partitions", count="3")
        assert admin.grown == []
        assert (await manager.call("/clusters/test/topics/behind/partitions", count=3)).json()["is_done"]
        assert admin.grown == [{"behind": NewPartitions(3)}]

    played(scene, admin=admin, allow_changes=True)


def test_an_election_that_was_not_needed_has_not_failed(played: Callable[..., None], seen_topics: None) -> None:
    async def scene(manager: CalledManager) -> None:
        done = (await manager.call("/clusters/test/elections", topic="moved")).json()
        assert done["message"].startswith("1 leaders were elected. 1 could not be, moved-1 for example")

    played(scene, admin=TopicAdmin(), allow_changes=True)


@pytest.mark.parametrize("text", ["x", "-1", "\u00b2", "1" * 11, ""])
def test_what_is_no_id_of_a_broker_is_not_found(text: str) -> None:
    with pytest.raises(NotFound):
        brokers.broker_id(SimpleNamespace(path={"broker": text}))  # type: ignore[arg-type]


def test_offline_topics_come_first_then_under_replicated_ones() -> None:
    found = topics.in_order_of_trouble(SNAPSHOT, "", False)
    assert [each.name for each in found] == ["gone", "behind", "fine"]
    searched = topics.in_order_of_trouble(SNAPSHOT, "n", True)
    assert [each.name for each in searched] == ["gone", "behind", "__internal", "fine"]


def test_a_row_has_what_is_known() -> None:
    fine, behind = SNAPSHOT.topics["fine"], SNAPSHOT.topics["behind"]
    assert topics.records_of(SNAPSHOT, fine) == 10
    assert topics.records_of(SNAPSHOT, behind) is None
    assert topics.sizes_of(SNAPSHOT) == {"fine": 100}
    row = topics.topic_row(SNAPSHOT, behind, None, 7)
    assert (row.partitions, row.replication_factor, row.under_replicated, row.offline) == (2, 2, 2, 0)


def test_brokers_that_are_down_have_a_row_and_skew_is_from_the_average() -> None:
    rows = {row.id: row for row in brokers.broker_rows(SNAPSHOT)}
    assert [(row.id, row.is_alive, row.leads, row.follows) for row in rows.values()] == [
        (1, True, 3, 0), (2, True, 1, 3), (3, False, 0, 1)
    ]  # fmt: skip
    assert (rows[1].leader_skew, rows[2].leader_skew) == (50, -50)
    assert (rows[1].size_bytes, rows[2].size_bytes, rows[1].is_controller) == (100, None, True)
    assert brokers.percent_off(0, 0) == 0


def test_names_that_metrics_cannot_tell_apart_and_single_replicas_are_hinted_at() -> None:
    assert hints_of("a.b", ["a_b", "c"], 1)[0] == "Metrics cannot tell a.b from a_b: they take dots for underscores."
    assert len(hints_of("a.b", ["a.b"], 1)) == 1
    assert hints_of("a", [], 3) == []

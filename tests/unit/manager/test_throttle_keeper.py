"""The manager removes the throttles that it set for moves, also after a restart, and no others."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.clients.admin.resources import (
    AlterOperation,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from kafka_py.clients.admin.results import Results
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.settings import ClusterSettings
from kafka_py.manager.throttle_keeper import RETRY_MS, ThrottleKeeper
from kafka_py.operations.rebalancing.throttles import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, ReplicaMove
from kafka_py.testing.clock import ManualClock

T0 = TopicPartition("t", 0)
MOVES = {T0: ReplicaMove([1], [2])}
UNDER_WAY = {T0: PartitionReassignment([1, 2], [2], [1])}


class ThrottledCluster(SimpleNamespace):
    """Settings of topics and brokers, and moves. failure: raised for every request for moves while it is set."""

    def __init__(self) -> None:
        super().__init__(
            moves={}, settings={}, nodes=[1, 2], cluster_id="c", failure=None, asked=0, refuses_changes=False
        )

    async def list_partition_reassignments(self) -> Mapping[TopicPartition, PartitionReassignment]:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return dict(self.moves)

    async def describe_cluster(self) -> SimpleNamespace:
        return SimpleNamespace(cluster_id=self.cluster_id, nodes=[SimpleNamespace(id=each) for each in self.nodes])

    async def describe_configs(self, asked: Mapping[ConfigResource, Any]) -> Results[ConfigResource, Any]:
        return Results({each: self._entries(each) for each in asked})

    def _entries(self, resource: ConfigResource) -> dict[str, ConfigEntry]:
        is_topic = resource.type is ConfigResourceType.TOPIC
        source = ConfigSource.DYNAMIC_TOPIC_CONFIG if is_topic else ConfigSource.DYNAMIC_BROKER_CONFIG
        return {name: ConfigEntry(name, value, source) for name, value in self.of(resource.name).items()}

    async def incremental_alter_configs(self, changes: Mapping[ConfigResource, Any]) -> Results[ConfigResource, None]:
        if self.refuses_changes:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "late")
        for resource, rows in changes.items():
            for row in rows:
                if row.operation is AlterOperation.DELETE:
                    self.of(resource.name).pop(row.name, None)
                else:
                    self.of(resource.name)[row.name] = row.value
        return Results(dict.fromkeys(changes))

    def of(self, name: str) -> dict[str, str]:
        """The settings of a topic or a broker."""
        found: dict[str, str] = self.settings.setdefault(name, {})
        return found


class World:
    """A cluster, and keepers of one folder."""

    def __init__(self, folder: Path) -> None:
        self.admin, self.clock, self.busy = ThrottledCluster(), ManualClock(), False
        self.cluster = ManagedCluster(ClusterSettings("test", "localhost:1"), ClientEnvironment(chance=Chance(1)))
        self.cluster._admin = self.admin  # type: ignore[assignment]
        self.folder = folder
        self.keeper = self.restarted()

    def restarted(self) -> ThrottleKeeper:
        return ThrottleKeeper(self.folder, self.clock, lambda _name: self.busy)

    async def begin(self, rate: int = 1_000) -> None:
        async with self.keeper.holding("test"):
            await self.keeper.throttle(self.cluster, rate, MOVES)
            self.admin.moves = UNDER_WAY


def test_throttles_stay_while_the_move_runs_and_are_removed_when_it_is_over(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        await world.begin()
        await world.keeper.look(world.cluster)
        assert world.admin.of("1")[LEADER_RATE] == world.admin.of("2")[FOLLOWER_RATE] == "1000"
        assert world.admin.of("t")[FOLLOWER_REPLICAS] == "0:2"
        world.admin.moves = {}
        await world.keeper.look(world.cluster)
        assert world.admin.settings == {"1": {}, "2": {}, "t": {}}
        assert not world.keeper.kept("test").is_set

    asyncio.run(scene())
    assert not list(tmp_path.iterdir())


def test_another_process_removes_what_the_one_before_has_set(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        await world.begin()
        world.admin.moves = {}
        await world.restarted().look(world.cluster)
        assert world.admin.settings == {"1": {}, "2": {}, "t": {}}

    asyncio.run(scene())


def test_what_another_user_has_set_is_never_removed(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        world.admin.of("1")[LEADER_RATE] = "77"
        await world.begin()
        world.admin.of("2")[FOLLOWER_RATE] = "5"
        world.admin.moves = {}
        await world.keeper.look(world.cluster)
        assert world.admin.settings == {"1": {LEADER_RATE: "77"}, "2": {FOLLOWER_RATE: "5"}, "t": {}}

    asyncio.run(scene())


def test_nothing_is_removed_before_the_moves_have_begun_or_while_a_rebalance_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        async with world.keeper.holding("test"):
            await world.keeper.throttle(world.cluster, 1_000, MOVES)
            looking = asyncio.ensure_future(world.keeper.look(world.cluster))
            for _ in range(5):
                await asyncio.sleep(0)
            world.admin.moves = UNDER_WAY
        await looking
        assert world.admin.of("1")[LEADER_RATE] == "1000"
        world.admin.moves, world.busy = {}, True
        await world.keeper.look(world.cluster)
        assert world.admin.of("1")[LEADER_RATE] == "1000"
        world.busy = False
        await world.keeper.look(world.cluster)
        assert world.admin.of("1") == {}

    asyncio.run(scene())


def test_the_throttle_of_a_broker_that_is_down_is_removed_when_it_is_back(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        await world.begin()
        world.admin.moves, world.admin.nodes = {}, [1]
        await world.keeper.look(world.cluster)
        assert world.admin.of("1") == {} and world.admin.of("2")[FOLLOWER_RATE] == "1000"
        assert list(world.keeper.kept("test").brokers) == ["2"]
        world.admin.nodes = [1, 2]
        await world.keeper.look(world.cluster)
        assert world.admin.of("2") == {} and not world.keeper.kept("test").is_set

    asyncio.run(scene())


def test_another_rate_that_could_not_be_set_leaves_no_throttle_behind(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        await world.begin(1_000)
        world.admin.refuses_changes = True
        with pytest.raises(KafkaError):
            await world.begin(2_000)
        world.admin.moves, world.admin.refuses_changes = {}, False
        await world.restarted().look(world.cluster)
        assert world.admin.settings == {"1": {}, "2": {}, "t": {}}

    asyncio.run(scene())


def test_what_a_user_removes_leaves_the_throttle_of_a_broker_that_is_down_for_later(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        await world.begin()
        async with world.keeper.holding("test"):
            world.admin.settings.update({"1": {}, "t": {}})
            await world.keeper.forget("test", ["t"], ["1"])
        world.admin.moves = {}
        await world.keeper.look(world.cluster)
        assert world.admin.settings == {"1": {}, "2": {}, "t": {}}

    asyncio.run(scene())


def test_a_broker_that_is_down_is_not_throttled_and_does_not_hinder_the_others(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        world.admin.nodes = [2]
        await world.begin()
        assert "1" not in world.admin.settings and world.admin.of("2")[FOLLOWER_RATE] == "1000"

    asyncio.run(scene())


def test_a_cluster_that_does_not_answer_is_asked_again_later(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        await world.begin()
        world.admin.moves, world.admin.failure = {}, KafkaError(ErrorCode.REQUEST_TIMED_OUT, "late")
        for _ in range(2):
            await world.keeper.look(world.cluster)
        assert world.admin.asked == 1
        world.admin.failure = None
        world.clock.advance(RETRY_MS)
        await world.keeper.look(world.cluster)
        assert world.admin.of("1") == {}

    asyncio.run(scene())


def test_another_cluster_at_the_same_address_keeps_its_throttles(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        await world.begin()
        world.admin.moves, world.admin.cluster_id = {}, "another"
        await world.keeper.look(world.cluster)
        assert world.admin.of("1")[LEADER_RATE] == "1000" and not world.keeper.kept("test").is_set

    asyncio.run(scene())


def test_what_was_kept_for_another_cluster_is_not_kept_for_this_one(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path)
        world.admin.cluster_id, world.admin.nodes = "another", [1, 2, 3]
        async with world.keeper.holding("test"):
            await world.keeper.throttle(world.cluster, 1_000, {TopicPartition("old", 0): ReplicaMove([3], [1])})
        world.admin.cluster_id = "c"
        await world.begin()
        kept = world.keeper.kept("test")
        assert (kept.cluster_id, list(kept.topics), sorted(kept.brokers)) == ("c", ["t"], ["1", "2"])

    asyncio.run(scene())


def test_a_file_that_cannot_be_read_removes_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        (tmp_path / "test.json").write_text("{")
        world = World(tmp_path)
        await world.keeper.look(world.cluster)
        assert world.admin.asked == 0

    asyncio.run(scene())

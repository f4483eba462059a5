"""Moves are throttled before they begin, and what throttles them is found and removed."""

import asyncio
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.clients.admin.resources import ConfigEntry, ConfigResource, ConfigResourceType, ConfigSource
from kafka_py.clients.admin.results import Results
from kafka_py.operations.reassignments import carrying
from kafka_py.operations.rebalancing import throttles

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class FakeAdmin:
    """Notes what it is asked for."""

    def __init__(self, refused: dict[TopicPartition, KafkaError] | None = None) -> None:
        self.refused = refused or {}
        self.calls: list[tuple[str, Any]] = []
        self.described: dict[ConfigResource, Any] = {}

    async def list_partition_reassignments(self) -> Results[TopicPartition, PartitionReassignment]:
        return Results()

    async def incremental_alter_configs(self, changes: Any) -> Results[ConfigResource, None]:
        self.calls.append(("configs", changes))
        return Results(dict.fromkeys(changes))

    async def alter_partition_reassignments(self, targets: Any) -> Results[TopicPartition, None]:
        self.calls.append(("reassign", targets))
        return Results({each: self.refused.get(each) for each in targets})

    async def describe_configs(self, asked: Any) -> Results[ConfigResource, Any]:
        return Results({resource: self.described.get(resource, {}) for resource in asked})


def test_the_throttle_is_set_before_the_moves_begin_and_refusals_are_named() -> None:
    error = KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no")
    admin = FakeAdmin({T1: error})

    async def note(moves: throttles.Moves) -> None:
        admin.calls.append(("throttle", moves))

    begun = asyncio.run(carrying.begin(admin, {T0: [2, 3], T1: [9]}, {T0: [1, 2], T1: [1]}, note))  # type: ignore[arg-type]
    assert admin.calls[0] == ("throttle", {T0: throttles.ReplicaMove([1, 2], [3]), T1: throttles.ReplicaMove([1], [9])})
    assert [kind for kind, _ in admin.calls] == ["throttle", "reassign"]
    assert begun == carrying.BegunMoves([T0], {T1: error})


def test_without_a_rate_no_setting_is_touched() -> None:
    admin = FakeAdmin()
    asyncio.run(carrying.begin(admin, {T0: [2]}, {T0: [1]}))  # type: ignore[arg-type]
    assert [kind for kind, _ in admin.calls] == ["reassign"]


def test_throttles_are_found_where_they_are_dynamic_only() -> None:
    admin = FakeAdmin()
    dynamic, static = ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DEFAULT_CONFIG
    of_topic = ConfigSource.DYNAMIC_TOPIC_CONFIG
    admin.described = {
        ConfigResource(ConfigResourceType.BROKER, "1"): {"a": ConfigEntry("a", "500", dynamic),
                                                         "b": ConfigEntry("b", "400", dynamic)},
        ConfigResource(ConfigResourceType.BROKER, "2"): {"a": ConfigEntry("a", "9223372036854775807", static)},
        ConfigResource(ConfigResourceType.BROKER, "3"): KafkaError(ErrorCode.REQUEST_TIMED_OUT, "down"),
        ConfigResource(ConfigResourceType.TOPIC, "t"): {"c": ConfigEntry("c", "0:1", of_topic)},
        ConfigResource(ConfigResourceType.TOPIC, "u"): {"c": ConfigEntry("c", "", static)},
    }  # fmt: skip
    found = asyncio.run(carrying.seen_throttles(admin, [1, 2, 3], ["t", "u"]))  # type: ignore[arg-type]
    assert found == carrying.ThrottleSeen({1: 400}, ["t"])
    assert found.is_set and not carrying.ThrottleSeen({}, []).is_set
    asyncio.run(carrying.clear_throttles(admin, list(found.rates), found.topics))  # type: ignore[arg-type]
    assert {resource.name for resource in admin.calls[0][1]} == {"1", "t"}


def test_progress_is_by_size_and_never_whole_while_it_runs() -> None:
    move = PartitionReassignment([1, 2, 3], [2, 3], [1])
    assert carrying.progress_percent(move, 1, {1: 100, 2: 50}) == 25
    assert carrying.progress_percent(move, 1, {1: 100, 2: 100, 3: 300}) == 99
    assert carrying.progress_percent(move, 1, {}) is None
    assert carrying.progress_percent(move, 1, {1: 0}) == 0
    assert carrying.progress_percent(PartitionReassignment([1, 2], [], [2]), 1, {1: 10}) == 100

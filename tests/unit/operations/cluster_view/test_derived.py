"""What follows from a snapshot: offline and under-replicated partitions, counts and bytes per broker, lag."""

import uuid

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen, LogBounds


def partition(number: int, leader: int, replicas: tuple[int, ...], isr: tuple[int, ...] | None = None) -> PartitionInfo:
    return PartitionInfo("t", number, leader, 1, replicas, replicas if isr is None else isr, ())


SNAPSHOT = ClusterSnapshot(
    taken_ms=0,
    nodes={1: Node(1, "a", 9092), 2: Node(2, "b", 9092)},
    topics={
        "t": TopicInfo(
            "t",
            uuid.UUID(int=1),
            False,
            (partition(0, 1, (1, 2)), partition(1, 2, (1, 2), (2,)), partition(2, -1, (3,), ())),
        )
    },
    log_dirs={
        1: {
            "/d1": LogDirDescription(None, {TopicPartition("t", 0): ReplicaInfo(70, 0, False)}),
            "/d2": LogDirDescription(None, {TopicPartition("t", 0): ReplicaInfo(30, 5, True)}),
        }
    },
    offsets={TopicPartition("t", 0): LogBounds(5, 20)},
)


def test_a_partition_without_live_leader_is_offline() -> None:
    offline = [each.partition for each in derived.partitions(SNAPSHOT) if derived.is_offline(SNAPSHOT, each)]
    assert offline == [2]
    assert derived.is_offline(SNAPSHOT, partition(0, 3, (3, 1))), "its leader is not alive, and no other elected yet"


def test_a_partition_whose_in_sync_set_lacks_a_replica_is_under_replicated() -> None:
    assert [each.partition for each in derived.partitions(SNAPSHOT) if derived.is_under_replicated(each)] == [1, 2]


def test_replicas_on_dead_brokers_and_in_failed_directories_are_missing() -> None:
    with_failed_directory = PartitionInfo("t", 0, 1, 1, (1, 2, 3), (1,), (2,))
    assert derived.missing_replicas(SNAPSHOT, with_failed_directory) == [2, 3]


def test_leaders_and_replicas_are_counted_per_broker_dead_ones_included() -> None:
    assert derived.leaders_per_broker(SNAPSHOT) == {1: 1, 2: 1}
    assert derived.replicas_per_broker(SNAPSHOT) == {1: 2, 2: 2, 3: 1}


def test_the_first_replica_is_the_preferred_leader() -> None:
    assert [derived.is_preferred_leader(each) for each in derived.partitions(SNAPSHOT)] == [True, False, False]


def test_a_copy_between_directories_takes_room_but_is_no_replica() -> None:
    assert derived.bytes_per_broker(SNAPSHOT) == {1: 100}
    assert derived.replica_bytes(SNAPSHOT) == {TopicPartition("t", 0): {1: 70}}


def test_lag_is_never_negative_and_unknown_without_an_end_offset() -> None:
    committed = {
        TopicPartition("t", 0): OffsetAndMetadata(12),
        TopicPartition("t", 1): OffsetAndMetadata(3),
    }
    group = GroupSeen("g", "consumer", "Stable", 1, committed=committed)
    assert derived.lag(SNAPSHOT, group) == {TopicPartition("t", 0): 8, TopicPartition("t", 1): None}
    ahead = group._replace(committed={TopicPartition("t", 0): OffsetAndMetadata(25)})
    assert derived.lag(SNAPSHOT, ahead) == {TopicPartition("t", 0): 0}
    assert derived.lag(SNAPSHOT, group._replace(committed=None)) == {}

"""How consumers shared partitions before there were group coordinators."""

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.zookeeper_range import owned_by

THREE = [TopicPartition("topic1", number) for number in range(3)]


def shares(*consumers: str, partitions: list[TopicPartition] = THREE) -> list[list[int]]:
    """The partition numbers of each consumer."""
    return [[each.partition for each in owned_by(consumer, consumers, partitions)] for consumer in consumers]


def test_s1_213_consumers_come() -> None:
    """S1-213"""
    assert shares("c1") == [[0, 1, 2]]
    assert shares("c1", "c2") == [[0, 1], [2]]
    assert shares("c1", "c2", "c3") == [[0], [1], [2]]
    assert shares("c1", "c2", "c3", "c4") == [[0], [1], [2], []]


def test_s1_214_consumers_go() -> None:
    """S1-214"""
    assert shares("c2", "c3", "c4") == [[0], [1], [2]]
    assert [len(share) for share in shares("c3", "c4")] == [2, 1]
    assert shares("c4") == [[0, 1, 2]]


def test_x_041_late_consumers_may_go_without() -> None:
    """X-041: five partitions among four consumers."""
    five = [TopicPartition("t", number) for number in range(5)]
    assert [len(share) for share in shares("c1", "c2", "c3", "c4", partitions=five)] == [2, 2, 1, 0]

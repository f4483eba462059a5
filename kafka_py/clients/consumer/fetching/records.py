"""What poll() returns: records as light tuples, grouped by partition in the order of their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.records.batch import TimestampType
from kafka_py.records.record import Header


class ConsumerRecord(NamedTuple):
    """One record. Sizes are serialized sizes in bytes, -1 for null; timestamps are ms UTC."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    serialized_key_size: int
    serialized_value_size: int
    key: Any
    value: Any
    headers: tuple[Header, ...]
    leader_epoch: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class ConsumerRecords:
    """The records of one poll; iterating yields all of them, partition by partition."""

    __slots__ = ("_by_partition",)

    def __init__(self, by_partition: dict[TopicPartition, list[ConsumerRecord]] | None = None) -> None:
        self._by_partition = by_partition or {}

    def __iter__(self) -> Iterator[ConsumerRecord]:
        for records in self._by_partition.values():
            yield from records

    def __len__(self) -> int:
        return sum(map(len, self._by_partition.values()))

    def __bool__(self) -> bool:
        return any(self._by_partition.values())

    def count(self) -> int:
        """The number of records."""
        return len(self)

    def is_empty(self) -> bool:
        return not self

    def partitions(self) -> set[TopicPartition]:
        """The partitions that have records here."""
        return set(self._by_partition)

    def records(self, of: TopicPartition | str) -> list[ConsumerRecord]:
        """The records of one partition, or of all partitions of a topic."""
        if isinstance(of, TopicPartition):
            return self._by_partition.get(of, [])
        return [record for partition, some in self._by_partition.items() if partition.topic == of for record in some]

    def __repr__(self) -> str:
        return f"ConsumerRecords({ {str(tp): len(records) for tp, records in self._by_partition.items()} })"


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a timestamp (ms UTC). `leader_epoch` is -1 when the broker does not report it."""

    offset: int
    timestamp: int
    leader_epoch: int = -1

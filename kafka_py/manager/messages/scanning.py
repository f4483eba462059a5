"""Reads ranges of partitions with a consumer that has no group, within bounds of records, bytes and time.

A scan ends when every partition is read to the end of its range, or when its budget is spent; it then says how far it
got. Records are handed on as they come: nothing is kept here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
from kafka_py.clients.errors import ClientTimeout
from kafka_py.manager.messages.positions import OffsetSpan

POLL_S = 0.25
SCAN_CONFIGS: Mapping[str, Any] = {
    "allow.auto.create.topics": "false",
    "auto.offset.reset": "earliest",
    "default.api.timeout.ms": 6_000,
    "fetch.max.bytes": 4 * 1024 * 1024,
    "fetch.max.wait.ms": 100,
    "max.partition.fetch.bytes": 256 * 1024,
    "max.poll.records": 200,
}
"""A fetch holds little memory. A batch larger than these bounds is still delivered, one at a time (KIP-74)."""


class ScanSource(Protocol):
    """What a scan needs of AsyncConsumer."""

    async def assign(self, partitions: Collection[TopicPartition]) -> None: ...
    async def seek(self, partition: TopicPartition, offset: int) -> None: ...
    async def pause(self, partitions: Collection[TopicPartition]) -> None: ...
    async def poll(self, timeout: float = 0.0) -> ConsumerRecords: ...
    async def position(self, partition: TopicPartition, timeout: float | None = None) -> int: ...


class StopReason(StrEnum):
    """What was spent when a scan stopped before its end."""

    RECORDS = "records"
    BYTES = "bytes"
    TIME = "time"
    PATTERN = "pattern"


class ScanLimits(NamedTuple):
    """How much one request may read."""

    records: int = 50_000
    size_bytes: int = 64 * 1024 * 1024
    time_ms: int = 4_000


@dataclass(slots=True)
class ScanBudget:
    """What is left of the limits, for one or several scans. stopped_by: what was spent first."""

    limits: ScanLimits
    clock: Clock
    records: int = 0
    size_bytes: int = 0
    stopped_by: StopReason | None = None
    started_ms: float = field(init=False)

    def __post_init__(self) -> None:
        self.started_ms = self.clock.monotonic_ms()

    @property
    def took_ms(self) -> int:
        return int(self.clock.monotonic_ms() - self.started_ms)

    def spend(self, records: int, size_bytes: int) -> None:
        self.records += records
        self.size_bytes += size_bytes

    def extend(self) -> None:
        """Allows as much as the limits once more."""
        limits = self.limits
        self.limits = ScanLimits(
            self.records + limits.records, self.size_bytes + limits.size_bytes, self.took_ms + limits.time_ms
        )
        self.stopped_by = None

    def is_spent(self) -> bool:
        """Whether a limit is reached; notes which."""
        if self.stopped_by is None:
            if self.took_ms >= self.limits.time_ms:
                self.stopped_by = StopReason.TIME
            elif self.records >= self.limits.records:
                self.stopped_by = StopReason.RECORDS
            elif self.size_bytes >= self.limits.size_bytes:
                self.stopped_by = StopReason.BYTES
        return self.stopped_by is not None


class PartitionScan:
    """One pass over the spans of a topic's partitions. next_offsets: how far each partition is read (exclusive)."""

    def __init__(
        self, source: ScanSource, topic: str, spans: Mapping[int, OffsetSpan], budget: ScanBudget
    ) -> None:
        self._source = source
        self._budget = budget
        self._topic = topic
        self._spans = spans
        self.next_offsets = {number: span.start for number, span in spans.items()}
        self.unfinished = {number for number, span in spans.items() if span.start < span.end}

    async def parts(self) -> AsyncIterator[list[ConsumerRecord]]:
        """The records of the spans, some of one partition at a time."""
        await self._begin()
        while self.unfinished and not self._budget.is_spent():
            polled = await self._source.poll(POLL_S)
            for partition in polled.partitions():
                part = self._part(partition.partition, polled.records(partition))
                if part:
                    yield part
            await self._look_at_positions()

    async def finish(self, number: int) -> None:
        """No more records of this partition are wanted."""
        if number in self.unfinished:
            self.unfinished.discard(number)
            await self._source.pause([TopicPartition(self._topic, number)])

    async def _begin(self) -> None:
        partitions = [TopicPartition(self._topic, number) for number in sorted(self.unfinished)]
        if not partitions:
            return
        await self._source.assign(partitions)
        for partition in partitions:
            await self._source.seek(partition, self._spans[partition.partition].start)

    def _part(self, number: int, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        if number not in self.unfinished:
            return []
        start, end = self._spans[number]
        # Where the log has become shorter, the consumer begins at its start again.
        part = [record for record in records if start <= record.offset < end]
        if part:
            self.next_offsets[number] = part[-1].offset + 1
        self._budget.spend(len(part), sum(_size(record) for record in part))
        return part

    async def _look_at_positions(self) -> None:
        """Finishes partitions that are read to their end: behind their last record may be markers of transactions."""
        for number in list(self.unfinished):
            try:
                position = await self._source.position(TopicPartition(self._topic, number), POLL_S)
            except ClientTimeout:
                continue  # its log was shortened meanwhile, and its new start is not known yet
            self.next_offsets[number] = max(self.next_offsets[number], min(position, self._spans[number].end))
            if position >= self._spans[number].end:
                await self.finish(number)


def _size(record: ConsumerRecord) -> int:
    return max(record.serialized_key_size, 0) + max(record.serialized_value_size, 0)

"""The changes of a follower's log: appends of fetched records, truncation, the leader's high watermark and log start.

Synchronous. Knows the partitions' logs and the purgatories; nothing of requests or connections.
Source: docs/reference/replication.md, sections 2 and 7.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.answers import AppendInfo, UnexpectedAppendOffset
from kafka_py.records.batch import LOG_OVERHEAD
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.truncation import OutOfRange
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.state.metrics import TopicMetrics
from kafka_py.replication.state.throttle import Throttle

_log = logging.getLogger(__name__)


_BATCHES_AT_ONCE = 1000
"""How many batches are appended in one turn of the loop."""


def pieces(records: memoryview) -> Iterator[memoryview]:
    """Splits `records` into pieces of at most _BATCHES_AT_ONCE whole batches; yields at least one, possibly empty."""
    begin = position = count = 0
    end = len(records)
    while end - position >= LOG_OVERHEAD:
        size = int.from_bytes(records[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
        if size < 0:
            break  # invalid data, which the append refuses
        count += 1
        if count > _BATCHES_AT_ONCE:
            yield records[begin:position]
            begin, count = position, 1
        position += size + LOG_OVERHEAD
    yield records[begin:]


class Following:
    """Changes the logs of all partitions that this broker follows."""

    def __init__(
        self,
        parked: Parked,
        clock: Clock,
        metrics: TopicMetrics,
        throttle: Throttle | None = None,
        on_truncated: Callable[[TopicPartition], None] | None = None,
    ) -> None:
        """metrics: those of all topics together. throttle: the quota of followers.

        on_truncated: called with each partition whose log was truncated.
        """
        self.throttle = throttle
        self._on_truncated = on_truncated or (lambda _topic_partition: None)
        self._parked = parked
        self._clock = clock
        self._metrics = metrics

    def take(self, one: PartitionFetchState, records: memoryview, high_watermark: int, log_start_offset: int) -> None:
        """Appends fetched records, then takes over the leader's high watermark and log start offset.

        The fetcher flushes what flush.messages asks for (PartitionLog.owes_flush) before the next fetch.
        Raises KafkaError(CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR), UnexpectedAppendOffset.
        """
        local = one.log
        if records:
            self._append(one, records, log_start_offset)
        before = local.high_watermark
        now = local.update_high_watermark(high_watermark)
        if log_start_offset > local.log_start_offset:
            local.advance_log_start_offset(min(log_start_offset, now))
        one.lag = max(high_watermark - one.fetch_offset, 0)
        if (now != before or records) and (one.partition.listeners or self._parked.fetch.watched):
            self._parked.note_change(one.partition, watermark_raised=now > before)

    def _append(self, one: PartitionFetchState, records: memoryview, leader_log_start: int) -> None:
        local = one.log
        if local.log_end_offset != one.fetch_offset:
            raise UnexpectedAppendOffset(
                f"{one.topic_partition}: fetched from {one.fetch_offset}, but the log ends at {local.log_end_offset}",
                one.fetch_offset,
                one.fetch_offset,
            )
        info: AppendInfo = local.append_as_follower(records, self._clock.wall_ms(), leader_log_start)
        if info.last_offset < 0:
            return
        one.fetch_offset = local.log_end_offset
        one.last_fetched_epoch = local.epochs.latest
        self._metrics.replication_bytes_in += info.size_bytes
        if self.throttle is not None and self.throttle.is_on:
            self.throttle.record(one.topic_partition, info.size_bytes)
        if one.partition.local_id in one.partition.adding_replicas:
            self._metrics.reassignment_bytes_in += info.size_bytes

    def truncate(self, one: PartitionFetchState, offset: int) -> None:
        """Truncates the log to `offset` (exclusive); fetching continues there, or at the log end if that is lower.

        Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        local = one.log
        if offset < local.high_watermark:
            _log.warning(
                "%s: truncating to %d, below the high watermark %d", one.topic_partition, offset, local.high_watermark
            )
        local.truncate_to(offset)
        self._note_truncated(one, min(offset, local.log_end_offset))

    def reset(self, one: PartitionFetchState, decision: OutOfRange) -> None:
        """Changes log and fetch offset after an out-of-range fetch. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        if decision.restart:
            one.log.truncate_fully_and_start_at(decision.fetch_offset)
        elif decision.truncate_to is not None:
            self.truncate(one, decision.truncate_to)
        self._note_truncated(one, decision.fetch_offset)

    def _note_truncated(self, one: PartitionFetchState, fetch_offset: int) -> None:
        one.fetch_offset = fetch_offset
        one.last_fetched_epoch = one.log.epochs.latest
        self._on_truncated(one.topic_partition)
        self._parked.note_change(one.partition, watermark_raised=False)

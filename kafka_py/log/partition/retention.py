"""Retention: deletion of old segments by age, by size, and below the log start offset.

Decides over segments, oldest first, and deletes them; compaction is in other files.
Source: docs/reference/log.md, section 14.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.segments.log_segments import with_following
from kafka_py.log.segments.segment import Segment

_log = logging.getLogger(__name__)


class RetainedLog(Protocol):
    """The interface of a log that retention uses."""

    topic_partition: TopicPartition
    config: LogConfig
    files: LogFiles
    failures: LogFailures
    log_start_offset: int
    log_end_offset: int
    high_watermark: int

    def roll(self, now_ms: int) -> bool:
        """Creates a new segment at the log end; False when the active one is empty."""

    def advance_log_start_offset(self, offset: int) -> bool:
        """Advances the log start offset; whether it changed."""


MayGo = Callable[[Segment, Segment | None], bool]
"""(segment, the next one) -> whether this rule deletes the segment."""


def older_than(retention_ms: int, now_ms: int) -> MayGo:
    """Rule: segments whose largest timestamp (or else modification time) is more than `retention_ms` ago."""
    return lambda segment, _next: now_ms - segment.largest_timestamp_or_modified(now_ms) > retention_ms


def beyond_size(total_bytes: int, retention_bytes: int) -> MayGo:
    """Rule: oldest segments without which the log still has at least `retention_bytes`."""
    surplus = total_bytes - retention_bytes

    def may_go(segment: Segment, _next: Segment | None) -> bool:
        nonlocal surplus
        if surplus < segment.size:
            return False
        surplus -= segment.size
        return True

    return may_go


def below(log_start_offset: int) -> MayGo:
    """Rule: segments that end at or below the log start offset."""
    return lambda _segment, following: following is not None and following.base_offset <= log_start_offset


def count_deletable(
    segments: Sequence[Segment], may_go: MayGo, high_watermark: int, log_end_offset: int, most: int | None = None
) -> int:
    """Number of the oldest segments that the rule deletes: consecutive, all below the high watermark.

    An empty last segment is never deleted. most: bound on the segments examined.
    """
    count = 0
    for segment, following in islice(with_following(segments), most):
        upper_offset = log_end_offset if following is None else following.base_offset
        if following is None and segment.size == 0:
            break
        if high_watermark < upper_offset or not may_go(segment, following):
            break
        count += 1
    return count


def rules(config: LogConfig, total_bytes: Callable[[], int], log_start_offset: int, now_ms: int) -> Iterator[MayGo]:
    """The rules for a log, in the order of application; a rule sees the segments that the previous one has left.

    total_bytes: called when the size rule is applied.
    """
    if config.is_deletable:
        if config.retention_ms >= 0:
            yield older_than(config.retention_ms, now_ms)
        if config.retention_bytes >= 0:
            yield beyond_size(total_bytes(), config.retention_bytes)
    yield below(log_start_offset)


def delete_old_segments(log: RetainedLog, now_ms: int, most: int | None = None) -> int:
    """Applies the rules to a log; returns the number of deleted segments, whose files remain file.delete.delay.ms.

    most: bound on deletions in this call; when it is reached, more may be due. Raises KafkaError(KAFKA_STORAGE_ERROR).
    """
    if log.failures.reason:
        return 0
    deleted = 0
    for rule in rules(log.config, lambda: log.files.segments.size_bytes, log.log_start_offset, now_ms):
        segments = log.files.segments.segments
        left = None if most is None else most - deleted
        try:
            count = count_deletable(segments, rule, log.high_watermark, log.log_end_offset, left)
        except OSError as error:
            log.failures.disk_refused(error)
        if count:
            _delete_oldest(log, count, now_ms)
            deleted += count
    return deleted


def _delete_oldest(log: RetainedLog, count: int, now_ms: int) -> None:
    segments = log.files.segments
    if count == len(segments):
        log.roll(now_ms)
    taken = segments.take_oldest(count)
    _log.info("%s: deleting %d old segments below offset %d", log.topic_partition, count, segments.bases[0])
    try:
        log.files.delete(taken, log.config)
    except OSError as error:
        log.failures.io_failed(error)
    log.advance_log_start_offset(segments.bases[0])

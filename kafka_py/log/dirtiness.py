"""The dirty part of a log that could be compacted now, and its ratio.

Reads from disk where a compaction lag is set, because record timestamps are in the files. Changes nothing.
Source: LogCleanerManager.cleanableOffsets; KIP-58, KIP-354 (the two lags).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_py.base.options import MAX_LONG
from kafka_py.log.compaction.compaction import Dirtiness
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.segments.segment import Segment


def dirtiness_of(log: PartitionLog, now_ms: int) -> Dirtiness:
    """The part of the log that could be compacted now.

    Excludes the active segment, everything at or above the last stable offset, and segments younger than
    min.compaction.lag.ms.
    Raises OSError, CorruptBatch.
    """
    start, config, segments = log.log_start_offset, log.config, log.segments
    first_dirty = max(log.compaction.cleaned_to, start)
    closed = segments[:-1]
    limit = min(log.last_stable_offset, segments[-1].base_offset)
    dirty = [segment for segment, following in zip(closed, segments[1:], strict=False)
             if following.base_offset > first_dirty]  # fmt: skip
    if config.min_compaction_lag_ms > 0:
        young = now_ms - config.min_compaction_lag_ms
        limit = min([limit, *(one.base_offset for one in dirty if one.largest.timestamp > young)])
    end = max((one.base_offset for one in segments if one.base_offset <= limit), default=segments[0].base_offset)
    due = [segment for segment in dirty if segment.base_offset < end]
    return Dirtiness(
        first_dirty,
        end,
        sum(segment.size for segment in closed if segment.base_offset < first_dirty),
        sum(segment.size for segment in due),
        _overdue_ms(due, config.max_compaction_lag_ms, now_ms),
    )


def _overdue_ms(segments: Iterable[Segment], max_lag_ms: int, now_ms: int) -> float:
    if max_lag_ms >= MAX_LONG:
        return 0.0
    return max([0.0, *(one.age_ms(now_ms, now_ms) - max_lag_ms for one in segments)])

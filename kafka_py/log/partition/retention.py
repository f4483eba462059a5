"""Which old segments may go: by age, by size, and below the log start offset.

Pure decisions over segments, oldest first; renaming and removing is in stored_log.py. Compaction is another
subject. Source: docs/reference/log.md, section 14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from kafka_py.log.model.configs import LogConfig
from kafka_py.log.segments.segment import Segment

MayGo = Callable[[Segment, Segment | None], bool]
"""(segment, the one after it) -> whether this rule lets the segment go."""


def older_than(retention_ms: int, now_ms: int) -> MayGo:
    """Segments whose largest timestamp (without one: the file's own time) lies more than `retention_ms` back."""
    return lambda segment, _next: now_ms - segment.largest_timestamp_or_modified(now_ms) > retention_ms


def beyond_size(total_bytes: int, retention_bytes: int) -> MayGo:
    """Segments that the log can lose and still hold `retention_bytes`."""
    surplus = total_bytes - retention_bytes

    def may_go(segment: Segment, _next: Segment | None) -> bool:
        nonlocal surplus
        if surplus < segment.size:
            return False
        surplus -= segment.size
        return True

    return may_go


def below(log_start_offset: int) -> MayGo:
    """Segments that end at or below the log start offset."""
    return lambda _segment, following: following is not None and following.base_offset <= log_start_offset


def count_deletable(
    segments: Sequence[Segment], may_go: MayGo, high_watermark: int, log_end_offset: int, most: int | None = None
) -> int:
    """How many of the oldest segments may go: an unbroken run, all below the high watermark.

    An empty last segment never goes. most: no more of them are looked at.
    """
    count = 0
    for segment, following in islice(_with_following(segments), most):
        upper_offset = log_end_offset if following is None else following.base_offset
        if following is None and segment.size == 0:
            break
        if high_watermark < upper_offset or not may_go(segment, following):
            break
        count += 1
    return count


def rules(config: LogConfig, total_bytes: Callable[[], int], log_start_offset: int, now_ms: int) -> Iterator[MayGo]:
    """The rules that hold for a log, in the order they are applied; a rule sees what the one before has left.

    total_bytes: asked when the size rule's turn comes.
    """
    if config.is_deletable:
        if config.retention_ms >= 0:
            yield older_than(config.retention_ms, now_ms)
        if config.retention_bytes >= 0:
            yield beyond_size(total_bytes(), config.retention_bytes)
    yield below(log_start_offset)


def _with_following(segments: Sequence[Segment]) -> Iterator[tuple[Segment, Segment | None]]:
    for number, segment in enumerate(segments):
        yield segment, segments[number + 1] if number + 1 < len(segments) else None

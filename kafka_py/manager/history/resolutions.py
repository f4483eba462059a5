"""Resolutions of samples, and which of them loses its oldest samples when space is short.

Every round is written at the finest resolution. When an interval of a coarser one is over, one sample per series is
written there, from the next finer one. A finer resolution is kept for a part of the retention only.
Rows of one resolution are stored in blocks of time, each one interval of the next coarser resolution: so the oldest
rows are next to each other, and so is all that one row of the coarser resolution is made from.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.manager.history.settings import DAY_MS, HOUR_MS, MINUTE_MS


class Resolution(NamedTuple):
    """One resolution. width_ms: length of its intervals, 0 for every round. share: of the retention that it is kept."""

    width_ms: int
    block_ms: int
    share: float


RESOLUTIONS = (
    Resolution(0, 5 * MINUTE_MS, 1 / 14),
    Resolution(5 * MINUTE_MS, HOUR_MS, 1 / 2),
    Resolution(HOUR_MS, DAY_MS, 1.0),
)
"""From fine to coarse; the index is the one in the file."""

KEYFRAME_MS = RESOLUTIONS[1].width_ms
"""In the first round of each such interval every series is written, also if it has not changed; what changes slowly and
costs more (log start offsets, sizes, settings) is asked for in these rounds only.
"""


class Span(NamedTuple):
    """What is stored at one resolution, from its oldest to its newest time, ms; both inclusive."""

    oldest_ms: int
    newest_ms: int


class FinishedInterval(NamedTuple):
    """An interval of a coarser resolution that is over: [start_ms, end_ms)."""

    resolution: int
    start_ms: int
    end_ms: int


class Cut(NamedTuple):
    """Samples to remove: those of a resolution before a time."""

    resolution: int
    before_ms: int


def block_of(resolution: int, time_ms: int) -> int:
    """The number of the block to which a sample belongs."""
    return time_ms // RESOLUTIONS[resolution].block_ms


def is_keyframe(previous_ms: int | None, now_ms: int) -> bool:
    """Whether every series is written in the round of that time. previous_ms: of the round before, None without one."""
    return previous_ms is None or previous_ms // KEYFRAME_MS != now_ms // KEYFRAME_MS


def finished_intervals(previous_ms: int | None, now_ms: int) -> list[FinishedInterval]:
    """The intervals that hold the previous round and ended before this one, from fine to coarse."""
    if previous_ms is None:
        return []
    found = []
    for index, resolution in enumerate(RESOLUTIONS):
        if index and previous_ms // resolution.width_ms < now_ms // resolution.width_ms:
            start_ms = previous_ms // resolution.width_ms * resolution.width_ms
            found.append(FinishedInterval(index, start_ms, start_ms + resolution.width_ms))
    return found


def expired(now_ms: int, retention_ms: int) -> list[Cut]:
    """What is older than its resolution is kept."""
    return [Cut(index, now_ms - int(retention_ms * each.share)) for index, each in enumerate(RESOLUTIONS)]


def next_cut(spans: Mapping[int, Span], shares: Mapping[int, float]) -> Cut | None:
    """What to remove first when space is short; None if nothing is stored.

    It is the oldest tenth of the resolution that holds the most for its share, of equal ones the finest: so all
    resolutions shrink in proportion, and the coarser ones still reach back further. Every cut removes something.
    """
    if not spans:
        return None

    def fullness(resolution: int) -> tuple[float, int]:
        span = spans[resolution]
        return (span.newest_ms - span.oldest_ms) / shares[resolution], -resolution

    fullest = max(spans, key=fullness)
    span = spans[fullest]
    return Cut(fullest, span.oldest_ms + (span.newest_ms - span.oldest_ms) // 10 + 1)


def resolution_for(spans: Mapping[int, Span], start_ms: int, most_ms: int) -> int:
    """The finest resolution that reaches back to a time, or as far as any does.

    most_ms: the width of the points wanted; a finer resolution with more than 16 samples per point is not read.
    """
    reachable = max(start_ms, min((span.oldest_ms for span in spans.values()), default=start_ms))
    useful = [
        index
        for index, span in sorted(spans.items())
        if span.oldest_ms <= reachable + RESOLUTIONS[index].width_ms and not _too_fine(index, most_ms)
    ]
    return useful[0] if useful else max(spans, default=0)


def hold_ms(resolution: int) -> int:
    """How long a row of a resolution stands for the rounds after it, in which nothing changed."""
    return max(KEYFRAME_MS, RESOLUTIONS[resolution].width_ms)


def _too_fine(resolution: int, most_ms: int) -> bool:
    """Of the finest resolution the interval between rounds is not known: 30 seconds are assumed."""
    width_ms = RESOLUTIONS[resolution].width_ms or MINUTE_MS // 2
    return width_ms * 16 < most_ms and resolution + 1 < len(RESOLUTIONS)

"""Lag in records and in seconds.

A group's lag in seconds is the age of the first record that it has not yet consumed. When that record was appended is
interpolated from what the log end offset was at earlier times, so no record is read. Pure.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Container, Mapping, Sequence

MISSING = -1
"""In place of an offset or a lag: that of this partition is not known."""
ALWAYS_KEPT = 8
"""The newest samples of a topic's log end offsets are all kept, of older ones fewer and fewer."""
REACH_MS = 7 * 24 * 60 * 60 * 1000
"""Older samples are not kept."""


class EndOffsets:
    """Log end offsets of one topic's partitions at earlier times, from old to new: dense lately, sparse long ago."""

    __slots__ = ("_times", "_vectors")

    def __init__(self) -> None:
        self._times: list[int] = []
        self._vectors: list[array[int]] = []

    def add(self, time_ms: int, ends: Sequence[int]) -> None:
        """Notes the offsets at a time; a time for which there are some is ignored.

        After the clock was put back, what was noted at times that are yet to come is dropped: it would make every lag
        in time zero until then.
        """
        while self._times and time_ms < self._times[-1]:
            self._times.pop()
            self._vectors.pop()
        if self._times and time_ms == self._times[-1]:
            return
        self._times.append(time_ms)
        self._vectors.append(array("q", ends))
        if len(self._times) % ALWAYS_KEPT == 0:
            kept = kept_times(self._times)
            if len(kept) < len(self._times):
                self._times = [self._times[index] for index in kept]
                self._vectors = [self._vectors[index] for index in kept]

    def __len__(self) -> int:
        return len(self._times)

    def of_partition(self, partition: int) -> tuple[list[int], list[int]]:
        """Times and the offsets of one partition at these times, where it is known."""
        times, ends = [], []
        for time_ms, vector in zip(self._times, self._vectors, strict=True):
            if partition < len(vector) and vector[partition] != MISSING:
                times.append(time_ms)
                ends.append(vector[partition])
        return times, ends


def note_ends(
    known: dict[str, EndOffsets], time_ms: int, topics: Collection[str], ends: Mapping[str, Sequence[int]]
) -> None:
    """Notes the log end offsets of a time by topic, and forgets topics that were deleted."""
    forget_others(known, topics)
    for topic, offsets in ends.items():
        known.setdefault(topic, EndOffsets()).add(time_ms, offsets)


def forget_others(known: dict[str, EndOffsets], topics: Container[str]) -> None:
    """Forgets the log ends of topics that were deleted. topics: those that there are."""
    for topic in [name for name in known if name not in topics]:
        del known[topic]


def kept_times(times: Sequence[int]) -> list[int]:
    """The indices of the samples to keep, rising: the newest ones, the oldest within REACH_MS, and of the others enough
    that no gap is wider than a quarter of its distance from the newest, if it was not before.
    """
    dense = len(times) - ALWAYS_KEPT
    newest = times[-1]
    kept: list[int] = []
    for index in range(dense):
        is_beyond_reach = newest - times[index + 1] > REACH_MS
        would_leave = times[index + 1] - times[kept[-1]] if kept else None
        if is_beyond_reach or (would_leave is not None and would_leave <= (newest - times[index + 1]) / 4):
            continue
        kept.append(index)
    return [*kept, *range(max(0, dense), len(times))]


def lag_of(committed: int, end: int) -> int:
    """Records from a committed offset to the log end; MISSING if either is unknown; never negative."""
    return MISSING if MISSING in (committed, end) else max(0, end - committed)


def lags(committed: Sequence[int], ends: Sequence[int]) -> tuple[int, ...]:
    """The lag of each partition that is in both."""
    return tuple(lag_of(offset, end) for offset, end in zip(committed, ends, strict=False))


def lag_ms(committed: int, now_ms: int, times: Sequence[int], ends: Sequence[int]) -> int:
    """How long ago the record at `committed` was appended; 0 without lag, MISSING if nothing is known.

    times, ends: the log end offset at earlier times, the last at `now_ms`, both rising.
    Before the first sample the mean rate of all samples is assumed; without growth it is the age of the first one.
    """
    if not times or committed == MISSING:
        return MISSING
    if committed >= ends[-1]:
        return 0
    after = bisect_right(ends, committed)  # the first sample whose log end is past the record
    if after > 0:
        before = after - 1
        share = (committed - ends[before]) / (ends[after] - ends[before])
        return max(0, int(now_ms - times[before] - share * (times[after] - times[before])))
    oldest_ms = now_ms - times[0]
    grown = ends[-1] - ends[0]
    if grown <= 0 or times[-1] == times[0]:
        return max(0, oldest_ms)
    return max(0, int(oldest_ms + (ends[0] - committed) * (times[-1] - times[0]) / grown))


def lags_ms(committed: Sequence[int], ends: Sequence[int], now_ms: int, known: EndOffsets) -> tuple[int, ...]:
    """The same for each partition that is in both."""
    rows = enumerate(zip(committed, ends, strict=False))
    return tuple(lag_ms_of(partition, offset, end, now_ms, known) for partition, (offset, end) in rows)


def lag_ms_of(partition: int, offset: int, end: int, now_ms: int, known: EndOffsets) -> int:
    """The same for one partition of a topic: of many thousands a caller takes some at a time."""
    if MISSING in (offset, end):
        return MISSING
    if offset >= end:
        return 0
    times, earlier = known.of_partition(partition)
    return lag_ms(offset, now_ms, times, _rising(earlier))


def _rising(ends: list[int]) -> list[int]:
    """The offsets, each at most those after it: where they decreased, the topic was created again, or its leader lost
    records, and what is there now was appended later, or was there before.
    """
    least = ends[-1] if ends else 0
    found = []
    for end in reversed(ends):
        least = min(least, end)
        found.append(least)
    return found[::-1]

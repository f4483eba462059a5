"""Samples over time: gaps, rates, reduction to so many points, trend.

Stored rows lack what has not changed; `filled` restores it, for the times of the rounds. Pure. Times in ms, UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from kafka_py.manager.history.metrics import MISSING, Fold, HistoryMetric

Value = float | tuple[int, ...]

STEADY_SHARE = 0.1
"""A trend that changes a value by less than this share of its mean is steady."""


class StoredRow(NamedTuple):
    """One stored sample."""

    time_ms: int
    value: Value


class PastPoint(NamedTuple):
    """One number at one time; None: not known, or nothing was observed."""

    time_ms: int
    value: float | None


class TrendDirection(StrEnum):
    """Which way a value has changed."""

    GROWING = "growing"
    SHRINKING = "shrinking"
    STEADY = "steady"
    UNKNOWN = "unknown"


class Trend(NamedTuple):
    """The straight line through a series. per_second: its slope."""

    direction: TrendDirection
    per_second: float


def filled(rows: Sequence[StoredRow], rounds: Sequence[int], hold_ms: int) -> list[StoredRow]:
    """The value at each round. rows, rounds: by time. hold_ms: how long a row stands for the rounds after it."""
    found = []
    at = -1
    for time_ms in rounds:
        while at + 1 < len(rows) and rows[at + 1].time_ms <= time_ms:
            at += 1
        if at >= 0 and time_ms - rows[at].time_ms < hold_ms:
            found.append(StoredRow(time_ms, rows[at].value))
    return found


def points_of(
    metric: HistoryMetric, rows: Sequence[StoredRow], partition: int | None, as_rate: bool
) -> list[PastPoint]:
    """One number per row: of one partition, or of all of them together; or how fast it grows."""
    if as_rate:
        return rate_points(rows, partition)
    if partition is not None:
        return partition_points(rows, partition)
    return greatest_points(rows) if metric.is_age else summed_points(rows)


def partition_points(rows: Iterable[StoredRow], partition: int) -> list[PastPoint]:
    """The values of one partition of a vector."""
    return [PastPoint(row.time_ms, _at(row.value, partition)) for row in rows]


def summed_points(rows: Iterable[StoredRow]) -> list[PastPoint]:
    """The sum over the partitions of a vector, or the scalar itself."""
    return [PastPoint(row.time_ms, total(row.value)) for row in rows]


def greatest_points(rows: Iterable[StoredRow]) -> list[PastPoint]:
    """The greatest value over the partitions of a vector, or the scalar itself."""
    return [PastPoint(row.time_ms, greatest(row.value)) for row in rows]


def total(value: Value) -> float | None:
    """The sum of the known values; None if there are none."""
    if not isinstance(value, tuple):
        return value
    known = [each for each in value if each != MISSING]
    return float(sum(known)) if known else None


def greatest(value: Value) -> float | None:
    """The greatest of the known values; None if there are none."""
    if not isinstance(value, tuple):
        return value
    return float(max(value)) if value and max(value) != MISSING else None


def rate_points(rows: Sequence[StoredRow], partition: int | None = None) -> list[PastPoint]:
    """How fast a counter grew between rows, per second, at the time of the later one. partition: None for their sum.

    A partition that is not known in one of the two rows, or has decreased (the topic was created again, a group was
    reset), adds nothing.
    """
    found = []
    for before, after in pairwise(rows):
        seconds = (after.time_ms - before.time_ms) / 1000
        if seconds > 0:
            found.append(PastPoint(after.time_ms, _growth(before.value, after.value, partition) / seconds))
    return found


def with_gaps(points: Sequence[PastPoint], gap_ms: int) -> list[PastPoint]:
    """The points, with one without value in the middle wherever two are further apart than `gap_ms`."""
    found: list[PastPoint] = []
    for point in points:
        if found and point.time_ms - found[-1].time_ms > gap_ms:
            found.append(PastPoint((found[-1].time_ms + point.time_ms) // 2, None))
        found.append(point)
    return found


def reduced(points: Sequence[PastPoint], start_ms: int, end_ms: int, count: int, fold: Fold) -> list[PastPoint]:
    """At most `count` points in [start_ms, end_ms]: those there are if they are few, else one per equal interval.

    An interval without a known value has a point without value. A point has the time of the last sample in it.
    """
    inside = [point for point in points if start_ms <= point.time_ms <= end_ms]
    if len(inside) <= count:
        return inside
    width = (end_ms - start_ms + 1) / count
    intervals: dict[int, list[PastPoint]] = {}
    for point in inside:
        intervals.setdefault(int((point.time_ms - start_ms) / width), []).append(point)
    return [PastPoint(some[-1].time_ms, _folded(some, fold)) for _, some in sorted(intervals.items())]


def trend(points: Sequence[PastPoint]) -> Trend:
    """The line of least squares through the known points."""
    known = [(point.time_ms / 1000, point.value) for point in points if point.value is not None]
    if len(known) < 3:
        return Trend(TrendDirection.UNKNOWN, 0.0)
    mean_time = sum(time for time, _ in known) / len(known)
    mean_value = sum(value for _, value in known) / len(known)
    spread = sum((time - mean_time) ** 2 for time, _ in known)
    if spread == 0:
        return Trend(TrendDirection.UNKNOWN, 0.0)
    slope = sum((time - mean_time) * (value - mean_value) for time, value in known) / spread
    change = slope * (known[-1][0] - known[0][0])
    if abs(change) <= STEADY_SHARE * abs(mean_value):
        return Trend(TrendDirection.STEADY, slope)
    return Trend(TrendDirection.GROWING if change > 0 else TrendDirection.SHRINKING, slope)


def _at(value: Value, partition: int) -> float | None:
    if not isinstance(value, tuple) or not 0 <= partition < len(value) or value[partition] == MISSING:
        return None
    return float(value[partition])


def _growth(before: Value, after: Value, partition: int | None) -> float:
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return max(0.0, _number(after) - _number(before))
    if partition is not None:
        before, after = before[partition : partition + 1], after[partition : partition + 1]
    pairs = zip(before, after, strict=False)
    return float(sum(new - old for old, new in pairs if MISSING not in (old, new) and new > old))


def _number(value: Value) -> float:
    return total(value) or 0.0


def _folded(points: Sequence[PastPoint], fold: Fold) -> float | None:
    known = [point.value for point in points if point.value is not None]
    if not known:
        return None
    if fold is Fold.MAX:
        return max(known)
    return known[-1] if fold is Fold.LAST else sum(known) / len(known)

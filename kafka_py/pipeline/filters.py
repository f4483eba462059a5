"""What a query's filters say about topics, partitions, offsets and times, so that less is read.

Topic, partition and offset are settled here completely. A time only moves where partitions begin, for records need
not be in the order of their times: Spark still looks at each one. Pure; needs Spark 4.1 or newer to be asked.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.ids import TopicPartition

NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")

Test = Callable[[Any], bool]


@dataclass
class WantedRange:
    """What the filters let through: offsets from `least_offset` to before `end_offset`, times from `least_time_ms`."""

    topic: list[Test] = field(default_factory=list)
    partition: list[Test] = field(default_factory=list)
    least_offset: int = 0
    end_offset: int | None = None
    least_time_ms: int | None = None

    def has(self, partition: TopicPartition) -> bool:
        """Whether anything of the partition can be wanted."""
        return all(test(partition.topic) for test in self.topic) and all(
            test(partition.partition) for test in self.partition
        )

    def push(self, filters: Iterable[Any]) -> list[Any]:
        """Takes what it can use; returns the filters that Spark must still look at."""
        return [each for each in filters if not self._take(each)]

    def _take(self, given: Any) -> bool:
        kind, negated = type(given).__name__, False
        if kind == "Not":
            given, negated = given.child, True
            kind = type(given).__name__
        if len(given.attribute) != 1:
            return False
        column = given.attribute[0]
        if kind == "IsNotNull":
            return column in NEVER_NULL and not negated
        value = getattr(given, "value", None)
        if column in ("topic", "partition"):
            test = _test(kind, value, negated)
            if test is not None:
                (self.topic if column == "topic" else self.partition).append(test)
            return test is not None
        if column == "offset" and not negated and type(value) is int:
            return self._bound_offsets(kind, value)
        if column == "timestamp" and not negated and kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual"):
            self._bound_time(value)
        return False

    def _bound_offsets(self, kind: str, value: int) -> bool:
        least = {"EqualTo": value, "GreaterThan": value + 1, "GreaterThanOrEqual": value}.get(kind)
        end = {"EqualTo": value + 1, "LessThan": value, "LessThanOrEqual": value + 1}.get(kind)
        if least is not None:
            self.least_offset = max(self.least_offset, least)
        if end is not None:
            self.end_offset = end if self.end_offset is None else min(self.end_offset, end)
        return least is not None or end is not None

    def _bound_time(self, value: Any) -> None:
        if not isinstance(value, datetime.datetime) or value.tzinfo is None:
            return
        # Rounded down: a record of that millisecond may be wanted.
        time_ms = (value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
        if time_ms >= 0:
            self.least_time_ms = max(self.least_time_ms or 0, time_ms)


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda mine, value: bool(mine == value),
    "EqualNullSafe": lambda mine, value: bool(mine == value),
    "GreaterThan": lambda mine, value: bool(mine > value),
    "GreaterThanOrEqual": lambda mine, value: bool(mine >= value),
    "LessThan": lambda mine, value: bool(mine < value),
    "LessThanOrEqual": lambda mine, value: bool(mine <= value),
    "In": lambda mine, values: mine in values,
    "StringStartsWith": lambda mine, value: mine.startswith(value),
    "StringEndsWith": lambda mine, value: mine.endswith(value),
    "StringContains": lambda mine, value: value in mine,
}


def _test(kind: str, value: Any, negated: bool) -> Test | None:
    """None for a filter that is left to Spark, as every one is that compares with null."""
    compare = _TESTS.get(kind)
    if compare is None or value is None or (kind == "In" and None in value):
        return None
    return lambda mine: compare(mine, value) is not negated

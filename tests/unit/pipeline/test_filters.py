"""Filters of a query made offset ranges: what is taken, what is left to Spark."""

from __future__ import annotations

import datetime

import pytest

pytest.importorskip("pyspark", "4.1")

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.filters import WantedRange


def taken(*filters: object) -> WantedRange:
    wanted = WantedRange()
    assert wanted.push(filters) == []
    return wanted


def left(*filters: object) -> WantedRange:
    wanted = WantedRange()
    assert wanted.push(filters) == list(filters)
    return wanted


def test_topics_and_partitions_are_settled() -> None:
    wanted = taken(
        In(("topic",), ("a", "b")), Not(EqualTo(("topic",), "b")), GreaterThan(("partition",), 0),
        StringStartsWith(("topic",), "a"), EqualNullSafe(("topic",), "a"), LessThanOrEqual(("partition",), 3),
    )  # fmt: skip
    assert [wanted.has(TopicPartition(*each)) for each in (("a", 0), ("a", 1), ("a", 4), ("b", 1))] == [
        False, True, False, False,
    ]  # fmt: skip


def test_offsets_are_settled() -> None:
    wanted = taken(GreaterThan(("offset",), 4), GreaterThanOrEqual(("offset",), 3), LessThan(("offset",), 10),
                   LessThanOrEqual(("offset",), 20))  # fmt: skip
    assert (wanted.least_offset, wanted.end_offset) == (5, 10)
    exact = taken(EqualTo(("offset",), 7))
    assert (exact.least_offset, exact.end_offset) == (7, 8)


def test_a_time_moves_the_beginning_and_is_still_looked_at() -> None:
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=datetime.UTC)
    assert left(GreaterThan(("timestamp",), moment)).least_time_ms == 1999
    assert left(LessThan(("timestamp",), moment)).least_time_ms is None


def test_columns_that_are_never_null() -> None:
    taken(IsNotNull(("offset",)), IsNotNull(("topic",)))
    left(IsNotNull(("key",)), IsNull(("topic",)), Not(IsNotNull(("topic",))))


def test_the_rest_is_left_to_spark() -> None:
    wanted = left(
        EqualTo(("key",), b"k"), Not(EqualTo(("offset",), 3)), EqualTo(("topic",), None), In(("topic",), ("a", None)),
        EqualTo(("headers", "key"), "a"),
    )  # fmt: skip
    assert wanted.has(TopicPartition("a", 0))

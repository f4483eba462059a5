"""Offsets as JSON, limits shared among partitions, ranges split for tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.offsets import from_json, from_nested, limited, to_json
from kafka_py.pipeline.ranges import OffsetRange, divide

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_json_has_the_shape_of_sparks_connector() -> None:
    offsets = {B0: 7, A1: -1, A0: 23}
    assert to_json(offsets) == '{"a":{"0":23,"1":-1},"b":{"0":7}}'
    assert from_json(to_json(offsets)) == offsets


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="have the shape"):
        from_nested({"a": 5})  # type: ignore[dict-item]


def test_a_limit_is_shared_by_what_partitions_have() -> None:
    assert limited({A0: 0, A1: 0}, {A0: 300, A1: 100}, 40) == {A0: 30, A1: 10}
    assert limited({A0: 10, A1: 5}, {A0: 15, A1: 5}, 40) == {A0: 15, A1: 5}


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=6), st.integers(1, 2000))
def test_a_limited_batch_moves_forward_and_keeps_its_limit(sizes: list[tuple[int, int]], most: int) -> None:
    start = {TopicPartition("t", n): low for n, (low, _) in enumerate(sizes)}
    end = {each: start[each] + size for each, (_, size) in zip(start, sizes, strict=True)}
    limit = limited(start, end, most)
    assert all(start[each] <= limit[each] <= end[each] for each in end)
    taken = sum(limit[each] - start[each] for each in end)
    assert taken <= most + len(sizes)
    assert taken > 0 or not any(size for _, size in sizes)
    assert all(limit[each] > start[each] for each in end if end[each] > start[each])


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500)), max_size=6),
    st.one_of(st.none(), st.integers(1, 40)),
    st.one_of(st.none(), st.integers(1, 100)),
)
def test_parts_are_the_whole_in_order(
    ranges: list[tuple[int, int]], least: int | None, most: int | None
) -> None:
    given_ranges = [OffsetRange("t", number, low, low + size) for number, (low, size) in enumerate(ranges)]
    parts = divide(given_ranges, least, most)
    covered = [(part.partition, offset) for part in parts for offset in range(part.start, part.end)]
    assert covered == [(each.partition, offset) for each in given_ranges for offset in range(each.start, each.end)]
    assert all(part.size > 0 for part in parts)
    if most is not None:
        assert all(part.size <= most for part in parts)
    if least is not None:
        assert len(parts) >= min(least, len(covered))

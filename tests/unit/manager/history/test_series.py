"""Samples over time: gaps, rates, reduction, trend."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.history.metrics import LAG, LAG_MS, MISSING, TOPIC_END, Fold
from kafka_py.manager.history.series import (
    PastPoint,
    StoredRow,
    TrendDirection,
    filled,
    points_of,
    rate_points,
    reduced,
    trend,
    with_gaps,
)


def test_a_value_stands_for_the_rounds_in_which_it_did_not_change() -> None:
    rows = [StoredRow(0, 5.0), StoredRow(30, 7.0)]
    assert filled(rows, [0, 10, 20, 30, 40], 100) == [
        StoredRow(0, 5.0), StoredRow(10, 5.0), StoredRow(20, 5.0), StoredRow(30, 7.0), StoredRow(40, 7.0),
    ]  # fmt: skip


def test_a_value_does_not_stand_longer_than_it_may_nor_before_it_was_seen() -> None:
    assert filled([StoredRow(20, 5.0)], [0, 20, 119, 120], 100) == [StoredRow(20, 5.0), StoredRow(119, 5.0)]


def test_of_a_vector_one_partition_all_or_the_oldest_are_points() -> None:
    rows = [StoredRow(0, (1, 2, MISSING)), StoredRow(1, (MISSING, MISSING, MISSING))]
    assert points_of(LAG, rows, 1, False) == [PastPoint(0, 2.0), PastPoint(1, None)]
    assert points_of(LAG, rows, 9, False) == [PastPoint(0, None), PastPoint(1, None)]
    assert points_of(LAG, rows, None, False) == [PastPoint(0, 3.0), PastPoint(1, None)]
    assert points_of(LAG_MS, rows, None, False) == [PastPoint(0, 2.0), PastPoint(1, None)]


def test_a_rate_is_what_was_added_per_second() -> None:
    rows = [StoredRow(0, (0, 100)), StoredRow(2000, (10, 120)), StoredRow(3000, (10, 120, 7))]
    assert points_of(TOPIC_END, rows, None, True) == [PastPoint(2000, 15.0), PastPoint(3000, 0.0)]
    assert points_of(TOPIC_END, rows, 0, True) == [PastPoint(2000, 5.0), PastPoint(3000, 0.0)]


def test_a_partition_that_is_missing_or_was_created_again_adds_nothing_to_a_rate() -> None:
    rows = [StoredRow(0, (50, MISSING, 10)), StoredRow(1000, (3, 80, 12))]
    assert rate_points(rows) == [PastPoint(1000, 2.0)]


def test_a_long_pause_is_a_gap() -> None:
    points = [PastPoint(0, 1.0), PastPoint(10, 2.0), PastPoint(100, 3.0)]
    assert with_gaps(points, 20) == [PastPoint(0, 1.0), PastPoint(10, 2.0), PastPoint(55, None), PastPoint(100, 3.0)]


points = st.lists(
    st.tuples(st.integers(0, 10_000), st.none() | st.floats(0, 1e9)), unique_by=lambda pair: pair[0]
).map(lambda pairs: [PastPoint(*pair) for pair in sorted(pairs, key=lambda pair: pair[0])])


@given(points, st.integers(1, 50), st.sampled_from(list(Fold)))
def test_a_reduced_series_has_few_points_in_order_within_the_values(
    given_points: list[PastPoint], count: int, fold: Fold
) -> None:
    few = reduced(given_points, 1000, 9000, count, fold)
    inside = [point for point in given_points if 1000 <= point.time_ms <= 9000]
    assert len(few) <= count
    assert [point.time_ms for point in few] == sorted({point.time_ms for point in few})
    known = [point.value for point in inside if point.value is not None]
    for point in few:
        assert point.value is None or min(known) * 0.999 <= point.value <= max(known) * 1.001
    if fold is Fold.MAX and known:
        assert max(point.value for point in few if point.value is not None) == max(known)


def test_a_trend_is_growing_shrinking_or_steady() -> None:
    growing = trend([PastPoint(each * 1000, 10.0 + 2 * each) for each in range(10)])
    assert growing.direction is TrendDirection.GROWING and abs(growing.per_second - 2) < 1e-9
    assert trend([PastPoint(each * 1000, 100.0 - 2 * each) for each in range(10)]).direction is TrendDirection.SHRINKING
    assert trend([PastPoint(each * 1000, 100.0 + each % 2) for each in range(10)]).direction is TrendDirection.STEADY
    assert trend([PastPoint(each * 1000, 0.0) for each in range(10)]).direction is TrendDirection.STEADY
    assert trend([PastPoint(0, 1.0), PastPoint(1, None), PastPoint(2, 2.0)]).direction is TrendDirection.UNKNOWN

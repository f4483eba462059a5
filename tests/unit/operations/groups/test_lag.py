"""Lag in records and in seconds."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kafka_py.operations.groups.lag import (
    ALWAYS_KEPT,
    MISSING,
    REACH_MS,
    EndOffsets,
    kept_times,
    lag_ms,
    lags,
    lags_ms,
)


def test_lag_in_records_is_never_negative_and_missing_where_an_offset_is() -> None:
    assert lags((5, 9, MISSING, 3), (8, 7, 4, MISSING)) == (3, 0, MISSING, MISSING)
    assert lags((5,), (8, 9)) == (3,)


def test_lag_in_time_is_the_age_of_the_first_record_not_consumed() -> None:
    times, ends = [0, 10_000, 20_000], [0, 100, 300]
    assert lag_ms(300, 20_000, times, ends) == 0
    assert lag_ms(100, 20_000, times, ends) == 10_000
    assert lag_ms(200, 20_000, times, ends) == 5_000
    assert lag_ms(50, 20_000, times, ends) == 15_000


def test_in_a_pause_without_records_the_lag_in_time_grows_with_the_clock() -> None:
    times, ends = [0, 10_000, 20_000, 90_000], [0, 100, 100, 100]
    assert lag_ms(50, 90_000, times, ends) == 85_000


def test_before_the_first_sample_the_mean_rate_is_assumed_or_the_age_of_the_first_sample() -> None:
    assert lag_ms(0, 10_000, [0, 10_000], [100, 200]) == 20_000
    assert lag_ms(0, 10_000, [0, 10_000], [100, 100]) == 10_000
    assert lag_ms(0, 10_000, [10_000], [100]) == 0
    assert lag_ms(0, 10_000, [], []) == MISSING
    assert lag_ms(MISSING, 10_000, [0], [1]) == MISSING


@given(
    st.lists(st.tuples(st.integers(1, 60_000), st.integers(0, 1000)), min_size=2, max_size=30), st.data()
)
def test_lag_in_time_never_grows_with_the_committed_offset(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    times, ends = [0], [1000]
    for step_ms, count in steps:
        times.append(times[-1] + step_ms)
        ends.append(ends[-1] + count)
    low, high = sorted(data.draw(st.tuples(st.integers(0, ends[-1]), st.integers(0, ends[-1]))))
    assert lag_ms(low, times[-1], times, ends) >= lag_ms(high, times[-1], times, ends) >= 0


def test_after_a_topic_was_created_again_only_the_offsets_since_then_count() -> None:
    known = EndOffsets()
    for time_ms, end in ((0, 1000), (10_000, 2000), (20_000, 0), (30_000, 100)):
        known.add(time_ms, [end])
    assert lags_ms((50,), (100,), 30_000, known) == (5_000,)


def test_after_a_leader_lost_records_those_that_are_left_are_as_old_as_they_were() -> None:
    known = EndOffsets()
    for time_ms, end in ((0, 0), (10_000, 100), (20_000, 200), (30_000, 180), (40_000, 300)):
        known.add(time_ms, [end])
    assert lags_ms((50,), (300,), 40_000, known) == (35_000,)
    assert lags_ms((140,), (300,), 40_000, known) == (25_000,)
    assert lags_ms((240,), (300,), 40_000, known) == (5_000,)


def test_after_the_clock_was_put_back_lag_is_counted_from_there() -> None:
    known = EndOffsets()
    for time_ms, end in ((0, 100), (10_000, 200), (7_200_000, 300), (20_000, 320), (30_000, 400), (30_000, 999)):
        known.add(time_ms, [end])
    assert known.of_partition(0) == ([0, 10_000, 20_000, 30_000], [100, 200, 320, 400])
    assert lags_ms((320,), (400,), 30_000, known) == (10_000,)


def test_a_partition_that_was_added_later_has_a_lag_of_its_own() -> None:
    known = EndOffsets()
    known.add(0, [10])
    known.add(10_000, [10, 0])
    known.add(20_000, [10, 100])
    assert lags_ms((10, 50, MISSING), (10, 100, 5), 20_000, known) == (0, 5_000, MISSING)


@given(st.integers(1_000, 120_000), st.integers(1, 3_000))
def test_few_samples_are_kept_and_no_gap_is_wide_for_its_age(interval_ms: int, rounds: int) -> None:
    times: list[int] = []
    for each in range(rounds):
        times.append(each * interval_ms)
        if len(times) > ALWAYS_KEPT:
            times = [times[index] for index in kept_times(times)]
    newest = times[-1]
    assert len(times) <= 60
    assert times[0] == 0 or newest - times[0] > REACH_MS * 0.7
    for older, newer in pairwise(times):
        assert newer - older <= max(interval_ms, (newest - older) / 3)
    assert times[-ALWAYS_KEPT:] == [each * interval_ms for each in range(rounds)][-ALWAYS_KEPT:]

"""Resolutions of samples, and what is removed first."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.history.resolutions import (
    KEYFRAME_MS,
    RESOLUTIONS,
    Span,
    expired,
    finished_intervals,
    is_keyframe,
    next_cut,
    resolution_for,
)
from kafka_py.manager.history.settings import DAY_MS, HOUR_MS, MINUTE_MS

SHARES = {index: each.share for index, each in enumerate(RESOLUTIONS)}

times = st.integers(0, 100 * DAY_MS)
spans = st.dictionaries(
    st.sampled_from(range(len(RESOLUTIONS))), st.tuples(times, times).map(lambda pair: Span(min(pair), max(pair)))
)


@given(spans)
def test_every_cut_removes_the_oldest_sample_of_its_resolution(stored: dict[int, Span]) -> None:
    cut = next_cut(stored, SHARES)
    if not stored:
        assert cut is None
    else:
        assert cut is not None
        assert stored[cut.resolution].oldest_ms < cut.before_ms <= stored[cut.resolution].newest_ms + 1


def test_of_equal_reach_the_finest_resolution_is_cut() -> None:
    stored = {index: Span(0, HOUR_MS) for index in range(3)}
    cut = next_cut(stored, SHARES)
    assert cut is not None and cut.resolution == 0


def test_cuts_leave_the_coarser_resolutions_reaching_further_back() -> None:
    stored = {index: Span(0, 7 * DAY_MS) for index in range(3)}
    for _ in range(60):
        cut = next_cut(stored, SHARES)
        assert cut is not None
        stored[cut.resolution] = Span(cut.before_ms, 7 * DAY_MS)
    reach = [7 * DAY_MS - stored[index].oldest_ms for index in range(3)]
    assert reach[0] < reach[1] < reach[2]


def test_an_interval_is_finished_by_the_first_round_after_it() -> None:
    assert finished_intervals(None, HOUR_MS) == []
    assert finished_intervals(10_000, 40_000) == []
    finished = finished_intervals(HOUR_MS - 10_000, HOUR_MS + 20_000)
    assert [(each.resolution, each.start_ms, each.end_ms) for each in finished] == [
        (1, HOUR_MS - KEYFRAME_MS, HOUR_MS),
        (2, 0, HOUR_MS),
    ]


def test_the_first_round_of_each_interval_is_a_keyframe() -> None:
    assert is_keyframe(None, 1)
    assert not is_keyframe(1, KEYFRAME_MS - 1)
    assert is_keyframe(KEYFRAME_MS - 1, KEYFRAME_MS)


def test_a_finer_resolution_expires_earlier() -> None:
    before = [cut.before_ms for cut in expired(7 * DAY_MS, 7 * DAY_MS)]
    assert before == [6 * DAY_MS + 12 * HOUR_MS, 3 * DAY_MS + 12 * HOUR_MS, 0]


def test_a_series_is_read_at_the_finest_resolution_that_reaches_back() -> None:
    now = 7 * DAY_MS
    stored = {0: Span(now - 12 * HOUR_MS, now), 1: Span(now - 3 * DAY_MS, now), 2: Span(0, now)}
    assert resolution_for(stored, now - HOUR_MS, MINUTE_MS) == 0
    assert resolution_for(stored, now - DAY_MS, MINUTE_MS) == 1
    assert resolution_for(stored, 0, MINUTE_MS) == 2
    assert resolution_for({0: stored[0]}, 0, MINUTE_MS) == 0
    assert resolution_for({}, 0, MINUTE_MS) == 0


def test_a_resolution_far_finer_than_the_points_is_not_read() -> None:
    now = 7 * DAY_MS
    stored = {index: Span(0, now) for index in range(3)}
    assert resolution_for(stored, now - DAY_MS, 10 * MINUTE_MS) == 1

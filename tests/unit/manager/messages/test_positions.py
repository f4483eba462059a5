"""Where in each partition to read, from what a form says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.positions import (
    LATEST_MOMENT_MS,
    BrowseStart,
    InvalidPosition,
    OffsetSpan,
    StartKind,
    chosen,
    parse_moment,
    parse_partitions,
    parse_places,
    parse_start,
    places_text,
    spans_of,
)

LOGS = {0: OffsetSpan(10, 20), 1: OffsetSpan(0, 0), 2: OffsetSpan(0, 5)}


@pytest.mark.parametrize(
    ("start", "spans"),
    [
        (BrowseStart(StartKind.EARLIEST), [(10, 20), (0, 0), (0, 5)]),
        (BrowseStart(StartKind.LATEST), [(10, 20), (0, 0), (0, 5)]),
        (BrowseStart(StartKind.OFFSET, offset=3), [(10, 20), (0, 0), (3, 5)]),
        (BrowseStart(StartKind.OFFSET, offset=99), [(20, 20), (0, 0), (5, 5)]),
        (BrowseStart(StartKind.TIME), [(12, 20), (0, 0), (5, 5)]),
        (BrowseStart(StartKind.PLACES, places={0: 15, 2: 1}), [(15, 20), (0, 0), (1, 5)]),
        (BrowseStart(StartKind.PLACES, places={0: 1}), [(10, 20), (0, 0), (5, 5)]),
        (BrowseStart(StartKind.BEFORE, places={0: 15, 2: 99}), [(10, 15), (0, 0), (0, 5)]),
        (BrowseStart(StartKind.BEFORE, places={0: 3}), [(10, 10), (0, 0), (0, 0)]),
    ],
)
def test_each_start_is_a_range_of_every_partition(start, spans):
    assert list(spans_of(start, LOGS, {0: 12, 1: None, 2: None}).values()) == spans


@given(
    st.sampled_from(StartKind), st.integers(0, 50), st.dictionaries(st.integers(0, 2), st.integers(0, 50)),
    st.dictionaries(st.integers(0, 2), st.none() | st.integers(0, 50)),
)  # fmt: skip
def test_a_range_is_never_outside_the_log(kind, offset, places, at_time):
    for number, span in spans_of(BrowseStart(kind, offset, 0, places), LOGS, at_time).items():
        assert LOGS[number].start <= span.start <= span.end <= LOGS[number].end


def test_starts_are_read_from_a_form():
    assert parse_start("latest", "") == BrowseStart()
    assert parse_start("offset", " 12 ").offset == 12
    assert parse_start("time", "2026-01-31T12:00:00Z").timestamp == 1_769_860_800_000
    assert parse_start("places", "0:1,2:3").places == {0: 1, 2: 3}
    assert parse_start("before", "").places == {}


@pytest.mark.parametrize(
    ("kind", "at"),
    [("somewhere", ""), ("offset", ""), ("offset", "-1"), ("offset", "9" * 30), ("time", "noon"), ("time", "9" * 40),
     ("time", "9" * 15), ("time", "9999-12-31T23:59:59-01:00"),
     ("places", "0:x"), ("places", "0"), ("offset", "١"), ("time", "0001-01-01T00:00:00+23:59")],
)  # fmt: skip
def test_what_is_no_start_is_refused(kind, at):
    with pytest.raises(InvalidPosition):
        parse_start(kind, at)


def test_moments_have_zones_or_are_utc():
    assert parse_moment("1970-01-01T01:00:00+01:00") == parse_moment("1970-01-01T00:00") == 0
    assert parse_moment("1769860800000") == 1_769_860_800_000
    assert parse_moment("9999-12-31T23:59:59.999") == LATEST_MOMENT_MS


@given(st.dictionaries(st.integers(0, 999), st.integers(0, 2**60)))
def test_places_are_written_as_they_are_read(places):
    assert parse_places(places_text(places)) == places


def test_partitions_are_numbers_and_ranges():
    assert parse_partitions("3, 0,5-7") == (0, 3, 5, 6, 7)
    assert parse_partitions("") == ()
    with pytest.raises(InvalidPosition):
        parse_partitions("0-999999999")
    assert chosen(LOGS, ()) == LOGS
    assert chosen(LOGS, (2,)) == {2: LOGS[2]}
    with pytest.raises(InvalidPosition, match="no partition 9"):
        chosen(LOGS, (2, 9))

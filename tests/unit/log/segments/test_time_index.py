"""The time index file: entries, look-ups, room for the last entry."""

import pytest

from kafka_py.log.segments.offset_index import OffsetIndex
from kafka_py.log.segments.time_index import TimeIndex, TimeOffset

PATH = "/l/00000000000000000000.timeindex"


def make(place, room=1200) -> TimeIndex:
    index = TimeIndex(place, 0)
    index.create(room)
    return index


def test_entries_are_a_timestamp_and_a_relative_offset(place):
    make(place).maybe_append(1600000000000, 28)
    assert place.files.read_bytes(PATH)[:12] == bytes.fromhex("00000174876e8000 0000001c")


def test_w5_24_room_is_rounded_down_to_whole_entries(place):
    make(place, room=67)
    assert place.files.info(PATH).size == 60


def test_w5_26_a_time_leads_to_a_floor_entry_and_on_to_a_position(place):
    times, offsets = make(place), OffsetIndex(place, 0)
    offsets.create(800)
    for timestamp, offset in ((1526384718228, 6), (1526384718283, 28), (1526384718300, 40)):
        times.maybe_append(timestamp, offset)
    for offset, position in ((22, 656), (26, 838), (33, 1050)):
        offsets.append(offset, position)
    found = times.lookup(1526384718288)
    assert found == TimeOffset(1526384718283, 28)
    assert offsets.lookup(found.offset) == (26, 838)


def test_w5_27_an_older_or_equal_timestamp_adds_no_entry(place):
    index = make(place)
    assert index.maybe_append(100, 5)
    assert not index.maybe_append(99, 9)
    assert not index.maybe_append(100, 9)
    assert not index.maybe_append(-1, 9)
    assert index.all_entries() == [(100, 5)]


def test_the_last_place_is_kept_for_the_entry_that_closes_the_segment(place):
    index = make(place, room=36)
    assert index.maybe_append(1, 1)
    assert index.maybe_append(2, 2)
    assert index.is_full
    assert not index.maybe_append(3, 3)
    assert index.maybe_append(4, 4, closing=True)
    assert not index.maybe_append(5, 5, closing=True)
    assert index.last == (4, 4)


@pytest.mark.parametrize(("offset", "kept"), [(10, 0), (11, 1), (20, 1), (21, 2), (99, 3)])
def test_truncation_goes_by_offset(place, offset, kept):
    index = make(place)
    for number in (10, 20, 30):
        index.maybe_append(1000 + number, number)
    index.truncate_to(offset)
    assert index.entries == kept


def test_an_empty_index_answers_with_the_base_offset(place):
    assert make(place).lookup(5) == (-1, 0)
    assert make(place).last == (-1, 0)

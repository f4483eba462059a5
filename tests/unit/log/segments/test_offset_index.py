"""The offset index file: entries, look-ups, room."""

import pytest

from kafka_py.log.segments.offset_index import OffsetIndex, OffsetPosition

PATH = "/l/00000000000000000000.index"


def make(place, base=0, room=800) -> OffsetIndex:
    index = OffsetIndex(place, base)
    index.create(room)
    return index


def test_w5_21_entries_hold_offsets_relative_to_the_base(place):
    index = make(place, base=32)
    index.append(35, 4711)
    raw = place.files.read_bytes("/l/00000000000000000032.index")
    assert raw[:8] == bytes.fromhex("00000003 00001267")
    assert index.last == OffsetPosition(35, 4711)


def test_w5_22_and_w5_25_a_lookup_gives_the_floor_entry(place):
    index = make(place)
    for offset, position in ((6, 156), (14, 459), (22, 656), (26, 838)):
        index.append(offset, position)
    assert index.lookup(23) == (22, 656)
    assert index.lookup(26) == (26, 838)
    assert index.lookup(10_000) == (26, 838)
    assert index.lookup(5) == (0, 0)
    assert index.all_entries() == [(6, 156), (14, 459), (22, 656), (26, 838)]


def test_w5_23_offset_268_in_the_segment_at_251_is_relative_17(place):
    index = make(place, base=251)
    index.append(251 + 15, 700)
    index.append(251 + 18, 900)
    assert index.lookup(268) == (266, 700)


def test_w5_24_room_is_rounded_down_to_whole_entries_and_the_file_is_sparse(place):
    make(place, room=67)
    assert place.files.info(PATH).size == 64


def test_the_file_has_its_full_size_until_it_is_trimmed(place):
    index = make(place, room=80)
    index.append(5, 100)
    assert place.files.read_bytes(PATH) == bytes.fromhex("00000005 00000064") + bytes(72)
    index.trim()
    assert place.files.info(PATH).size == 8
    index.resize(40)
    assert place.files.info(PATH).size == 40
    assert index.lookup(7) == (5, 100)


def test_it_is_full_when_no_entry_has_room(place):
    index = make(place, room=16)
    index.append(1, 1)
    assert not index.is_full
    index.append(2, 2)
    assert index.is_full


def test_offsets_must_rise(place):
    index = make(place)
    index.append(5, 100)
    with pytest.raises(ValueError, match="not above"):
        index.append(5, 200)


@pytest.mark.parametrize(("offset", "kept"), [(0, 0), (10, 0), (11, 1), (20, 1), (21, 2), (99, 3)])
def test_truncation_drops_the_entries_at_and_past_an_offset(place, offset, kept):
    index = make(place, room=80)
    for number in (10, 20, 30):
        index.append(number, number)
    index.truncate_to(offset)
    assert index.entries == kept
    assert place.files.read_bytes(PATH)[kept * 8 :] == bytes(80 - kept * 8)
    index.append(offset + 50, 50)
    assert index.last == (offset + 50, 50)


def test_every_lookup_in_a_large_index_agrees_with_a_scan(place):
    index = make(place, room=8 * 5000)
    entries = [(number * 3, number * 7) for number in range(1, 4000)]
    for offset, position in entries:
        index.append(offset, position)
    for target in (0, 2, 3, 4, 1500, 1501, 1502, 5999, 6000, 11_996, 11_997, 20_000):
        below = [entry for entry in entries if entry[0] <= target]
        assert index.lookup(target) == (below[-1] if below else (0, 0))
    for position in (0, 7, 8, 13_999, 27_993, 27_994):
        above = [entry for entry in entries if entry[1] >= position]
        assert index.first_at_or_after(position) == (above[0] if above else None)


def test_an_opened_index_knows_its_last_entry_without_reading_all(place):
    index = make(place)
    index.append(3, 30)
    index.append(9, 90)
    index.trim()
    again = OffsetIndex(place, 0)
    again.opened(place.files.info(PATH).size, 800)
    assert again.last == (9, 90)
    assert again.entries == 2


def test_the_file_is_opened_when_needed_and_can_be_let_go(place):
    index = make(place)
    index.append(3, 30)
    assert len(place.handles) == 1
    index.close()
    assert len(place.handles) == 0
    index.append(9, 90)
    assert index.lookup(5) == (3, 30)


def test_lookups_over_many_entries_agree_with_a_plain_search(place):
    """Also when entries are added, or cut, after a look-up has kept some of them in memory."""
    index = make(place, base=100, room=8 * 2000)
    entries = [(100, 0)]

    def add(count):
        for _ in range(count):
            entries.append((entries[-1][0] + 7, entries[-1][1] + 4200))
            index.append(*entries[-1])

    def check():
        for offset in (100, 101, 106, 107, 108, 900, 3600, 7099, entries[-1][0] - 1, entries[-1][0], 10**9):
            assert index.lookup(offset) == max(entry for entry in entries if entry[0] <= offset)

    add(1300)
    check()
    add(500)
    check()
    index.truncate_to(5000)
    entries[:] = [entry for entry in entries if entry[0] < 5000]
    check()
    add(20)
    index.release()
    check()
    assert index.lookup(50) == (100, 0)


def test_a_file_that_was_cut_while_it_is_open_leads_to_the_start_of_the_segment(place):
    index = make(place)
    for number in range(1, 90):
        index.append(number * 10, number * 100)
    place.files.open(PATH).truncate(403)
    assert index.lookup(300) == (300, 3000)
    assert index.lookup(700).position <= 5000
    assert index.first_at_or_after(100_000) is None
    index.close()
    assert OffsetIndex(place, 0).last == (0, 0)

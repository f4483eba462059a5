"""The transaction index file: aborted ranges and the search for them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.handles import OpenHandles
from kafka_py.log.segments.txn_index import AbortedTxn, CorruptTxnIndex, TxnIndex
from kafka_py.testing.fakes.files import FakeFiles

PATH = "/l/00000000000000000000.txnindex"


def filled(place) -> TxnIndex:
    index = TxnIndex(place, 0)
    for entry in ((0, 0, 10, 11), (1, 5, 15, 13), (2, 18, 35, 25), (3, 32, 50, 40)):
        index.append(AbortedTxn(*entry))
    return index


def test_entries_are_34_bytes_and_the_file_comes_with_the_first(place):
    index = TxnIndex(place, 0)
    assert not place.files.exists(PATH)
    index.append(AbortedTxn(7, 5, 9, 10))
    expected = bytes.fromhex("0000 0000000000000007 0000000000000005 0000000000000009 000000000000000a")
    assert place.files.read_bytes(PATH) == expected


def test_last_offsets_must_grow(place):
    index = filled(place)
    with pytest.raises(ValueError, match="not above"):
        index.append(AbortedTxn(4, 40, 50, 51))


@pytest.mark.parametrize(
    ("start", "upper", "producers", "complete"),
    [
        (0, 10, [0], True),
        (0, 32, [0, 1, 2], True),
        (0, 35, [0, 1, 2, 3], True),
        (11, 19, [1, 2], True),
        (36, 40, [3], True),
        (51, 52, [], False),
        (0, 100, [0, 1, 2, 3], False),
    ],
)
def test_a_search_takes_what_overlaps_and_stops_at_a_high_stable_offset(place, start, upper, producers, complete):
    search = filled(place).search(start, upper)
    assert [aborted.producer_id for aborted in search.transactions] == producers
    assert search.complete is complete


def test_an_opened_index_ignores_a_short_tail_and_writes_over_it(place):
    filled(place)
    file = place.files.open(PATH)
    file.write(b"\0" * 20, 4 * 34)
    again = TxnIndex(place, 0)
    again.opened(place.files.info(PATH).size)
    assert again.entries == 4
    again.append(AbortedTxn(9, 51, 60, 61))
    assert again.all_entries()[-1].producer_id == 9


def test_truncation_drops_what_ends_at_or_past_an_offset(place):
    index = filled(place)
    index.truncate_to(35)
    assert [aborted.last_offset for aborted in index.all_entries()] == [10, 15]
    index.append(AbortedTxn(5, 20, 40, 41))


def test_a_newer_version_or_an_offset_before_the_segment_is_corrupt(place):
    index = filled(place)
    index.base_offset = 11
    index.close()
    place.files.rename(PATH, "/l/00000000000000000011.txnindex")
    with pytest.raises(CorruptTxnIndex, match="below the base offset"):
        index.check()
    place.files.open("/l/00000000000000000011.txnindex").write(b"\0\1", 34)
    with pytest.raises(CorruptTxnIndex, match="version 1"):
        index.check()


def test_without_a_file_there_is_nothing(place):
    index = TxnIndex(place, 0)
    assert index.search(0, 100) == ([], False)
    index.truncate_to(0)
    index.reset()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 30), st.integers(0, 9)), max_size=200),
    st.integers(0, 1000),
    st.integers(0, 1000),
)
def test_a_search_finds_what_a_scan_finds(steps, fetch_offset, upper_offset):
    """steps: (distance to the last marker, length, how far the stable offset is behind) of each transaction."""
    files = FakeFiles()
    files.make_directory("/l")
    index = TxnIndex(PartitionDirectory("/l", files, OpenHandles()), 0)
    last, stable, entries = 0, 0, []
    for number, (step, length, behind) in enumerate(steps):
        last += step
        stable = max(stable, last + 1 - behind)
        entries.append(AbortedTxn(number, max(last - length, 0), last, stable))
        index.append(entries[-1])
    expected = []
    complete = False
    for entry in entries:
        if entry.last_offset >= fetch_offset and entry.first_offset < upper_offset:
            expected.append(entry)
        if entry.last_stable_offset >= upper_offset:
            complete = True
            break
    assert index.search(fetch_offset, upper_offset) == (expected, complete)


def count_reads(monkeypatch) -> list[tuple[int, int]]:
    """(first entry, entries) of each read of the file."""
    seen = []
    read = TxnIndex._bytes
    monkeypatch.setattr(TxnIndex, "_bytes", lambda self, *where: seen.append(where) or read(self, *where))
    return seen


def test_searches_read_the_file_once(place, monkeypatch):
    index = TxnIndex(place, 0)
    for number in range(5000):
        index.append(AbortedTxn(number, 10 * number, 10 * number + 5, 10 * number + 6))
    seen = count_reads(monkeypatch)
    for number in (3000, 3001, 1, 4999):
        found = index.search(10 * number, 10 * number + 5).transactions
        assert found == [(number, 10 * number, 10 * number + 5, 10 * number + 6)]
    assert seen == [(0, 5000)]
    index.append(AbortedTxn(5000, 50_000, 50_005, 50_006))
    assert [found.producer_id for found in index.search(50_000, 50_010).transactions] == [5000]
    assert seen == [(0, 5000)]


def test_a_reader_past_all_markers_reads_nothing_and_released_entries_are_read_again(place, monkeypatch):
    index = filled(place)
    seen = count_reads(monkeypatch)
    assert index.search(51, 52).transactions == []
    assert seen == []
    for _ in range(2):
        assert len(index.search(0, 100).transactions) == 4
    index.release()
    assert len(index.search(0, 100).transactions) == 4
    assert seen == [(0, 4), (0, 4)]


def test_after_a_truncation_searches_find_what_is_left(place):
    index = filled(place)
    assert len(index.search(0, 100).transactions) == 4
    index.truncate_to(20)
    assert [found.producer_id for found in index.search(0, 100).transactions] == [0, 1]
    index.append(AbortedTxn(9, 17, 21, 22))
    assert [found.producer_id for found in index.search(0, 100).transactions] == [0, 1, 9]
    index.reset()
    assert index.search(0, 100) == ([], False)


def test_a_corrupt_file_can_be_truncated_and_appended_to_but_not_searched(place):
    index = filled(place)
    index.close()
    place.files.open(PATH).write(b"\0\1", 34)
    again = TxnIndex(place, 0)
    again.opened(4 * 34)
    with pytest.raises(CorruptTxnIndex, match="version 1"):
        again.search(0, 100)
    again.truncate_to(20)
    assert again.entries == 2
    again.append(AbortedTxn(9, 17, 21, 22))
    assert place.files.info(PATH).size == 3 * 34
    with pytest.raises(CorruptTxnIndex, match="version 1"):
        again.search(0, 100)


def test_a_file_that_has_become_shorter_is_corrupt_and_can_be_truncated(place):
    index = filled(place)
    index.close()
    place.files.open(PATH).truncate(40)
    again = TxnIndex(place, 0)
    again.opened(4 * 34)
    with pytest.raises(CorruptTxnIndex, match="shorter"):
        again.search(0, 100)
    again.truncate_to(100)
    assert again.entries == 1
    assert [found.producer_id for found in again.search(0, 100).transactions] == [0]

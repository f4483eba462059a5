from __future__ import annotations

import random

import pytest
from crc32c import crc32c

from kafka_py.log.compaction import key_offsets
from kafka_py.log.compaction.key_offsets import MARKS, NO_KEY, KeyOffsets, LatestOffsets, most_keys

MIB = 1 << 20


def test_the_worked_example_of_capacity() -> None:
    """W5.31: 128 MB at load factor 0.9 hold 5033164 keys of 24 bytes."""
    assert most_keys(128 * MIB, 0.9) == 5033164


def added(table: KeyOffsets, *rows: tuple[int, bytes | None], first_offset: int = 0) -> bool:
    return table.add([offset for offset, _ in rows], [key for _, key in rows], first_offset)


def last_of(table: KeyOffsets, *keys: bytes | None) -> list[int]:
    return table.last_offsets(keys)


def test_the_last_offset_added_counts() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert last_of(table, b"a", b"") == [-1, -1]
    assert added(table, (3, b"a"), (4, b"b"), (5, None), (9, b"a"))
    assert last_of(table, b"a", b"b", b"", None) == [9, 4, -1, NO_KEY]
    assert (table.latest, table.count) == (9, 2)


def test_records_below_the_first_offset_are_left_out() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert added(table, (3, b"a"), (4, b"b"), first_offset=4)
    assert last_of(table, b"a", b"b") == [-1, 4]


def test_it_takes_as_many_keys_as_its_load_factor_says() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert added(table, *((number, b"%d" % number) for number in range(90)))
    assert not added(table, *((number, b"%d" % number) for number in range(90, 95)))
    assert (table.latest, table.count) == (89, 90)
    assert last_of(table, *(b"%d" % number for number in range(91))) == [*range(90), -1]


def test_it_equals_a_map() -> None:
    """Nearly full, so that most keys are not where their hash says; the empty key among them."""
    rng = random.Random(5)
    table, expected = KeyOffsets(24 * 512, 1.0), dict[bytes, int]()
    for first in range(0, 4000, 10):
        rows = [(first + index, b"k" * rng.randrange(3) + b"%d" % rng.randrange(170)) for index in range(9)]
        rows += [(first + 9, b"")]
        assert added(table, *rows)
        expected.update((key, offset) for offset, key in rows)
    assert table.count == len(expected) > 500
    assert last_of(table, *expected) == list(expected.values())


def test_the_smallest_table_takes_a_key() -> None:
    table = KeyOffsets(0, 0.9)
    assert added(table, (1, b"a"))
    assert not added(table, (2, b"b"))
    assert last_of(table, b"a", b"b") == [1, -1]
    table.close()


def test_keys_of_the_same_length_and_checksum_are_different_keys() -> None:
    """The difference of the two keys is the polynomial of CRC-32C, so that every such pair has one checksum."""
    difference = int.from_bytes(bytes.fromhex("f176ec0501000000"), "big")
    pairs = [(number.to_bytes(8, "big"), (number ^ difference).to_bytes(8, "big")) for number in range(60)]
    assert all(crc32c(one) == crc32c(other) for one, other in pairs)
    for one, other in pairs:  # the second begins its search where the first is, in many of them
        table = KeyOffsets(24 * 3, 1.0)
        assert added(table, (1, one))
        assert last_of(table, one, other) == [1, -1]
        assert added(table, (2, other))
        assert last_of(table, one, other) == [1, 2]


def test_offsets_that_do_not_rise_are_noted() -> None:
    for rows, is_ordered in (
        ([(1, b"a"), (4, None), (5, b"a")], True),
        ([(1, b"a"), (1, b"b")], False),
        ([(5, b"a"), (4, b"b")], False),
        ([(5, None), (4, b"b")], False),
    ):
        table = KeyOffsets(24 * 100, 0.9)
        assert added(table, *rows)
        assert table.is_ordered is is_ordered
        table = KeyOffsets(24 * 100, 0.9)
        for row in rows:
            assert added(table, row)
            table.cover(row[0])
        assert table.is_ordered is is_ordered, "the batches before count as well"


@pytest.mark.parametrize("window", [1 << 24, 7, 10])
def test_the_latest_offsets_are_those_of_the_table(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one window or in many that follow the batches; the first offset of all is among them."""
    monkeypatch.setattr(key_offsets, "MARKS", window)
    monkeypatch.setattr(key_offsets, "_SLOTS_AT_ONCE", 16)
    monkeypatch.setattr(key_offsets, "_SLOTS_OF_A_RECORD", 100)  # any number of windows is worth it
    rng = random.Random(3)
    table, last, pauses = KeyOffsets(24 * 100, 0.9), dict[bytes, int](), list[int]()
    rows = [(0, b"once"), *((offset, b"%d" % rng.randrange(30)) for offset in range(1, 200))]
    assert added(table, *rows)
    last.update((key, offset) for offset, key in rows)
    latest = LatestOffsets(table, 0, lambda: pauses.append(1))
    for first in range(0, 200, 5):
        offsets = range(first, first + 5)
        assert latest.covers(first, first + 4)
        expected = [index for index, offset in enumerate(offsets) if offset in last.values()]
        assert latest.chosen(offsets) == expected and latest.count(first, first + 4) == len(expected)
    assert len(pauses) == 7 * (1 if window > 200 else 40 if window == 7 else 20)


def test_latest_offsets_tell_nothing_of_what_was_not_added_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert added(table, (10, b"a"), (12, b"b"))
    latest = LatestOffsets(table, 10)
    assert latest.covers(10, 12) and latest.covers(12, 12)
    assert not latest.covers(9, 12), "of the clean part"
    assert not latest.covers(12, 13), "the table was full before"
    assert not latest.covers(12, 11), "a header with an impossible offset"
    table.is_ordered = False
    assert not latest.covers(10, 12)
    table.is_ordered = True
    monkeypatch.setattr(key_offsets, "MARKS", 2)
    assert not latest.covers(10, 12), "more offsets than there are marks"


@pytest.mark.parametrize(("gap", "windows"), [(1, 1), (MARKS // 20, 5), (MARKS // 10, 0), (MARKS * 5, 0)])
def test_the_table_is_not_read_for_window_after_window_of_few_records(gap: int, windows: int) -> None:
    """A new replica of a compacted log: a hundred records, of offsets as far apart as those that are gone were many."""
    table = KeyOffsets(24 * 112, 0.9)
    assert added(table, *((number * gap, b"%d" % number) for number in range(100)))
    pauses = list[int]()
    latest = LatestOffsets(table, 0, lambda: pauses.append(1))
    assert [latest.covers(number * gap, number * gap) for number in range(100)] == [windows > 0] * 100
    assert len(pauses) == windows

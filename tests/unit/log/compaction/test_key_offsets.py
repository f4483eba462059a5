from __future__ import annotations

import random

from crc32c import crc32c

from kafka_py.log.compaction.key_offsets import KeyOffsets, most_keys
from kafka_py.records.batch import Record

MIB = 1 << 20


def test_the_worked_example_of_capacity() -> None:
    """W5.31: 128 MB at load factor 0.9 hold 5033164 keys of 24 bytes."""
    assert most_keys(128 * MIB, 0.9) == 5033164


def record(offset: int, key: bytes | None) -> Record:
    return Record(offset, 0, key, b"", ())


def last_of(table: KeyOffsets, *keys: bytes | None) -> list[int]:
    return table.last_offsets([record(0, key) for key in keys])


def test_the_last_offset_added_counts() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert last_of(table, b"a", b"") == [-1, -1]
    assert table.add([record(3, b"a"), record(4, b"b"), record(5, None), record(9, b"a")], 0)
    assert last_of(table, b"a", b"b", b"", None) == [9, 4, -1, -1]
    assert (table.latest, table.count) == (9, 2)


def test_records_below_the_first_offset_are_left_out() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert table.add([record(3, b"a"), record(4, b"b")], 4)
    assert last_of(table, b"a", b"b") == [-1, 4]


def test_it_takes_as_many_keys_as_its_load_factor_says() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert table.add([record(number, b"%d" % number) for number in range(90)], 0)
    assert not table.add([record(number, b"%d" % number) for number in range(90, 95)], 0)
    assert (table.latest, table.count) == (89, 90)
    assert last_of(table, *(b"%d" % number for number in range(91))) == [*range(90), -1]


def test_it_equals_a_map() -> None:
    """Nearly full, so that most keys are not where their hash says; the empty key among them."""
    rng = random.Random(5)
    table, expected = KeyOffsets(24 * 512, 1.0), dict[bytes, int]()
    for first in range(0, 4000, 10):
        rows = [(first + index, b"k" * rng.randrange(3) + b"%d" % rng.randrange(170)) for index in range(9)]
        rows += [(first + 9, b"")]
        assert table.add([record(*row) for row in rows], 0)
        expected.update((key, offset) for offset, key in rows)
    assert table.count == len(expected) > 500
    assert last_of(table, *expected) == list(expected.values())


def test_the_smallest_table_takes_a_key() -> None:
    table = KeyOffsets(0, 0.9)
    assert table.add([record(1, b"a")], 0)
    assert not table.add([record(2, b"b")], 0)
    assert last_of(table, b"a", b"b") == [1, -1]
    table.close()


def test_keys_of_the_same_length_and_checksum_are_different_keys() -> None:
    """The difference of the two keys is the polynomial of CRC-32C, so that every such pair has one checksum."""
    difference = int.from_bytes(bytes.fromhex("f176ec0501000000"), "big")
    pairs = [(number.to_bytes(8, "big"), (number ^ difference).to_bytes(8, "big")) for number in range(60)]
    assert all(crc32c(one) == crc32c(other) for one, other in pairs)
    for one, other in pairs:  # the second begins its search where the first is, in many of them
        table = KeyOffsets(24 * 3, 1.0)
        assert table.add([record(1, one)], 0)
        assert last_of(table, one, other) == [1, -1]
        assert table.add([record(2, other)], 0)
        assert last_of(table, one, other) == [1, 2]

from __future__ import annotations

from kafka_py.log.compaction.key_offsets import KeyOffsets, most_keys

MIB = 1 << 20


def test_the_worked_example_of_capacity() -> None:
    """W5.31: 128 MB at load factor 0.9 hold 5033164 keys of 24 bytes."""
    assert most_keys(128 * MIB, 0.9) == 5033164


def test_the_last_offset_put_counts() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    assert table.get(b"a") == -1
    table.put(b"a", 3)
    table.put(b"b", 4)
    table.put(b"a", 9)
    assert (table.get(b"a"), table.get(b"b"), table.get(b""), table.latest, table.count) == (9, 4, -1, 9, 2)


def test_it_takes_as_many_keys_as_its_load_factor_says() -> None:
    table = KeyOffsets(24 * 100, 0.9)
    for number in range(90):
        assert not table.is_full
        table.put(b"%d" % number, number)
    assert table.is_full
    assert all(table.get(b"%d" % number) == number for number in range(90))
    assert table.get(b"90") == -1


def test_the_smallest_table_takes_a_key() -> None:
    table = KeyOffsets(0, 0.9)
    table.put(b"a", 1)
    assert table.is_full and table.get(b"a") == 1 and table.get(b"b") == -1
    table.close()

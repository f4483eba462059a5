from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from kafka_py.log.compaction import compaction
from kafka_py.log.compaction.compaction import (
    CleanedTransactionMetadata,
    Dirtiness,
    LastBatch,
    Part,
    RecordFilter,
    group_parts,
)
from kafka_py.log.compaction.key_offsets import KeyOffsets
from kafka_py.log.segments.txn_index import AbortedTxn
from kafka_py.records.batch import (
    BatchHeader,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    read_header,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import LegacyRecord, read_records

GIB = 1 << 30


def parts(*sizes: float) -> list[Part]:
    return [Part(number * 1000, int(size * GIB)) for number, size in enumerate(sizes)]


def test_the_worked_example_of_grouping() -> None:
    """W5.32: 0.4, 0.4, 0.3, 0.7, 0.3, 1 GB with segments of 1 GB."""
    groups = group_parts(parts(0.4, 0.4, 0.3, 0.7, 0.3, 1), GIB, 10 << 20, 6000)
    sizes = [[round(part.size / GIB, 1) for part in group] for group in groups]
    assert sizes == [[0.4, 0.4], [0.3, 0.7], [0.3], [1.0]]


def test_a_group_has_no_larger_indexes_than_a_segment() -> None:
    rows = [Part(0, 10, 60, 0), Part(10, 10, 60, 0), Part(20, 10, 0, 60), Part(30, 10, 0, 60)]
    assert [len(group) for group in group_parts(rows, 1000, 100, 40)] == [1, 2, 1]


def test_a_group_spans_no_more_offsets_than_its_index_can_name() -> None:
    far = (1 << 31) - 1
    assert len(group_parts([Part(0, 1), Part(5, 1)], 100, 100, far + 1)) == 1
    assert len(group_parts([Part(0, 1), Part(5, 1)], 100, 100, far + 2)) == 2
    assert len(group_parts([Part(0, 1), Part(5, 0)], 100, 100, far + 2)) == 1, "an empty one needs no index"


def test_the_dirty_ratio() -> None:
    """Dirty bytes by all that can be compacted; above min.cleanable.dirty.ratio it is due."""
    assert Dirtiness(0, 0, 0, 0).ratio == 0
    dirty = Dirtiness(10, 20, 50, 50)
    assert dirty.ratio == 0.5 and not dirty.is_due(0.5) and dirty.is_due(0.49)
    assert Dirtiness(10, 20, 99, 1, overdue_ms=1).is_due(0.5)
    assert not Dirtiness(10, 20, 99, 0, overdue_ms=1).is_due(0.0)


def batch(*records: tuple[int, bytes | None, bytes | None], **fields: object) -> memoryview:
    builder = BatchBuilder(base_offset=records[0][0], **fields)  # type: ignore[arg-type]
    for offset, key, value in records:
        builder.append_at(offset, 1000 + offset, key, value, (("h", b"x"),))
    return memoryview(bytearray(builder.build()))


def filter_with(
    keys: dict[bytes, int], latest: int, producers: dict[int, LastBatch] | None = None, first_dirty: int = 1 << 62
) -> RecordFilter:
    table = KeyOffsets(24 * 100, 0.9)
    assert table.add(list(keys.values()), list(keys), 0)
    table.latest = latest
    return RecordFilter(table, CleanedTransactionMetadata(), producers or {}, first_dirty=first_dirty)


def retained_records(
    record_filter: RecordFilter, data: memoryview, *, keeps_deletes: bool = False
) -> list[Record] | None:
    left = record_filter.retained(data, read_header(data), keeps_deletes=keeps_deletes)
    if left is None:
        return None
    verify_crc(left)
    return decode_records(left)


def offsets(records: list[Record] | None) -> list[int]:
    return [record.offset for record in records or ()]


def test_a_record_stays_while_no_later_one_has_its_key() -> None:
    """W5.34: a record at O1 stays when O1 >= O2, the offset that the table has for its key."""
    record_filter = filter_with({b"a": 12, b"b": 9}, 12)
    data = batch((10, b"a", b"old"), (11, b"b", b"new"), (12, b"a", b"new"), (13, b"a", b"beyond the table"))
    assert offsets(retained_records(record_filter, data)) == [11, 12, 13]
    assert record_filter.records_kept == 3


def test_tombstones_stay_until_their_time_is_over() -> None:
    record_filter = filter_with({b"a": 10}, 20)
    assert offsets(retained_records(record_filter, batch((10, b"a", None)), keeps_deletes=True)) == [10]
    assert retained_records(record_filter, batch((10, b"a", None))) is None


def test_records_without_a_key_go() -> None:
    assert offsets(retained_records(filter_with({}, 20), batch((10, None, b"v"), (11, b"a", b"v")))) == [11]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4])
def test_what_is_left_of_a_batch_keeps_its_place_and_its_producer(codec: Codec) -> None:
    data = batch((10, b"a", b"1"), (11, b"b", b"2"), (12, b"c", b"3"), codec=codec, producer_id=7, producer_epoch=2,
                 base_sequence=40, leader_epoch=5)  # fmt: skip
    left = filter_with({b"a": 99, b"c": 99}, 99).retained(data, read_header(data), keeps_deletes=False)
    assert left is not None
    before, after = read_header(data), read_header(left)
    assert (after.base_offset, after.last_offset, after.partition_leader_epoch) == (10, 12, 5)
    assert (after.producer_id, after.producer_epoch, after.base_sequence) == (7, 2, 40)
    assert after.codec is codec and after.last_sequence == before.last_sequence
    assert decode_records(left) == [Record(11, 1011, b"b", b"2", (("h", b"x"),))]


def test_a_batch_of_which_all_stays_is_not_touched() -> None:
    data = batch((10, b"a", b"1"))
    assert filter_with({b"a": 10}, 20).retained(data, read_header(data), keeps_deletes=False) is data


def test_the_last_batch_of_a_live_producer_leaves_its_header() -> None:
    data = batch((10, b"a", b"1"), (11, b"a", b"2"), producer_id=7, producer_epoch=0, base_sequence=3)
    for producers, stays in (({7: LastBatch(11, 0)}, True), ({7: LastBatch(30, 0)}, False), ({}, False)):
        left = filter_with({b"a": 30}, 30, producers).retained(data, read_header(data), keeps_deletes=False)
        assert (left is not None) is stays
        if left is not None:
            header = read_header(left)
            assert (header.record_count, header.last_offset, header.last_sequence) == (0, 11, 4)


def test_an_emptied_batch_names_no_codec() -> None:
    """Java's consumer fails on a batch without bytes that says it is compressed."""
    data = batch((10, b"a", b"1"), codec=Codec.LZ4, producer_id=7, producer_epoch=0, base_sequence=3)
    left = filter_with({b"a": 30}, 30, {7: LastBatch(10, 0)}).retained(data, read_header(data), keeps_deletes=False)
    assert left is not None and read_header(left).codec is Codec.NONE
    verify_crc(left)


def marker(offset: int, kind: ControlType, producer_id: int = 7) -> memoryview:
    data = end_txn_marker(
        kind, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=1, base_offset=offset
    )
    return memoryview(bytearray(data))


def in_transaction(*records: tuple[int, bytes, bytes | None]) -> memoryview:
    return batch(*records, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)


def test_data_of_an_aborted_transaction_goes_and_its_marker_only_afterwards() -> None:
    aborted = AbortedTxn(7, 10, 20, 21)
    record_filter = filter_with({b"a": 10}, 30)
    record_filter.transactions = CleanedTransactionMetadata([aborted])
    assert retained_records(record_filter, in_transaction((10, b"a", b"1"))) is None
    assert offsets(retained_records(record_filter, marker(20, ControlType.ABORT))) == [20]
    assert record_filter.transactions.kept == [aborted]
    record_filter.transactions = CleanedTransactionMetadata([aborted])
    assert offsets(retained_records(record_filter, marker(20, ControlType.ABORT), keeps_deletes=True)) == [20]
    record_filter.transactions = CleanedTransactionMetadata([aborted])
    assert retained_records(record_filter, marker(20, ControlType.ABORT)) is None
    assert record_filter.transactions.kept == []


def test_data_of_an_aborted_transaction_goes_beyond_the_end_of_the_table_too() -> None:
    record_filter = filter_with({b"a": 10}, 10)
    record_filter.transactions = CleanedTransactionMetadata([AbortedTxn(7, 11, 20, 21)])
    assert retained_records(record_filter, in_transaction((11, b"b", b"1"))) is None


def test_a_commit_marker_goes_when_nothing_of_its_transaction_was_met() -> None:
    record_filter = filter_with({b"a": 10}, 30)
    assert offsets(retained_records(record_filter, in_transaction((10, b"a", b"1")))) == [10]
    assert offsets(retained_records(record_filter, marker(20, ControlType.COMMIT))) == [20]
    assert retained_records(record_filter, marker(25, ControlType.COMMIT)) is None


def test_the_marker_that_alone_tells_of_a_producer_leaves_its_header() -> None:
    data = marker(25, ControlType.COMMIT)
    left = filter_with({}, 30, {7: LastBatch(-1, 0)}).retained(data, read_header(data), keeps_deletes=False)
    assert left is not None and read_header(left).is_control and read_header(left).record_count == 0
    data = memoryview(bytearray(left))
    assert filter_with({}, 30).retained(data, read_header(data), keeps_deletes=False) is None


def test_a_producer_that_aborts_and_then_commits_keeps_what_it_committed() -> None:
    record_filter = filter_with({b"a": 12}, 30)
    record_filter.transactions = CleanedTransactionMetadata([AbortedTxn(7, 10, 11, 12)])
    assert retained_records(record_filter, in_transaction((10, b"a", b"1"))) is None
    assert retained_records(record_filter, marker(11, ControlType.ABORT)) is not None
    assert offsets(retained_records(record_filter, in_transaction((12, b"a", b"2")))) == [12]


def test_a_tombstone_of_the_dirty_part_stays_whatever_its_age() -> None:
    """The values that it hides are gone only when the whole compaction is in place."""
    record_filter = filter_with({b"a": 5}, 5, first_dirty=5)
    old, new = batch((4, b"b", None)), batch((5, b"a", None))
    assert record_filter.retained(old, read_header(old), keeps_deletes=False) is None
    assert record_filter.retained(new, read_header(new), keeps_deletes=False) == new


# ---- formats 0 and 1


OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


def old_set(magic: int, codec: Codec, *records: tuple[int, bytes | None, bytes | None], **fields: int) -> memoryview:
    """One plain entry, or a wrapper."""
    made = LegacyBuilder(magic, codec, base_offset=records[0][0], **fields)  # type: ignore[arg-type]
    for offset, key, value in records:
        made.append_at(offset, 1000 + offset, key, value)
    return memoryview(bytearray(made.build()))


def retained_old(record_filter: RecordFilter, data: memoryview, *, keeps_deletes: bool = False) -> list[LegacyRecord]:
    left = record_filter.retained(data, read_header(data), keeps_deletes=keeps_deletes)
    if left is None:
        return []
    verify_crc(left)
    records = read_records(left, 0)
    assert all(record.is_valid for record in records)
    assert read_header(left).last_offset == records[-1].offset
    return records


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_entry_stays_untouched_while_no_later_one_has_its_key(magic: int) -> None:
    record_filter = filter_with({b"a": 12}, 12)
    stale, fresh, keyless = (old_set(magic, Codec.NONE, row) for row in
                             ((11, b"a", b"1"), (12, b"a", b"2"), (10, None, b"v")))  # fmt: skip
    assert retained_old(record_filter, stale) == retained_old(record_filter, keyless) == []
    assert record_filter.retained(fresh, read_header(fresh), keeps_deletes=False) == fresh


@pytest.mark.parametrize("codec", OLD_CODECS[1:])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_keeps_the_records_that_stay_at_their_offsets(magic: int, codec: Codec) -> None:
    rows = [(10, b"a", b"1"), (11, b"b", b"2"), (12, None, b"3"), (13, b"c", b"4"), (14, b"d", b"5")]
    data = old_set(magic, codec, *rows)
    left = filter_with({b"a": 99, b"d": 99}, 99).retained(data, read_header(data), keeps_deletes=False)
    assert left is not None
    header = read_header(left)
    assert (header.magic, header.codec, header.last_offset) == (magic, codec, 13)
    assert header.max_timestamp == (1013 if magic else -1)
    kept = [(record.offset, record.timestamp, record.key) for record in read_records(left, 0)]
    assert kept == [(11, 1011 if magic else -1, b"b"), (13, 1013 if magic else -1, b"c")]
    again = filter_with({b"b": 99}, 99)
    assert [record.offset for record in retained_old(again, memoryview(bytearray(left)))] == [13]


def test_a_wrapper_with_append_time_keeps_it() -> None:
    data = old_set(1, Codec.GZIP, (1, b"a", b"1"), (2, b"b", b"2"), timestamp_type=TimestampType.LOG_APPEND_TIME,
                   log_append_time_ms=77)  # fmt: skip
    left = filter_with({b"b": 99}, 99).retained(data, read_header(data), keeps_deletes=False)
    assert left is not None
    assert (read_header(left).timestamp_type, read_header(left).max_timestamp) == (TimestampType.LOG_APPEND_TIME, 77)
    assert [(record.offset, record.timestamp) for record in read_records(left, 0)] == [(1, 77)]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_of_very_many_records_is_not_held_in_memory_as_records(
    magic: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed they take next to nothing, so a producer may send millions in one wrapper."""
    rows = [(offset, b"%d" % (offset % 10), None) for offset in range(3000)]
    data = old_set(magic, Codec.GZIP, *rows)
    rebuilt = compaction._rebuilt_entry
    held: list[bool] = []

    def noted(header: BatchHeader, records: Iterable[LegacyRecord]) -> bytes:
        held.append(isinstance(records, list))
        return rebuilt(header, records)

    monkeypatch.setattr(compaction, "_rebuilt_entry", noted)
    left = []
    for at_once in (3000, 2999):
        monkeypatch.setattr(compaction, "MOST_AT_ONCE", at_once)
        keys = filter_with({b"%d" % number: 2990 + number for number in range(3, 10)}, 3000)
        left.append([record.offset for record in retained_old(keys, data, keeps_deletes=True)])
        assert keys.records_kept == len(left[-1])
    assert left[0] == left[1] == [offset for offset, _, _ in rows if offset % 10 < 3 or offset >= 2990]
    assert held == [True, False]


def test_tombstones_of_every_format_go_and_the_old_values_before_them() -> None:
    record_filter = filter_with({b"a": 8, b"b": 9}, 9)
    value = old_set(0, Codec.GZIP, (1, b"a", b"old value"), (2, b"b", b"old value"))
    old, new = old_set(1, Codec.NONE, (8, b"a", None)), batch((9, b"b", None))
    assert retained_old(record_filter, value) == []
    assert [record.offset for record in retained_old(record_filter, old, keeps_deletes=True)] == [8]
    assert retained_old(record_filter, old) == []
    assert record_filter.retained(new, read_header(new), keeps_deletes=False) is None


@pytest.mark.parametrize("data", [batch((5, b"a", b"v"), (6, b"b", b"v")), old_set(1, Codec.GZIP, (5, b"a", b"v"))])
def test_a_damaged_batch_gets_no_checksum_that_hides_it(data: memoryview) -> None:
    damaged = memoryview(bytearray(data))
    damaged[len(data) - 2] ^= 1
    with pytest.raises(CorruptBatch, match="checksum"):
        filter_with({b"a": 99}, 99).retained(damaged, read_header(damaged), keeps_deletes=False)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_batch_that_is_read_twice_leaves_the_same(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of very many records is not held in memory; what stays of it is the same."""
    rng = random.Random(1)
    keys = {b"%d" % number: rng.randrange(3000) for number in range(50)}
    for tombstones in (0.0, 0.2, 1.0):
        records = [
            (offset, b"%d" % rng.randrange(60), None if rng.random() < tombstones else b"%d" % offset)
            for offset in range(3000)
        ]
        data = batch(*records, codec=codec)
        left = []
        for at_once in (compaction.MOST_AT_ONCE, 1):
            monkeypatch.setattr(compaction, "MOST_AT_ONCE", at_once)
            record_filter = filter_with(keys, 2500)
            made = record_filter.retained(data, read_header(data), keeps_deletes=False)
            left.append((None if made is None else bytes(made), record_filter.records_kept))
        assert left[0] == left[1]


Row = tuple[int, bytes | None, bytes | None]


def random_batches(rng: random.Random) -> tuple[list[Row], list[memoryview]]:
    """Offset, key and value of each record; the same in batches, with gaps between them and inside."""
    rows: list[Row] = []
    batches: list[memoryview] = []
    offset = 0
    for _ in range(rng.randrange(1, 12)):
        some: list[Row] = []
        for _ in range(rng.choice([1, 2, 9])):
            offset += rng.choice([1, 1, 3])
            some.append((offset, rng.choice([None, b"", *(b"k%d" % rng.randrange(6) for _ in range(8))]),
                         rng.choice([None, b"", b"v"])))  # fmt: skip
        codec, magic = rng.choice([Codec.NONE, Codec.GZIP]), rng.choice([0, 1, 2, 2])
        if magic < 2 and codec is Codec.NONE:  # an entry for each record
            batches += [old_set(magic, codec, row) for row in some]
        else:
            batches.append(old_set(magic, codec, *some) if magic < 2 else batch(*some, codec=codec))
        rows += some
    return rows, batches


def rows_of(data: memoryview) -> list[Row]:
    records = decode_records(data) if read_header(data).magic == 2 else read_records(data, 0)
    return [(record.offset, record.key, record.value) for record in records]


def test_the_records_that_stay_are_those_of_the_rules_one_by_one() -> None:
    """Two passes over random batches of all formats, with tables too small for them, against a dict and plain rules."""
    rng = random.Random(7)
    for _ in range(150):
        rows, batches = random_batches(rng)
        first_dirty, most, keeps_deletes = rng.randrange(rows[-1][0] + 2), rng.choice([2, 4, 99]), rng.random() < 0.5
        table = KeyOffsets(24 * 100, most / 100)
        last, latest = dict[bytes, int](), -1
        for offset, key, _value in rows:
            if key is not None and offset >= first_dirty:
                if len(last) == most:
                    break
                last[key] = latest = offset
        for some in batches:
            if not table.add([row[0] for row in rows_of(some)], [row[1] for row in rows_of(some)], first_dirty):
                break
        expected = [
            offset for offset, key, value in rows
            if offset > latest or (key is not None and offset >= last.get(key, -1)
                                   and (value is not None or keeps_deletes or offset >= first_dirty))
        ]  # fmt: skip
        record_filter = RecordFilter(table, CleanedTransactionMetadata(), {}, first_dirty)
        left = [record_filter.retained(some, read_header(some), keeps_deletes=keeps_deletes) for some in batches]
        assert [row[0] for some in left if some is not None for row in rows_of(memoryview(some))] == expected
        assert (table.latest, record_filter.records_kept) == (latest, len(expected))

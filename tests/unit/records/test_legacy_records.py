"""Records of message formats 0 and 1, plain and wrapped."""

import struct
import zlib

import pytest

from kafka_py.records.batch import CorruptBatch, OversizedBatch
from kafka_py.records.compression import Codec, compress
from kafka_py.records.legacy_records import LegacyRecord, iter_record_pieces, open_run, outline, read_records

LOG_APPEND_TIME = 0x08


def entry(magic, offset, key, value, *, attributes=0, timestamp=1000):
    """One entry as an old client wrote it."""
    body = bytes([magic, attributes]) + (struct.pack(">q", timestamp) if magic else b"")
    for data in (key, value):
        body += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    crc = zlib.crc32(body)
    return struct.pack(">qiI", offset, 4 + len(body), crc) + body


def wrapped(magic, offset, codec, inner, **fields):
    return entry(magic, offset, None, compress(codec, b"".join(inner), magic=magic),
                 attributes=codec | fields.pop("attributes", 0), **fields)  # fmt: skip


def shown(records):
    return [(record.offset, record.timestamp, record.key, record.value, record.is_valid) for record in records]


@pytest.mark.parametrize(("magic", "timestamp"), [(0, -1), (1, 1000)])
def test_an_uncompressed_entry_is_one_record(magic, timestamp):
    data = b"xx" + entry(magic, 5, b"k", None)
    assert shown(read_records(data, 2)) == [(5, timestamp, b"k", None, True)]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_format_0_keeps_absolute_offsets_inside(codec):
    data = wrapped(0, 8, codec, [entry(0, 7, None, b"a"), entry(0, 8, None, b"b")])
    assert [(record.offset, record.value) for record in read_records(data, 0)] == [(7, b"a"), (8, b"b")]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_format_1_counts_back_from_the_wrappers_offset(codec):
    """KIP-31; compaction may leave gaps among the relative offsets."""
    data = wrapped(1, 9, codec, [entry(1, 0, None, b"a", timestamp=3), entry(1, 2, b"k", b"b", timestamp=4)])
    assert shown(read_records(data, 0)) == [(7, 3, None, b"a", True), (9, 4, b"k", b"b", True)]


def test_a_wrapper_with_append_time_gives_it_to_all():
    """KIP-32."""
    inner = [entry(1, 0, None, b"a", timestamp=3)]
    data = wrapped(1, 0, Codec.GZIP, inner, attributes=LOG_APPEND_TIME, timestamp=99)
    assert read_records(data, 0)[0].timestamp == 99


def test_w5_7_a_wrappers_offset_is_that_of_the_last_record_inside():
    """W5.7: inner offsets 0 to 5 in a wrapper at 1030 are the offsets 1025 to 1030."""
    data = wrapped(1, 1030, Codec.GZIP, [entry(1, number, None, b"v") for number in range(6)])
    assert [record.offset for record in read_records(data, 0)] == list(range(1025, 1031))


def test_the_records_of_a_wrapper_without_an_offset_count_from_0():
    """Some producers leave it at 0."""
    data = wrapped(1, 0, Codec.GZIP, [entry(1, number, None, b"v") for number in range(3)])
    assert [record.offset for record in read_records(data, 0)] == [0, 1, 2]


def test_an_entry_of_format_0_in_a_wrapper_of_format_1_has_no_timestamp():
    inner = [entry(0, 0, None, b"a"), entry(1, 1, None, b"b", timestamp=3)]
    data = wrapped(1, 1, Codec.GZIP, inner, attributes=LOG_APPEND_TIME, timestamp=99)
    assert [record.timestamp for record in read_records(data, 0)] == [-1, 99]


def test_an_incomplete_entry_at_the_end_of_a_wrapper_is_left_out():
    data = wrapped(1, 1, Codec.GZIP, [entry(1, 0, None, b"a"), entry(1, 1, None, b"b"), entry(1, 2, None, b"c")[:-1]])
    assert [record.value for record in read_records(data, 0)] == [b"a", b"b"]


def test_the_records_of_a_wrapper_come_in_pieces():
    data = wrapped(1, 6, Codec.GZIP, [entry(1, number, None, b"v") for number in range(7)])
    pieces = list(iter_record_pieces(data, 0, at_once=3))
    assert [[record.offset for record in piece] for piece in pieces] == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_a_wrapper_that_holds_more_than_the_limit_is_refused(codec):
    data = wrapped(1, 0, codec, [entry(1, 0, None, bytes(100_000))])
    with pytest.raises(OversizedBatch):
        read_records(data, 0, limit=50_000)
    assert len(read_records(data, 0, limit=101_000)) == 1


def test_a_run_of_plain_entries_ends_before_a_wrapper_and_before_an_incomplete_entry():
    plain = [entry(1, number, None, b"v") for number in range(4)]
    run, end = open_run(b"".join((*plain, wrapped(1, 4, Codec.GZIP, plain))), 0, 1000)
    assert (run.record_count, end, run.last_offset) == (4, 4 * len(plain[0]), 3)
    run, end = open_run(b"".join(plain)[:-1], 0, 4 * len(plain[0]) - 1)
    assert (run.record_count, end) == (3, 3 * len(plain[0]))
    assert open_run(wrapped(1, 4, Codec.GZIP, plain), 0, 1000) is None


def test_an_outline_counts_the_whole_entries_of_a_set():
    plain = [entry(1, 0, None, b"v"), entry(1, 1, b"key", b"value")]
    found = outline(memoryview(b"".join(plain) + entry(1, 2, None, b"v")[:-1]))
    assert found.entry_count == 2
    assert (found.magic, found.other_magic, found.codec_id) == (1, None, 0)
    assert (found.size, found.largest) == (len(b"".join(plain)), len(plain[1]))
    assert not found.has_append_time
    assert outline(plain[0] + entry(0, 1, None, b"v")).other_magic == 0
    assert outline(wrapped(1, 1, Codec.LZ4, plain, attributes=LOG_APPEND_TIME)).has_append_time
    assert outline(wrapped(1, 1, Codec.LZ4, plain)).codec_id == Codec.LZ4
    with pytest.raises(CorruptBatch, match="entry size 3"):
        outline(plain[0] + bytes(11) + b"\3" + bytes(20))


def test_a_wrong_checksum_is_told_not_refused():
    data = bytearray(entry(1, 5, b"k", b"v"))
    data[-1] ^= 1
    assert read_records(bytes(data), 0) == [
        LegacyRecord(5, 1000, b"k", b"w", struct.unpack_from(">I", data, 12)[0], False)
    ]


def bad_length():
    data = bytearray(entry(1, 0, b"k", b"v"))
    data[26:30] = struct.pack(">i", 1000)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bad_length(), "does not end where its lengths say"),
        (entry(1, 0, b"k", b"v")[:20], "has only 20"),
        (entry(1, 0, None, None, attributes=1), "has no value"),
        (entry(1, 0, None, b"rubbish", attributes=1), "gzip"),
        (entry(1, 0, None, b"v", attributes=4), "compression id 4"),
        (wrapped(1, 0, Codec.GZIP, []), "holds nothing"),
        (wrapped(1, 0, Codec.GZIP, [entry(1, 0, None, b"a")[:-1]]), "holds nothing"),
        (wrapped(1, 0, Codec.GZIP, [entry(1, 0, None, b"a", attributes=1)]), "inside a compressed entry"),
        (wrapped(1, 1, Codec.GZIP, [entry(1, n, None, b"a") for n in range(3)]), "below 2, the last one inside"),
        (wrapped(1, 0, Codec.GZIP, [entry(2, 0, None, b"a")]), "format 2"),
    ],
)
def test_what_cannot_be_read_is_corrupt(data, message):
    with pytest.raises(CorruptBatch, match=message):
        read_records(data, 0)

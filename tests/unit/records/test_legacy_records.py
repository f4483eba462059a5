"""Records of message formats 0 and 1, plain and wrapped."""

import struct
import zlib

import pytest

from kafka_py.records.batch import CorruptBatch
from kafka_py.records.compression import Codec, compress
from kafka_py.records.legacy_records import LegacyRecord, read_records

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
        (entry(1, 0, b"k", b"v")[:20], "does not end where its lengths say"),
        (entry(1, 0, None, None, attributes=1), "has no value"),
        (entry(1, 0, None, b"rubbish", attributes=1), "gzip"),
        (entry(1, 0, None, b"v", attributes=4), "compression id 4"),
        (wrapped(1, 0, Codec.GZIP, []), "holds nothing"),
        (wrapped(1, 0, Codec.GZIP, [entry(1, 0, None, b"a")[:-1]]), "does not end where its lengths say"),
        (wrapped(1, 0, Codec.GZIP, [entry(2, 0, None, b"a")]), "format 2"),
    ],
)
def test_what_cannot_be_read_is_corrupt(data, message):
    with pytest.raises(CorruptBatch, match=message):
        read_records(data, 0)

"""Other people's code reads what we write and writes what we read."""

import pytest

from kafka_py.records.batch import decode_records, iter_headers, read_header, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec, compress, decompress
from kafka_py.records.murmur2 import murmur2

NOW = 1_600_000_000_000
ROWS = [
    (NOW, b"key", b"value", ()),
    (NOW + 5, None, b"no key", (("h", b"1"), ("h", b"2"), ("null", None), ("ü", b""))),
    (NOW - 70_000, b"tombstone", None, ()),
    (NOW, b"", b"", ()),
    *((NOW + i * 50, b"key-%d" % i, b"some longer value, again and again " * (i % 9), ()) for i in range(300)),
    (NOW, b"big", b"x" * 100_000, ()),
]


def ours(codec: Codec, **fields: object) -> bytes:
    builder = BatchBuilder(codec, **fields)  # type: ignore[arg-type]
    for row in ROWS:
        builder.append(*row)
    return builder.build()


def rows_of(batch: bytes) -> list[tuple]:
    verify_crc(batch)
    records = decode_records(batch)
    assert [record.offset for record in records] == list(range(len(ROWS)))
    return [tuple(record[1:]) for record in records]


@pytest.fixture(params=["kafka", "aiokafka"])
def library(request):
    return pytest.importorskip(f"{request.param}.record.default_records"), pytest.importorskip(
        f"{request.param}.record.memory_records"
    )


@pytest.mark.parametrize("codec", list(Codec))
def test_their_readers_take_our_batches(library, codec):
    batch = ours(codec, producer_id=5, producer_epoch=2, base_sequence=77, transactional=True)
    memory_records = library[1].MemoryRecords(batch + batch)
    for _ in range(2):
        theirs = memory_records.next_batch()
        assert theirs.validate_crc()
        assert (theirs.producer_id, theirs.base_sequence, theirs.is_transactional) == (5, 77, True)
        got = [(r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs]
        assert got == ROWS
    assert memory_records.next_batch() is None


@pytest.mark.parametrize("codec", list(Codec))
def test_we_take_batches_of_their_builders(library, codec):
    builder = library[0].DefaultRecordBatchBuilder(
        magic=2, compression_type=int(codec), is_transactional=0, producer_id=9, producer_epoch=1, base_sequence=4,
        batch_size=1 << 24,
    )  # fmt: skip
    for offset, (timestamp, key, value, headers) in enumerate(ROWS):
        assert builder.append(offset, timestamp, key, value, list(headers))
    batch = bytes(builder.build())
    assert rows_of(batch) == ROWS
    header = read_header(batch)
    assert (header.codec, header.producer_id, header.base_sequence) == (codec, 9, 4)
    assert header.max_timestamp == max(row[0] for row in ROWS)


def test_without_a_codec_both_sides_write_the_same_bytes(library):
    builder = library[0].DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1,
        batch_size=1 << 24,
    )  # fmt: skip
    for offset, (timestamp, key, value, headers) in enumerate(ROWS):
        builder.append(offset, timestamp, key, value, list(headers))
    theirs = bytes(builder.build())
    # The leader epoch is the broker's to write: some send 0, others -1.
    assert theirs == ours(Codec.NONE, leader_epoch=read_header(theirs).partition_leader_epoch)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_entries_of_their_old_formats_are_walked_and_their_checksums_agree(magic, codec):
    legacy_records = pytest.importorskip("kafka.record.legacy_records")
    if (magic, codec) == (0, 3):
        pytest.importorskip("xxhash")
    builder = legacy_records.LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    for offset in range(10):
        builder.append(offset, timestamp=NOW + offset, key=b"key", value=b"value" * 10)
    data = bytes(builder.build())
    headers = list(iter_headers(data))
    assert len(headers) == (1 if codec else 10)
    for pos, header in headers:
        verify_crc(data, pos, header)
        assert (header.magic, header.codec) == (magic, Codec(codec))
    assert sum(header.size_bytes for _, header in headers) == len(data)


@pytest.mark.parametrize(("codec", "name"), [(Codec.GZIP, "gzip"), (Codec.SNAPPY, "snappy"), (Codec.ZSTD, "zstd")])
@pytest.mark.parametrize("library_name", ["kafka", "aiokafka"])
def test_payloads_of_their_codecs(library_name, codec, name):
    theirs = pytest.importorskip(f"{library_name}.codec")
    data = b"some data " * 20_000
    assert decompress(codec, bytes(getattr(theirs, f"{name}_encode")(data))) == data
    assert bytes(getattr(theirs, f"{name}_decode")(compress(codec, data))) == data


def test_their_murmur2_agrees():
    theirs = pytest.importorskip("kafka.partitioner.default")
    for key in (b"", b"a", b"ab", b"abc", b"abcd", bytes(range(256)), "ключ".encode()):
        assert theirs.murmur2(key) & 0xFFFFFFFF == murmur2(key) & 0xFFFFFFFF

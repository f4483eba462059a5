"""Headers, checksums, rewriting in place, records; examples from Apache's own classes."""

import struct
import zlib

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    iter_headers,
    iter_records,
    read_header,
    stamp_log_append_time,
    stamp_max_timestamp,
    stamp_offset,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec

# As Apache Kafka 2.8.2 writes it: two records, producer 1000.
TWO_RECORDS = bytes.fromhex(
    "0000000000000000 00000049 00000007 02 d417f846 0000 00000001 00000174876e8000 00000174876e800a"
    "00000000000003e8 0001 00000005 00000002"
    "1c 00 00 00 04 6b31 04 7631 02 02 68 02 09 10 00 14 02 01 04 7632 00"
)
COMMIT_MARKER = bytes.fromhex(
    "000000000000000a 00000042 00000003 02 f5e2de90 0030 00000000 00000174876e8000 00000174876e8000"
    "00000000000003e8 0001 ffffffff 00000001 20 00 00 00 08 00000001 0c 000000000004 00"
)
# As Apache Kafka 2.8.2 writes it.
LEGACY_V0 = bytes.fromhex("0000000000000000 00000012 57e7496e 00 00 00000002 6b31 00000002 7631")
LEGACY_V1 = bytes.fromhex("0000000000000000 0000001a 4c891d21 01 00 00000174876e8000 00000002 6b31 00000002 7631")
NOW = 1_600_000_000_000


def batch(count: int = 3, codec: Codec = Codec.NONE, value: bytes | None = b"value", **fields: object) -> bytearray:
    builder = BatchBuilder(codec, **fields)  # type: ignore[arg-type]
    for i in range(count):
        builder.append(NOW + i, b"key", value)
    return bytearray(builder.build())


def with_header(data: bytes, **changes: int) -> bytes:
    """`data` with other header fields and the checksum that fits them."""
    from kafka_py.records.batch import HEADER
    from kafka_py.records.crc32c import crc32c

    changed = bytearray(data)
    HEADER.pack_into(changed, 0, *read_header(data)._replace(**changes))
    struct.pack_into(">I", changed, 17, crc32c(changed[21:]))
    return bytes(changed)


class TestHeader:
    def test_reference_example_reads_field_by_field(self):
        header = read_header(TWO_RECORDS)
        assert header == BatchHeader(
            base_offset=0, batch_length=73, partition_leader_epoch=7, magic=2, crc=0xD417F846, attributes=0,
            last_offset_delta=1, base_timestamp=NOW, max_timestamp=NOW + 10, producer_id=1000, producer_epoch=1,
            base_sequence=5, record_count=2,
        )  # fmt: skip
        assert (header.size_bytes, header.last_offset, header.next_offset) == (85, 1, 2)
        assert header.codec is Codec.NONE
        assert header.timestamp_type is TimestampType.CREATE_TIME
        assert (header.is_transactional, header.is_control, header.has_producer_id) == (False, False, True)
        assert header.last_sequence == 6
        verify_crc(TWO_RECORDS, 0, header)

    def test_control_batch_is_recognised(self):
        header = read_header(COMMIT_MARKER)
        assert (header.is_transactional, header.is_control) == (True, True)
        assert (header.base_offset, header.size_bytes, header.last_sequence) == (10, 78, -1)
        verify_crc(COMMIT_MARKER)

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_any_buffer_at_any_position(self, kind):
        buf = kind(b"xyz" + TWO_RECORDS + b"tail")
        header = read_header(buf, 3)
        assert header.size_bytes == 85
        verify_crc(buf, 3, header)
        assert len(decode_records(buf, 3, header=header)) == 2

    def test_sequences_go_on_at_zero(self):
        header = read_header(TWO_RECORDS)
        assert header._replace(base_sequence=2**31 - 1).last_sequence == 0
        assert header._replace(base_sequence=2**31 - 2).last_sequence == 2**31 - 1

    def test_attribute_bits(self):
        header = read_header(TWO_RECORDS)._replace(attributes=0x3C)
        assert header.codec is Codec.ZSTD
        assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
        assert header.is_transactional and header.is_control

    @pytest.mark.parametrize("codec_id", [5, 6, 7])
    def test_unknown_compression_ids_are_corrupt(self, codec_id):
        header = read_header(TWO_RECORDS)._replace(attributes=codec_id)
        assert header.codec_id == codec_id
        with pytest.raises(CorruptBatch, match=f"id {codec_id} does not exist"):
            _ = header.codec

    @pytest.mark.parametrize("size", range(61))
    def test_a_header_cut_short_is_corrupt(self, size):
        with pytest.raises(CorruptBatch, match="too few"):
            read_header(TWO_RECORDS[:size])

    @pytest.mark.parametrize(
        ("field", "position", "value"),
        [("size", 8, b"\0\0\0\0"), ("size", 8, b"\0\0\0\x0d"), ("size", 8, b"\xff\xff\xff\xff"),
         ("batch length", 8, b"\0\0\0\x30"), ("magic", 16, b"\x03"), ("magic", 16, b"\xff")],
    )  # fmt: skip
    def test_impossible_headers_are_corrupt(self, field, position, value):
        data = bytearray(TWO_RECORDS)
        data[position : position + len(value)] = value
        with pytest.raises(CorruptBatch, match=field) as raised:
            read_header(b"ab" + data, 2)
        assert raised.value.position == 2
        assert "position 2" in str(raised.value)


class TestChecksum:
    def test_every_flipped_bit_below_the_checksum_is_noticed(self):
        for i in range(17, len(TWO_RECORDS)):
            for bit in range(8):
                data = bytearray(TWO_RECORDS)
                data[i] ^= 1 << bit
                with pytest.raises(CorruptBatch, match="checksum"):
                    verify_crc(data)

    def test_a_batch_cut_short_is_corrupt(self):
        for size in range(61, 85):
            with pytest.raises(CorruptBatch, match="has only"):
                verify_crc(TWO_RECORDS[:size])
            with pytest.raises(CorruptBatch, match="has only"):
                decode_records(TWO_RECORDS[:size])

    def test_offset_and_epoch_lie_outside(self):
        data = bytearray(TWO_RECORDS)
        data[0:8] = data[12:16] * 2
        data[12:16] = b"\1\2\3\4"
        verify_crc(data)


class TestStamps:
    def test_offset_and_leader_epoch_need_no_new_checksum(self):
        data = bytearray(b"--") + batch()
        before = read_header(data, 2)
        stamp_offset(memoryview(data), 2, 1 << 40, 9)
        assert read_header(data, 2) == before._replace(base_offset=1 << 40, partition_leader_epoch=9)
        verify_crc(data, 2)

    def test_append_time_replaces_every_timestamp(self):
        data = batch()
        stamp_log_append_time(data, 0, NOW + 1000)
        header = read_header(data)
        assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
        assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 1000)
        verify_crc(data)
        assert [record.timestamp for record in iter_records(data)] == [NOW + 1000] * 3

    def test_create_time_with_another_maximum_keeps_the_other_bits(self):
        data = batch(codec=Codec.GZIP, transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
        stamp_log_append_time(data, 0, NOW + 1000)
        stamp_max_timestamp(data, 0, TimestampType.CREATE_TIME, NOW + 2)
        header = read_header(data)
        assert header.attributes == 0x11
        verify_crc(data)
        assert [record.timestamp for record in iter_records(data)] == [NOW, NOW + 1, NOW + 2]

    def test_nothing_is_written_when_nothing_changes(self):
        data = bytes(batch())
        stamp_max_timestamp(memoryview(data), 0, TimestampType.CREATE_TIME, NOW + 2)  # read-only: a write would raise

    @pytest.mark.parametrize("entry", [LEGACY_V0, LEGACY_V1])
    def test_old_formats_are_refused_and_left_alone(self, entry):
        data = bytearray(entry)
        for stamp in (
            lambda: stamp_offset(data, 0, 1, 1),
            lambda: stamp_log_append_time(data, 0, 1),
        ):
            with pytest.raises(KafkaError) as raised:
                stamp()
            assert raised.value.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
        assert data == entry


class TestIterHeaders:
    def test_every_batch_with_its_position(self):
        data = TWO_RECORDS + COMMIT_MARKER + TWO_RECORDS
        assert [(pos, header.base_offset) for pos, header in iter_headers(data)] == [(0, 0), (85, 10), (163, 0)]
        assert [pos for pos, _ in iter_headers(data, 85)] == [85, 163]
        assert [pos for pos, _ in iter_headers(data, 85, 163)] == [85]

    def test_an_incomplete_tail_is_left_out(self):
        data = TWO_RECORDS + COMMIT_MARKER
        for size in range(85, len(data)):
            assert [pos for pos, _ in iter_headers(data[:size])] == [0]
            assert [pos for pos, _ in iter_headers(data, 0, size)] == [0]
        assert list(iter_headers(b"")) == []

    def test_zeroes_of_a_preallocated_file_end_the_walk_as_corrupt(self):
        headers = iter_headers(TWO_RECORDS + bytes(100))
        assert next(headers)[0] == 0
        with pytest.raises(CorruptBatch, match="size 0") as raised:
            next(headers)
        assert raised.value.position == 85

    def test_an_unknown_magic_is_corrupt_even_in_the_tail(self):
        data = bytearray(TWO_RECORDS)
        data[16] = 9
        with pytest.raises(CorruptBatch, match="magic 9"):
            list(iter_headers(data[:70]))

    def test_old_and_new_formats_mix(self):
        data = LEGACY_V0 + LEGACY_V1 + TWO_RECORDS
        assert [header.magic for _, header in iter_headers(data)] == [0, 1, 2]
        for pos, header in iter_headers(data):
            verify_crc(data, pos, header)


class TestRecords:
    def test_reference_example(self):
        assert decode_records(TWO_RECORDS) == [
            Record(0, NOW, b"k1", b"v1", (("h", b"\x09"),)),
            Record(1, NOW + 10, None, b"v2", ()),
        ]

    def test_keys_and_values_are_copies(self):
        data = bytearray(TWO_RECORDS)
        records = decode_records(memoryview(data))
        data[:] = bytes(len(data))
        assert records[0].key == b"k1"
        assert type(records[0].value) is bytes

    def test_offsets_count_from_the_base(self):
        data = batch()
        stamp_offset(data, 0, 5_000_000_000, 0)
        assert [record.offset for record in iter_records(data)] == [5_000_000_000, 5_000_000_001, 5_000_000_002]

    @pytest.mark.parametrize("codec", list(Codec))
    def test_a_count_that_does_not_fit_is_corrupt(self, codec):
        data = bytes(batch(codec=codec))
        assert len(decode_records(data)) == 3
        for count, reason in ((2, "left after 2"), (4, "end before"), (-1, "count is -1"), (2**31 - 1, "end before")):
            with pytest.raises(CorruptBatch, match=reason):
                decode_records(with_header(data, record_count=count))

    @pytest.mark.parametrize("codec_id", [5, 6, 7])
    def test_records_of_an_unknown_codec_are_corrupt(self, codec_id):
        with pytest.raises(CorruptBatch, match="does not exist"):
            decode_records(with_header(TWO_RECORDS, attributes=codec_id))

    @pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
    def test_records_that_the_codec_cannot_read_are_corrupt(self, codec):
        with pytest.raises(CorruptBatch, match=codec.label):
            decode_records(with_header(TWO_RECORDS, attributes=codec))

    @pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
    def test_records_past_the_limit_are_corrupt(self, codec):
        data = batch(count=1, codec=codec, value=bytes(100_000))
        assert len(decode_records(data, limit=100_016)) == 1
        with pytest.raises(CorruptBatch, match="more than"):
            decode_records(data, limit=100_000)

    def test_an_emptied_batch_has_no_records_whatever_its_codec(self):
        empty = with_header(TWO_RECORDS[:HEADER_SIZE], batch_length=49, record_count=0, attributes=3)
        assert decode_records(empty) == []

    def test_header_keys_that_are_no_text_read_with_a_replacement(self):
        body = bytes.fromhex("00 00 00 01 01 02 04 fffe 01")
        data = bytearray(TWO_RECORDS[:HEADER_SIZE]) + bytes((len(body) * 2,)) + body
        data = with_header(data, batch_length=len(data) - 12, record_count=1)
        assert decode_records(data) == [Record(0, NOW, None, None, (("\ufffd\ufffd", None),))]

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            ("00 00 00 01 01", "end before|does not end"),  # no header count
            ("00 00 00 01 01 00 00", "does not end"),  # a byte too many
            ("00 00 00 08 6b 01 00", "does not end|end before"),  # key longer than the record
            ("00 00 00 01 01 01", "-1 headers"),
            ("00 00 00 01 01 7e", "63 headers"),
            ("00 00 00 01 01 02 01 01", "no key"),
            ("00 00 00 01 01 02 7e 01", "does not end|end before"),
            ("00 ff ff ff ff ff ff ff ff ff ff 01 00 01 01 00", "64 bits goes on"),
            ("00 00 ff ff ff ff ff 01 01 01 00", "32 bits goes on"),
            ("00 00 00 ff ff ff ff 1f 01 00", "more than 32 bits"),
        ],
    )
    def test_records_that_do_not_fit_together_are_corrupt(self, body, reason):
        body = bytes.fromhex(body)
        data = TWO_RECORDS[:HEADER_SIZE] + bytes((len(body) * 2,)) + body
        with pytest.raises(CorruptBatch, match=reason):
            decode_records(with_header(data, batch_length=len(data) - 12, record_count=1))

    def test_a_record_length_that_is_negative_or_too_long_is_corrupt(self):
        for length in ("01", "fe ff ff ff 0f", "10"):
            data = TWO_RECORDS[:HEADER_SIZE] + bytes.fromhex(length + "00 00 00 01 01 00")
            with pytest.raises(CorruptBatch, match="longer than"):
                decode_records(with_header(data, batch_length=len(data) - 12, record_count=1))


class TestLegacy:
    def test_v0_entry_looks_like_a_batch_of_its_size(self):
        header = read_header(LEGACY_V0)
        assert (header.magic, header.base_offset, header.next_offset, header.size_bytes) == (0, 0, 1, 30)
        assert header.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE
        assert (header.max_timestamp, header.producer_id, header.partition_leader_epoch) == (-1, -1, -1)
        assert not (header.is_transactional or header.is_control or header.has_producer_id)
        verify_crc(LEGACY_V0)

    def test_v1_entry_has_a_timestamp(self):
        header = read_header(LEGACY_V1)
        assert (header.magic, header.size_bytes, header.max_timestamp, header.record_count) == (1, 38, NOW, -1)
        assert header.timestamp_type is TimestampType.CREATE_TIME
        verify_crc(LEGACY_V1)

    @pytest.mark.parametrize("entry", [LEGACY_V0, LEGACY_V1])
    def test_its_checksum_is_checked(self, entry):
        for i in range(12, len(entry)):
            if i == 16:
                continue
            data = bytearray(entry)
            data[i] ^= 1
            with pytest.raises(CorruptBatch, match="checksum"):
                verify_crc(data)

    @pytest.mark.parametrize("entry", [LEGACY_V0, LEGACY_V1])
    def test_its_records_are_refused_with_the_protocols_error(self, entry):
        for read in (decode_records, iter_records):
            with pytest.raises(KafkaError) as raised:
                read(entry)
            assert raised.value.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT

    @pytest.mark.parametrize(("magic", "smallest"), [(0, 14), (1, 22)])
    def test_an_entry_below_the_smallest_size_is_corrupt(self, magic, smallest):
        """W5.4's rule: a v0 record shorter than 14 bytes must be rejected."""
        body = bytes((magic, 0)) + bytes(smallest - 6)

        def entry(body: bytes) -> bytes:
            return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body

        verify_crc(entry(body))
        with pytest.raises(CorruptBatch, match="below"):
            read_header(entry(body[:-1]) + bytes(40))

    @pytest.mark.parametrize(("entry", "head"), [(LEGACY_V0, 18), (LEGACY_V1, 26)])
    def test_its_head_cut_short_is_corrupt(self, entry, head):
        for size in range(head):
            with pytest.raises(CorruptBatch, match="too few"):
                read_header(entry[:size])
        read_header(entry[:head])

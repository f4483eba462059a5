"""Codecs: the bytes of Apache Kafka 2.8.2, what others may send, and what must be refused."""

import gzip
import random
import struct
import tracemalloc
import zlib

import pytest

from kafka_py.records.compression import Codec, DecompressionError, compress, decompress

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"a line of text that repeats itself, more or less\n" * 5000
NOISE = random.Random(1).randbytes(200_000)
RECORD = bytes.fromhex("10000000026102620 0".replace(" ", ""))  # a=b, 9 bytes


class TestAll:
    @pytest.mark.parametrize("codec", list(Codec))
    @pytest.mark.parametrize("data", [b"", b"x", RECORD, TEXT, NOISE, NOISE[:32768], NOISE[:32769], bytes(1_000_000)])
    def test_round_trip(self, codec, data):
        for kind in (bytes, bytearray, memoryview):
            assert decompress(codec, compress(codec, kind(data))) == data

    @pytest.mark.parametrize("codec", CODECS)
    def test_a_stream_cut_short_is_refused(self, codec):
        data = compress(codec, TEXT[:70_000] + NOISE[:70_000])
        for size in [*range(40), *range(40, len(data), 997), len(data) - 5, len(data) - 1]:
            try:
                got = decompress(codec, data[:size])
            except DecompressionError:
                continue
            # Block boundaries of a xerial stream, and nothing at all, look whole: the record count finds those out.
            assert codec in (Codec.SNAPPY, Codec.ZSTD)
            assert len(got) < 140_000

    @pytest.mark.parametrize("codec", CODECS)
    def test_garbage_behind_the_stream_is_refused(self, codec):
        for garbage in (b"\x01", b"garbage that goes on"):
            with pytest.raises(DecompressionError, match=codec.label):
                decompress(codec, compress(codec, TEXT) + garbage)

    @pytest.mark.parametrize("codec", CODECS)
    def test_a_bomb_fails_at_the_limit(self, codec):
        bomb = compress(codec, bytes(50_000_000))
        with pytest.raises(DecompressionError, match="holds more than 1000000 bytes"):
            decompress(codec, bomb, 1_000_000)

    @pytest.mark.parametrize("codec", CODECS)
    def test_the_limit_is_inclusive(self, codec):
        data = compress(codec, TEXT)
        assert decompress(codec, data, len(TEXT)) == TEXT
        with pytest.raises(DecompressionError, match="more than"):
            decompress(codec, data, len(TEXT) - 1)

    @pytest.mark.parametrize("codec", CODECS)
    def test_flipped_bytes_are_refused_or_read_but_nothing_else(self, codec):
        chance = random.Random(codec)
        data = compress(codec, TEXT[:2000] + NOISE[:500])
        for _ in range(500):
            broken = bytearray(data)
            broken[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            try:
                decompress(codec, bytes(broken), 10_000)
            except DecompressionError:
                pass

    @pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
    def test_levels(self, codec):
        assert decompress(codec, compress(codec, TEXT, 9)) == TEXT

    def test_names(self):
        assert [codec.label for codec in Codec] == ["none", "gzip", "snappy", "lz4", "zstd"]
        assert all(Codec.named(codec.label) is codec for codec in Codec)
        for name in ("producer", "uncompressed", "GZIP", ""):
            with pytest.raises(ValueError, match="is no codec"):
                Codec.named(name)


class TestGzip:
    def test_header_has_no_name_and_no_time(self):
        data = compress(Codec.GZIP, RECORD)
        assert data[:8] == bytes.fromhex("1f8b 08 00 00000000")
        assert gzip.decompress(data) == RECORD

    def test_members_in_a_row_are_joined(self):
        assert decompress(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")) == b"one two"

    def test_the_checksum_is_checked(self):
        data = bytearray(compress(Codec.GZIP, RECORD))
        data[-8] ^= 1
        with pytest.raises(DecompressionError):
            decompress(Codec.GZIP, bytes(data))

    def test_a_plain_deflate_stream_is_refused(self):
        with pytest.raises(DecompressionError):
            decompress(Codec.GZIP, zlib.compress(RECORD))

    def test_members_without_number_are_refused(self):
        with pytest.raises(DecompressionError, match="members"):
            decompress(Codec.GZIP, gzip.compress(b"x") * 101)


class TestSnappy:
    # As Apache Kafka 2.8.2 writes it.
    REFERENCE = bytes.fromhex("82534e4150505900 00000001 00000001 0000000b 09201000000002610262 00")
    HEADER = REFERENCE[:16]

    def test_reference_example_both_ways(self):
        assert decompress(Codec.SNAPPY, self.REFERENCE) == RECORD
        assert compress(Codec.SNAPPY, RECORD) == self.REFERENCE

    def test_blocks_hold_32_kib_of_input(self):
        data = compress(Codec.SNAPPY, NOISE[:70_000])
        sizes = []
        pos = 16
        while pos < len(data):
            sizes.append(struct.unpack_from(">i", data, pos)[0])
            pos += 4 + sizes[-1]
        assert len(sizes) == 3

    def test_a_payload_without_the_magic_is_one_raw_block(self):
        assert decompress(Codec.SNAPPY, self.REFERENCE[20:]) == RECORD

    def test_concatenated_streams_repeat_the_header(self):
        assert decompress(Codec.SNAPPY, self.REFERENCE * 3) == RECORD * 3
        assert decompress(Codec.SNAPPY, self.HEADER * 2 + self.REFERENCE[16:] + self.HEADER) == RECORD

    def test_a_broken_header_is_refused(self):
        for broken in (
            self.HEADER[:8],
            self.HEADER[:15],
            self.HEADER[:8] + bytes(8),
            self.REFERENCE + b"\x82SNAPPX\0" + self.REFERENCE[8:],
        ):
            with pytest.raises(DecompressionError, match=r"header is broken|version"):
                decompress(Codec.SNAPPY, broken)

    @pytest.mark.parametrize("length", [-1, -(2**31), 12, 2**31 - 1])
    def test_block_lengths_that_do_not_fit_are_refused(self, length):
        with pytest.raises(DecompressionError, match="block length"):
            decompress(Codec.SNAPPY, self.HEADER + struct.pack(">i", length) + self.REFERENCE[20:])

    def test_a_block_that_claims_what_it_cannot_hold_is_refused(self):
        for claim in (b"\xff\xff\xff\x7f", b"\xff\xff\x7f"):
            with pytest.raises(DecompressionError, match=r"cannot hold|more than"):
                decompress(Codec.SNAPPY, claim + b"\x00a")
        with pytest.raises(DecompressionError, match="no size"):
            decompress(Codec.SNAPPY, b"\xff" * 6)

    def test_the_densest_block_there_is_passes(self):
        # One literal byte, then copies of 64 bytes from distance 1, three bytes each.
        copies = 5000
        size = 1 + 64 * copies
        varint = bytes((size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14))
        assert decompress(Codec.SNAPPY, varint + b"\x00a" + b"\xfe\x01\x00" * copies) == b"a" * size


class TestLz4:
    DATA = TEXT[:100]

    def frame(self, data: bytes = DATA, **options: object) -> bytes:
        import lz4.frame

        options = {"block_linked": False, "store_size": False, **options}
        return lz4.frame.compress(data, **options)

    def test_frame_header_is_that_of_the_reference(self):
        assert compress(Codec.LZ4, self.DATA)[:7] == bytes.fromhex("04224d18 604082")

    def test_format_0_has_the_historic_checksum_which_is_not_checked(self):
        data = compress(Codec.LZ4, self.DATA, magic=0)
        assert data[:7] == bytes.fromhex("04224d18 60401a")
        assert decompress(Codec.LZ4, data, magic=0) == self.DATA
        assert decompress(Codec.LZ4, compress(Codec.LZ4, self.DATA), magic=0) == self.DATA
        for magic in (1, 2):
            with pytest.raises(DecompressionError, match="header checksum"):
                decompress(Codec.LZ4, data, magic=magic)

    @pytest.mark.parametrize(
        "options",
        [{"store_size": True}, {"content_checksum": True}, {"block_checksum": True}, {"block_size": 7},
         {"store_size": True, "content_checksum": True, "block_checksum": True, "block_size": 5}],
    )  # fmt: skip
    def test_what_other_writers_add_is_read(self, options):
        for data in (self.DATA, TEXT, NOISE, b""):
            assert decompress(Codec.LZ4, self.frame(data, **options)) == data

    def test_a_content_checksum_is_skipped_not_checked(self):
        data = bytearray(self.frame(content_checksum=True))
        data[-1] ^= 0xFF
        assert decompress(Codec.LZ4, bytes(data)) == self.DATA

    def test_a_content_size_is_skipped_not_checked(self):
        from kafka_py.records.lz4_frames import xxhash32

        data = bytearray(self.frame(store_size=True))
        data[6:14] = struct.pack("<Q", 2**40)
        data[14] = xxhash32(bytes(data[4:14])) >> 8 & 0xFF
        assert decompress(Codec.LZ4, bytes(data)) == self.DATA

    def test_block_checksums_are_checked(self):
        data = bytearray(self.frame(block_checksum=True))
        data[-5] ^= 1
        with pytest.raises(DecompressionError):
            decompress(Codec.LZ4, bytes(data))

    def test_blocks_that_depend_on_each_other_are_refused(self):
        with pytest.raises(DecompressionError, match="depend"):
            decompress(Codec.LZ4, self.frame(TEXT, block_linked=True))

    @pytest.mark.parametrize(
        "descriptor", ["a040", "2040", "6240", "6140", "60c0", "6048", "6041", "6030", "6000"],
    )  # fmt: skip
    def test_versions_reserved_bits_and_dictionaries_are_refused(self, descriptor):
        data = bytes.fromhex("04224d18" + descriptor) + self.frame()[6:]
        with pytest.raises(DecompressionError, match="not supported"):
            decompress(Codec.LZ4, data, magic=0)

    def test_a_stored_block_is_read(self):
        data = bytes.fromhex("04224d18 604082") + struct.pack("<I", 0x80000003) + b"abc" + bytes(4)
        assert decompress(Codec.LZ4, data) == b"abc"

    def test_a_block_larger_than_the_frame_allows_is_refused(self):
        for size in (65537, 0x7FFFFFFF):
            data = bytes.fromhex("04224d18 604082") + struct.pack("<I", 0x80000000 | size) + bytes(65537) + bytes(4)
            with pytest.raises(DecompressionError):
                decompress(Codec.LZ4, data)

    def test_the_header_checksum_agrees_with_the_library_for_every_header(self):
        from kafka_py.records.lz4_frames import xxhash32

        assert xxhash32(b"") == 0x02CC5D05
        for options in ({}, {"store_size": True}, {"block_size": 6, "content_checksum": True}):
            frame = self.frame(**options)
            end = 14 if options.get("store_size") else 6
            assert frame[end] == xxhash32(frame[4:end]) >> 8 & 0xFF


class TestZstd:
    # As Apache Kafka 2.8.2 writes it: a streamed frame, its last block empty.
    REFERENCE = bytes.fromhex("28b52ffd 0058 480000 10000000026102 6200 010000")

    def test_reference_example_reads(self):
        assert decompress(Codec.ZSTD, self.REFERENCE) == RECORD

    def test_frames_in_a_row_with_and_without_size_are_joined(self):
        whole = compress(Codec.ZSTD, TEXT)
        assert decompress(Codec.ZSTD, self.REFERENCE + whole + self.REFERENCE) == RECORD + TEXT + RECORD

    def test_empty_frames_without_a_size_hold_nothing(self):
        empty = bytes.fromhex("28b52ffd 0000 010000")
        whole = compress(Codec.ZSTD, TEXT)
        assert decompress(Codec.ZSTD, empty) == b""
        assert decompress(Codec.ZSTD, empty + whole + empty, len(TEXT)) == TEXT

    def test_skippable_frames_are_skipped(self):
        skippable = bytes.fromhex("532a4d18 05000000") + b"hello"
        assert decompress(Codec.ZSTD, skippable + self.REFERENCE + skippable) == RECORD
        with pytest.raises(DecompressionError, match="cut short"):
            decompress(Codec.ZSTD, self.REFERENCE + skippable[:-1])

    @pytest.mark.parametrize("data", [b"", RECORD, TEXT, NOISE, bytes(3_000_000), TEXT + NOISE + bytes(500_000)])
    @pytest.mark.parametrize("checksum", [False, True])
    def test_streamed_frames_of_any_size(self, data, checksum):
        import zstandard

        compressor = zstandard.ZstdCompressor(level=3, write_checksum=checksum).compressobj()
        streamed = b"".join(compressor.compress(data[i : i + 10_000]) for i in range(0, len(data), 10_000))
        streamed += compressor.flush()
        assert decompress(Codec.ZSTD, streamed) == data
        with pytest.raises(DecompressionError, match="cut short"):
            decompress(Codec.ZSTD, streamed[:-1])

    def test_a_streamed_bomb_fails_at_the_limit(self):
        import zstandard

        compressor = zstandard.ZstdCompressor().compressobj()
        bomb = compressor.compress(bytes(20_000_000)) + compressor.flush()
        with pytest.raises(DecompressionError):
            decompress(Codec.ZSTD, bomb, 1_000_000)
        assert len(decompress(Codec.ZSTD, bomb, 20_000_000)) == 20_000_000

    def test_a_size_that_the_blocks_cannot_hold_is_refused_before_it_is_allocated(self):
        # Single segment, 8-byte content size of 200 MB, one empty last block.
        data = bytes.fromhex("28b52ffd e0") + struct.pack("<Q", 200_000_000) + bytes.fromhex("010000")
        with pytest.raises(DecompressionError, match="more than the blocks can hold"):
            decompress(Codec.ZSTD, data)

    def test_a_reserved_block_type_is_refused(self):
        with pytest.raises(DecompressionError, match="reserved"):
            decompress(Codec.ZSTD, bytes.fromhex("28b52ffd 0058 070000"))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
def test_the_limit_is_one_for_all_streams_in_a_row(codec):
    data = compress(codec, bytes(1_000_000)) * 40
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionError):
            decompress(codec, data, 1_500_000)
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()

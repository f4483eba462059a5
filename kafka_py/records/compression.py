"""The codecs of record batches: gzip, snappy, lz4, zstd; each library is imported on first use.

`compress` and `decompress` are for whole record sections. They hold no state, so any thread may call them, and the
libraries let other threads run meanwhile. What comes out is bounded: a few bytes can claim, or be, gigabytes.
Source: docs/reference/record-formats.md, section 5.
"""

import zlib
from collections.abc import Callable
from enum import IntEnum
from struct import Struct

from kafka_py.records import lz4_frames, zstd_frames

MiB = 1024 * 1024
DEFAULT_LIMIT = 256 * MiB


class Codec(IntEnum):
    """Ids as in the attributes of a batch; 5 to 7 do not exist."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def label(self) -> str:
        """The name in `compression.type`."""
        return self.name.lower()

    @classmethod
    def named(cls, label: str) -> "Codec":
        """The codec of a `compression.type`; ValueError for `producer`, `uncompressed` and what does not exist."""
        for codec in cls:
            if codec.label == label:
                return codec
        raise ValueError(f"{label!r} is no codec; there are {', '.join(codec.label for codec in cls)}")


class DecompressionError(ValueError):
    """Compressed bytes that are broken, cut short, or hold more than the limit."""

    def __init__(self, codec: Codec, reason: str) -> None:
        super().__init__(f"{codec.label}: {reason}")


class LimitExceeded(DecompressionError):
    """Compressed bytes that hold more than the limit; with zstd they may be broken instead."""


def compress(codec: Codec, data: bytes | bytearray | memoryview, level: int | None = None, *, magic: int = 2) -> bytes:
    """`data` compressed.

    level: the library's own scale; None is Kafka's default. Snappy has none.
    magic: of the format it is for; lz4 differs in format 0.
    """
    return _COMPRESS[codec](data, level, magic)


def decompress(
    codec: Codec, data: bytes | bytearray | memoryview, limit: int = DEFAULT_LIMIT, *, magic: int = 2
) -> bytes:
    """`data` decompressed: all of it. Raises LimitExceeded beyond `limit`, DecompressionError for broken data.

    limit: bytes that may come out; nothing much larger is ever allocated.
    magic: of the format it is from; lz4 differs in format 0.
    """
    try:
        out = _DECOMPRESS[codec](bytes(data), limit, magic)
    except OverflowError as e:
        raise LimitExceeded(codec, str(e)) from e
    except (zlib.error, ValueError, RuntimeError) as e:
        raise DecompressionError(codec, str(e)) from e
    if len(out) > limit:
        raise LimitExceeded(codec, f"it holds more than {limit} bytes")
    return out


def _compress_none(data: bytes | bytearray | memoryview, level: int | None, magic: int) -> bytes:
    return bytes(data)


def _decompress_none(data: bytes, limit: int, magic: int) -> bytes:
    return data


# zlib's window bits: 15, plus 16 for the gzip header and trailer.
_GZIP_WINDOW = 31
# What follows a member is copied once per member, so many tiny ones would take quadratic time.
_GZIP_MAX_MEMBERS = 100


def _compress_gzip(data: bytes | bytearray | memoryview, level: int | None, magic: int) -> bytes:
    compressor = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_WINDOW)
    return compressor.compress(data) + compressor.flush()


def _decompress_gzip(data: bytes, limit: int, magic: int) -> bytes:
    """All members, should there be several."""
    parts: list[bytes] = []
    left = limit + 1
    for _ in range(_GZIP_MAX_MEMBERS):
        decompressor = zlib.decompressobj(_GZIP_WINDOW)
        part = decompressor.decompress(data, left)
        parts.append(part)
        left -= len(part)
        data = decompressor.unused_data
        if left > 0 and not decompressor.eof:
            raise ValueError("the stream is cut short")
        if left <= 0 or not data:
            return parts[0] if len(parts) == 1 else b"".join(parts)
    raise ValueError(f"it has more than {_GZIP_MAX_MEMBERS} members")


XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_SIZE = 32 * 1024
_INT32 = Struct(">i")
# The magic's first four bytes where a block length is expected: another stream was appended.
_XERIAL_MAGIC_AS_LENGTH = _INT32.unpack_from(XERIAL_MAGIC)[0]
# No element of a snappy block expands more (64 bytes from a 3-byte copy), so a larger claim is a lie.
_SNAPPY_MAX_RATIO = 22


def _compress_snappy(data: bytes | bytearray | memoryview, level: int | None, magic: int) -> bytes:
    import snappy

    out = [_XERIAL_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK_SIZE):
        block = snappy.compress(bytes(view[start : start + _XERIAL_BLOCK_SIZE]))
        out += (_INT32.pack(len(block)), block)
    return b"".join(out)


def _decompress_snappy(data: bytes, limit: int, magic: int) -> bytes:
    """Without the xerial magic the payload is one raw block: some producers send that."""
    if not data.startswith(XERIAL_MAGIC):
        return _snappy_block(data, limit, limit)
    parts: list[bytes] = []
    left = limit
    pos = 0
    while pos < len(data):
        if pos + 4 > len(data):
            raise ValueError("a block length is cut short")
        length = _INT32.unpack_from(data, pos)[0]
        if length == _XERIAL_MAGIC_AS_LENGTH:
            pos = _skip_xerial_header(data, pos)
            continue
        pos += 4
        if not 0 <= length <= len(data) - pos:
            raise ValueError(f"block length {length}, {len(data) - pos} bytes left")
        part = _snappy_block(data[pos : pos + length], left, limit)
        parts.append(part)
        left -= len(part)
        pos += length
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _skip_xerial_header(data: bytes, pos: int) -> int:
    if not data.startswith(XERIAL_MAGIC, pos) or len(data) < pos + len(_XERIAL_HEADER):
        raise ValueError("a stream header is broken")
    if _INT32.unpack_from(data, pos + 8)[0] < 1:
        raise ValueError("the stream's version is not supported")
    return pos + len(_XERIAL_HEADER)


def _snappy_block(block: bytes, left: int, limit: int) -> bytes:
    """One raw block, of which `left` of the `limit` bytes may come out."""
    import snappy

    size = _snappy_size(block)
    if size > left:
        raise OverflowError(f"it holds more than {limit} bytes")
    if size > _SNAPPY_MAX_RATIO * len(block):
        raise ValueError(f"{len(block)} bytes cannot hold {size}")
    try:
        return bytes(snappy.uncompress(block))
    except snappy.UncompressError as e:
        raise ValueError("a block is broken") from e


def _snappy_size(block: bytes) -> int:
    """The decompressed size that a raw block opens with, an unsigned varint."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise ValueError("a block has no size")


def _compress_lz4(data: bytes | bytearray | memoryview, level: int | None, magic: int) -> bytes:
    return lz4_frames.compress_frame(data, level, old_checksum=magic == 0)


def _decompress_lz4(data: bytes, limit: int, magic: int) -> bytes:
    return lz4_frames.decompress_frame(data, limit, check_header=magic != 0)


_ZSTD_LEVEL = 3


def _compress_zstd(data: bytes | bytearray | memoryview, level: int | None, magic: int) -> bytes:
    import zstandard

    return bytes(zstandard.ZstdCompressor(level=_ZSTD_LEVEL if level is None else level).compress(data))


def _decompress_zstd(data: bytes, limit: int, magic: int) -> bytes:
    import zstandard

    try:
        return zstd_frames.decompress_frames(data, limit)
    except zstandard.ZstdError as e:
        raise ValueError(str(e)) from e


_COMPRESS: dict[Codec, Callable[[bytes | bytearray | memoryview, int | None, int], bytes]] = {
    Codec.NONE: _compress_none,
    Codec.GZIP: _compress_gzip,
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: _compress_zstd,
}
_DECOMPRESS: dict[Codec, Callable[[bytes, int, int], bytes]] = {
    Codec.NONE: _decompress_none,
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}

"""LZ4 frames as Kafka's formats hold them, written and read by Kafka's rules rather than by the library's.

The rules: one frame, version 1, independent blocks, no dictionary; a content size is skipped and a content checksum
not looked at, while block checksums are. Format 0 has a historic mistake: its writers took the header checksum over
the magic number too, so for that format the wrong byte is written and none is checked (KIP-57). The library is handed
a frame whose header is normalised: its own stricter or laxer rules never apply.

Layout: magic 04 22 4d 18, FLG, BD, [content size u64], header checksum; blocks: u32 little-endian length (high bit:
stored as is), bytes, [block checksum u32]; end mark u32 0; [content checksum u32].
"""

import struct
from typing import NamedTuple

MAGIC = b"\x04\x22\x4d\x18"

_VERSION_MASK = 0xC0
_VERSION_1 = 0x40
_INDEPENDENT = 0x20
_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_CONTENT_CHECKSUM = 0x04
_RESERVED = 0x02
_DICTIONARY = 0x01
_BD_RESERVED = 0x8F

_U32 = struct.Struct("<I")
_END_MARK = bytes(4)
# By the number in BD.
_MAX_BLOCK_SIZE = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}


class MalformedLz4Frame(ValueError):
    """Not a frame that Kafka's readers accept."""


def compress_frame(data: bytes | bytearray | memoryview, level: int | None, *, old_checksum: bool = False) -> bytes:
    """One frame of independent 64 KiB blocks without checksums.

    old_checksum: with the wrong header checksum that format 0 asks for.
    """
    import lz4.frame

    frame: bytes = lz4.frame.compress(
        data,
        compression_level=0 if level is None else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        content_checksum=False,
        store_size=False,
    )
    if old_checksum:
        frame = frame[:6] + bytes((_header_checksum(frame[:6]),)) + frame[7:]
    return frame


def decompress_frame(data: bytes, limit: int, *, check_header: bool = True) -> bytes:
    """What the one frame that fills `data` holds; past `limit` bytes, some `limit` + 1 of them.

    check_header: False for format 0.
    Raises MalformedLz4Frame for a broken frame, and the library's RuntimeError for a broken block.
    """
    import lz4.frame

    frame = _measure(data, check_header)
    if frame.end != len(data):
        raise MalformedLz4Frame(f"{len(data) - frame.end} bytes follow the frame")
    decompressor = lz4.frame.LZ4FrameDecompressor()
    max_length = min(limit, frame.max_content_size) + 1
    out: bytes = decompressor.decompress(frame.normalised, max_length=max_length)
    if not decompressor.eof and len(out) <= limit:
        raise MalformedLz4Frame("the blocks hold more than they may, or the frame is cut short")
    return out


class _Frame(NamedTuple):
    """normalised: the frame without content size and content checksum, its header checksum right.
    max_content_size: what its blocks can hold at most. end: where it ends in the data, exclusive."""

    normalised: bytes
    max_content_size: int
    end: int


def _measure(data: bytes, check_header: bool) -> _Frame:
    """The frame that `data` opens with."""
    if len(data) < 7 or not data.startswith(MAGIC):
        raise MalformedLz4Frame("no frame magic")
    flg, bd = data[4], data[5]
    if flg & _VERSION_MASK != _VERSION_1 or flg & (_RESERVED | _DICTIONARY) or bd & _BD_RESERVED or bd < 0x40:
        raise MalformedLz4Frame(f"frame descriptor {flg:02x} {bd:02x} is not supported")
    if not flg & _INDEPENDENT:
        raise MalformedLz4Frame("blocks depend on each other")
    pos = 14 if flg & _CONTENT_SIZE else 6
    if len(data) <= pos:
        raise MalformedLz4Frame("the frame is cut short")
    if check_header and data[pos] != _header_checksum(data[4:pos]):
        raise MalformedLz4Frame("the header checksum is wrong")
    start = pos + 1
    blocks, blocks_end = _walk_blocks(data, start, block_extra=4 if flg & _BLOCK_CHECKSUM else 0)
    end = blocks_end + (8 if flg & _CONTENT_CHECKSUM else 4)
    if end > len(data):
        raise MalformedLz4Frame("the frame is cut short")
    descriptor = bytes((flg & ~(_CONTENT_SIZE | _CONTENT_CHECKSUM), bd))
    header = MAGIC + descriptor + bytes((_header_checksum(descriptor),))
    return _Frame(header + data[start:blocks_end] + _END_MARK, blocks * _MAX_BLOCK_SIZE[bd >> 4], end)


def _walk_blocks(data: bytes, pos: int, block_extra: int) -> tuple[int, int]:
    """(how many blocks there are from `pos` on, where the end mark behind them is)."""
    blocks = 0
    while True:
        if pos + 4 > len(data):
            raise MalformedLz4Frame("the frame is cut short")
        length = _U32.unpack_from(data, pos)[0]
        if length == 0:
            return blocks, pos
        pos += 4 + (length & 0x7FFFFFFF) + block_extra
        blocks += 1


def _header_checksum(descriptor: bytes) -> int:
    return xxhash32(descriptor) >> 8 & 0xFF


_PRIME1, _PRIME2, _PRIME3, _PRIME4, _PRIME5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_MASK = 0xFFFFFFFF


def xxhash32(data: bytes) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes, which a frame header always has."""
    h = _PRIME5 + len(data)
    tail = len(data) & ~3
    for (word,) in _U32.iter_unpack(data[:tail]):
        h = _rotate(h + word * _PRIME3 & _MASK, 17) * _PRIME4 & _MASK
    for byte in data[tail:]:
        h = _rotate(h + byte * _PRIME5 & _MASK, 11) * _PRIME1 & _MASK
    h = (h ^ h >> 15) * _PRIME2 & _MASK
    h = (h ^ h >> 13) * _PRIME3 & _MASK
    return h ^ h >> 16


def _rotate(h: int, bits: int) -> int:
    return (h << bits | h >> 32 - bits) & _MASK

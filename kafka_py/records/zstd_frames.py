"""Zstandard frames: where each ends and how much it can hold at most, from its block headers alone.

A payload may be several frames in a row, and a streamed frame does not say how much it holds. The library's one-shot
call needs a bound for that, and its streaming calls do not say when the input was cut short; so the frames are
measured first. Source: RFC 8878, section 3.1.

Layout: magic 28 b5 2f fd, descriptor byte, [window byte], [dictionary id], [content size]; blocks: u24 little-endian
(bit 0 last, bits 1-2 type, rest size), bytes; [checksum u32].
"""

from collections.abc import Iterator
from typing import NamedTuple

FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"
MAX_BLOCK_SIZE = 128 * 1024

_RAW, _RLE, _COMPRESSED = 0, 1, 2
_DICTIONARY_ID_SIZE = (0, 1, 2, 4)
_CONTENT_SIZE_SIZE = (0, 2, 4, 8)


class MalformedZstdFrame(ValueError):
    """Not a sequence of whole frames."""


class FrameExtent(NamedTuple):
    """Where one frame lies (end exclusive), and a bound on what it holds when decompressed."""

    start: int
    end: int
    max_content_size: int


def decompress_frames(data: bytes, limit: int) -> bytes:
    """What the frames that fill `data` hold, joined.

    Raises OverflowError past `limit` bytes, MalformedZstdFrame, and the library's ZstdError for a broken block. A frame
    that does not state its size and fails within `limit` bytes raises OverflowError too: it may be either.
    """
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    parts: list[bytes] = []
    left = limit
    for start, end, max_content_size in iter_frames(data):
        frame = memoryview(data)[start:end]
        stated = zstandard.get_frame_parameters(frame).content_size
        is_cut = False
        if stated == zstandard.CONTENTSIZE_UNKNOWN:
            if not max_content_size:  # nothing can come out, and for the library a bound of 0 is none
                continue
            stated = min(max_content_size, left)
            is_cut = stated < max_content_size
        if stated > max_content_size:
            raise MalformedZstdFrame(f"content size {stated} is more than the blocks can hold")
        if stated > left:
            raise OverflowError(f"it holds more than {limit} bytes")
        try:
            part = decompressor.decompress(frame, max_output_size=stated)
        except zstandard.ZstdError as error:
            if is_cut:
                raise OverflowError(f"it is broken or holds more than {limit} bytes: {error}") from error
            raise
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def iter_frames(data: bytes) -> Iterator[FrameExtent]:
    """The frames that fill `data`, skippable ones left out. Raises MalformedZstdFrame when the last is cut short."""
    pos = 0
    while pos < len(data):
        if data[pos + 1 : pos + 4] == _SKIPPABLE_MAGIC and data[pos] & 0xF0 == 0x50:
            pos += 8 + int.from_bytes(data[pos + 4 : pos + 8], "little")
            if pos > len(data):
                raise MalformedZstdFrame("a skippable frame is cut short")
            continue
        try:
            frame = _measure_frame(data, pos)
        except IndexError:
            raise MalformedZstdFrame("a frame is cut short") from None
        if frame.end > len(data):
            raise MalformedZstdFrame("a frame is cut short")
        yield frame
        pos = frame.end


def _measure_frame(data: bytes, start: int) -> FrameExtent:
    """The extent of the frame at `start`; may end past the data. IndexError where a header is cut short."""
    if data[start : start + 4] != FRAME_MAGIC:
        raise MalformedZstdFrame("no frame magic")
    descriptor = data[start + 4]
    single_segment = descriptor >> 5 & 1
    pos = start + 5 + (1 - single_segment) + _DICTIONARY_ID_SIZE[descriptor & 3]
    pos += _CONTENT_SIZE_SIZE[descriptor >> 6] or single_segment
    content = 0
    last = 0
    while not last:
        header = data[pos] | data[pos + 1] << 8 | data[pos + 2] << 16
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        pos += 3
        if kind == _RAW:
            pos += size
            content += size
        elif kind == _RLE:
            pos += 1
            content += size
        elif kind == _COMPRESSED:
            pos += size
            content += MAX_BLOCK_SIZE
        else:
            raise MalformedZstdFrame("a block has the reserved type")
    return FrameExtent(start, pos + (descriptor & 4), content)

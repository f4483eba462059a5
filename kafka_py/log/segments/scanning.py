"""Iteration over the batches of a .log file: headers only to find an offset, or whole batches to check and replay.

Knows a file and a range of it, but no segments. Formats 0 and 1 are read like format 2: offset, size and magic byte are
at the same positions.
Source: docs/reference/record-formats.md, sections 1 and 4; docs/reference/log.md, section 13.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from kafka_py.log.disk.files import File
from kafka_py.records.batch import (
    LOG_OVERHEAD,
    MAGIC,
    SIZE_UP_TO_MAGIC,
    BatchHeader,
    CorruptBatch,
    OversizedBatch,
    read_header,
)
from kafka_py.records.legacy_records import read_records

_PLACE = Struct(">qi4xb6xi")
"""Base offset, size, magic, last offset delta; formats 0 and 1 have other data in place of the last one."""
_BEGINNING = Struct(">qi4xb")
BATCH_START = 61
"""Bytes at the start of a batch that a scan reads."""
_SMALLEST_SIZE_FIELD = 14
_READ_TO_VERIFY = 1 << 16
"""Bytes of a wrapper that is decompressed to verify an index entry; a larger one is trusted."""
HEADERS_AT_ONCE = 8192
"""Bytes that a scan reads at once: more than there are between two index entries, unless batches are large."""
_BATCHES_AT_ONCE = 1 << 20


class BatchPlace(NamedTuple):
    """Position and size of a batch in its file, and its base and last offset (inclusive)."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int


class Bounds(NamedTuple):
    """Lowest and highest base offset that a batch may have, both inclusive.

    may_wrap: whether it may also be a wrapper that begins with the highest: its header has its last offset, and
    versions before 0.11 indexed it by its first one.
    """

    lowest: int
    highest: int
    may_wrap: bool = False


class NoBatchThere(Exception):
    """No batch begins at the given position."""


def find_batch(
    file: File,
    position: int,
    end: int,
    offset: int,
    *,
    begins_within: Bounds | None = None,
    first_read: int = HEADERS_AT_ONCE,
) -> BatchPlace | None:
    """The first batch of [position, end) whose last offset is >= `offset`; None when all are below it.

    begins_within: of the batch at `position`.
    first_read: BATCH_START if the batch at `position` is probably large and contains `offset`.
    Raises CorruptBatch for an impossible size, also one beyond `end`: a reader would otherwise go on in the next
    segment and never know of the batches left out. Raises NoBatchThere when the batch is not within `begins_within`.
    """
    if begins_within is not None and (position < 0 or end - position < SIZE_UP_TO_MAGIC):
        raise NoBatchThere
    while end - position >= SIZE_UP_TO_MAGIC:
        chunk = file.read(min(first_read, end - position), position)
        first_read = HEADERS_AT_ONCE
        if begins_within is not None:
            if not _begins_batch(file, position, chunk, end - position, begins_within):
                raise NoBatchThere
            begins_within = None
        if len(chunk) < SIZE_UP_TO_MAGIC:
            raise CorruptBatch("the file is shorter than it was", position)
        at, last_at = 0, len(chunk) - BATCH_START
        chunk = chunk.ljust(_PLACE.size, b"\0")
        while True:
            base_offset, size, magic, last_offset_delta = _PLACE.unpack_from(chunk, at)
            if size < _SMALLEST_SIZE_FIELD:
                raise CorruptBatch(f"size {size} is below {_SMALLEST_SIZE_FIELD}", position + at)
            size += LOG_OVERHEAD
            if end - position - at < size:
                raise CorruptBatch("a batch reaches beyond the end of the file", position + at)
            last_offset = base_offset + last_offset_delta if magic >= 2 else base_offset
            if last_offset >= offset:
                return BatchPlace(position + at, size, base_offset, last_offset)
            at += size
            if at > last_at:
                break
        position += at
    if position != end:
        raise CorruptBatch("a batch reaches beyond the end of the file", position)
    return None


def begins_batch(file: File, position: int, end: int, bounds: Bounds) -> bool:
    """Whether a batch of [position, end) with a base offset within the bounds begins at `position`."""
    if position < 0 or end - position < SIZE_UP_TO_MAGIC:
        return False
    return _begins_batch(file, position, file.read(SIZE_UP_TO_MAGIC, position), end - position, bounds)


def _begins_batch(file: File, position: int, chunk: bytes, room: int, bounds: Bounds) -> bool:
    if len(chunk) < SIZE_UP_TO_MAGIC:
        return False
    base_offset, size, magic = _BEGINNING.unpack_from(chunk)
    if base_offset < bounds.lowest or not _SMALLEST_SIZE_FIELD <= size <= room or not 0 <= magic <= MAGIC:
        return False
    if base_offset <= bounds.highest:
        return True
    return magic < MAGIC and bounds.may_wrap and _wraps_from(bounds.highest, file, position, size + LOG_OVERHEAD)


def _wraps_from(first_offset: int, file: File, position: int, size: int) -> bool:
    """Whether a wrapper of format 0 or 1 begins with this offset."""
    if size > _READ_TO_VERIFY:
        return True
    try:
        return read_records(file.read(size, position), 0, 16 * _READ_TO_VERIFY)[0].offset == first_offset
    except OversizedBatch:
        return True
    except CorruptBatch:
        return False


def iter_file_headers(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of every whole batch of [position, end). Raises CorruptBatch for an invalid header."""
    chunk, chunk_at = b"", position
    while end - position >= SIZE_UP_TO_MAGIC:
        at = position - chunk_at
        if at + BATCH_START > len(chunk):
            chunk, chunk_at, at = file.read(min(HEADERS_AT_ONCE, end - position), position), position, 0
        header = read_header(chunk, at)
        if end - position < header.size_bytes:
            return
        yield position, header
        position += header.size_bytes


def iter_file_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """(position, header, bytes) of every whole batch of [position, end); the checksum is not verified.

    The bytes are valid until the next batch is read. A partial batch at the end is left out. Raises CorruptBatch for an
    invalid header (such as the zeroes of a preallocated file).
    """
    chunk, chunk_at = memoryview(b""), position
    while end - position >= LOG_OVERHEAD:
        at = position - chunk_at
        if at + BATCH_START > len(chunk):
            chunk, chunk_at, at = _read(file, position, min(_BATCHES_AT_ONCE, end - position)), position, 0
        size = _size_at(chunk, at, position) + LOG_OVERHEAD
        if end - position < max(size, SIZE_UP_TO_MAGIC):
            return
        if at + size > len(chunk):
            chunk, chunk_at, at = _read(file, position, min(max(_BATCHES_AT_ONCE, size), end - position)), position, 0
            if len(chunk) < size:
                return
        batch = chunk[at : at + size]
        yield position, read_header(batch), batch
        position += size


def _read(file: File, position: int, size: int) -> memoryview:
    return memoryview(file.read(size, position))


def _size_at(chunk: memoryview, at: int, position: int) -> int:
    if len(chunk) - at < LOG_OVERHEAD:
        raise CorruptBatch("the file is shorter than it was", position)
    size = int.from_bytes(chunk[at + 8 : at + 12], "big", signed=True)
    if size < _SMALLEST_SIZE_FIELD:
        raise CorruptBatch(f"size {size} is below {_SMALLEST_SIZE_FIELD}", position)
    return size

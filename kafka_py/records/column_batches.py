"""Columns of keys and values made record batches: the way back of columns.py, for writers in bulk.

Every field of all records is written by a few array operations. Needs NumPy; nothing in the broker imports this file.
Source: docs/reference/record-formats.md, sections 1 and 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kafka_py.records.columns import Ints, Packed, inside_mask

_SEED, _M = np.uint32(0x9747B28C), np.uint32(0x5BD1E995)


def lengths_of(column: Packed) -> Ints:
    """The length of each string, -1 for null."""
    lengths: Ints = np.diff(column.offsets).astype(np.int64)
    if column.valid is not None:
        lengths[~column.valid] = -1
    return lengths


def encode_records(keys: Packed | None, values: Packed) -> bytes:
    """The records section of a batch: offset deltas from 0 on, timestamp deltas 0, no headers.

    keys: None when all are null.
    """
    count = len(values.offsets) - 1
    value_lengths = lengths_of(values)
    key_lengths = np.full(count, -1, np.int64) if keys is None else lengths_of(keys)
    deltas, delta_sizes = _zigzag(np.arange(count, dtype=np.int64))
    key_marks, key_sizes = _zigzag(key_lengths)
    value_marks, value_sizes = _zigzag(value_lengths)
    key_bytes, value_bytes = np.maximum(key_lengths, 0), np.maximum(value_lengths, 0)
    # Attributes and the timestamp's delta in front, the number of headers behind: three zeros.
    bodies = 3 + delta_sizes + key_sizes + key_bytes + value_sizes + value_bytes
    marks, sizes = _zigzag(bodies)
    ends = np.cumsum(sizes + bodies)
    out = np.zeros(int(ends[-1]) if count else 0, np.uint8)
    at = ends - sizes - bodies
    _put(out, at, marks, sizes)
    at = at + sizes + 2
    _put(out, at, deltas, delta_sizes)
    at = at + delta_sizes
    _put(out, at, key_marks, key_sizes)
    at = at + key_sizes
    if keys is not None:
        _copy(out, at, key_bytes, keys)
    at = at + key_bytes
    _put(out, at, value_marks, value_sizes)
    _copy(out, at + value_sizes, value_bytes, values)
    return out.tobytes()


def _zigzag(numbers: Ints) -> tuple[Ints, Ints]:
    """Numbers from -1 on in zig-zag form, and how many bytes each takes as a varint."""
    marks = np.where(numbers < 0, 1, numbers * 2)
    sizes = np.ones(len(marks), np.int64)
    if len(marks):
        largest = int(marks.max())
        for bits in (7, 14, 21, 28):
            if largest >> bits:
                sizes += marks >= 1 << bits
    return marks, sizes


def _put(out: NDArray[np.uint8], at: Ints, marks: Ints, sizes: Ints) -> None:
    """Writes the varints at their places."""
    out[at] = (marks & 0x7F) | np.where(sizes > 1, 0x80, 0)
    shift = 1
    more = np.flatnonzero(sizes > 1)
    while len(more):
        byte = (marks[more] >> 7 * shift) & 0x7F
        out[at[more] + shift] = byte | np.where(sizes[more] > shift + 1, 0x80, 0)
        shift += 1
        more = more[sizes[more] > shift]


def _copy(out: NDArray[np.uint8], at: Ints, lengths: Ints, column: Packed) -> None:
    """Puts the strings where they belong."""
    low, high = int(column.offsets[0]), int(column.offsets[-1])
    source = column.data[low:high]
    total = int(lengths.sum())
    if not total:
        return
    if len(source) != total:  # a null may have bytes of its own in Arrow's buffer
        starts = column.offsets[:-1].astype(np.int64) - low
        source = source[inside_mask(starts, lengths, 0, high - low)]
    size = int(lengths[0])
    if (lengths == size).all():
        windows = np.lib.stride_tricks.sliding_window_view(out, size, writeable=True)
        windows[at] = source.reshape(-1, size)
    else:
        first, last = int(at[0]), int(at[-1] + lengths[-1])
        out[first:last][inside_mask(at, lengths, first, last)] = source


def partitions_of_keys(keys: Packed, partitions: int) -> Ints:
    """Where the Java producer sends a record with each key; -1 for null keys."""
    lengths = lengths_of(keys)
    starts = keys.offsets[:-1].astype(np.int64)
    chosen = np.full(len(lengths), -1, np.int64)
    for size in np.unique(lengths[lengths >= 0]).tolist():
        which = np.flatnonzero(lengths == size)
        hashes = _murmur2(keys.data, starts[which], size)
        chosen[which] = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions
    return chosen


def _murmur2(data: NDArray[np.uint8], starts: Ints, size: int) -> NDArray[np.uint32]:
    """murmur2.py for many strings of one size; the arithmetic of 32 bits wraps as it should."""
    h = np.full(len(starts), _SEED ^ np.uint32(size), np.uint32)
    if size:
        rows = np.lib.stride_tricks.sliding_window_view(data, size)[starts]
        words = np.ascontiguousarray(rows[:, : size & ~3]).view("<u4")
        for column in range(size >> 2):
            k = words[:, column] * _M
            h = h * _M ^ (k ^ k >> np.uint32(24)) * _M
        for byte in range(size & 3):
            h ^= rows[:, (size & ~3) + byte].astype(np.uint32) << np.uint32(8 * byte)
        if size & 3:
            h *= _M
    h = (h ^ h >> np.uint32(13)) * _M
    return h ^ h >> np.uint32(15)

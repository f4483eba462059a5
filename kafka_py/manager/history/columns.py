"""The values of a topic's partitions as bytes, and back: short where the values are near to each other.

Layout: width u8 (0, 1, 2, 4 or 8), count u32, base i64, then `count` unsigned integers of `width` bytes, little-endian:
0 for a missing value, else the value less `base` plus 1. Width 0 has none of these: every value is `base`.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence

from kafka_py.manager.history.metrics import MISSING

MOST_VALUES = 1 << 20
"""More partitions than any topic has; a column that claims more is damaged."""

_HEADER = struct.Struct("<BIq")
_TYPECODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def pack_column(values: Sequence[int]) -> bytes:
    """The bytes of these values, each MISSING or 0 to 2^63 - 2."""
    if not values:
        return _HEADER.pack(0, 0, 0)
    least, greatest = min(values), max(values)
    if least == greatest:
        return _HEADER.pack(0, len(values), least)
    if least < 0:
        base = min(value for value in values if value >= 0)
        shifted = [value - base + 1 if value >= 0 else 0 for value in values]
    else:
        base = least
        shifted = [value - base + 1 for value in values]
    width = _width(greatest - base + 1)
    column = array(_TYPECODES[width], shifted)
    if sys.byteorder == "big":
        column.byteswap()
    return _HEADER.pack(width, len(values), base) + column.tobytes()


def unpack_column(data: bytes) -> tuple[int, ...]:
    """The values in these bytes. Raises ValueError for malformed bytes."""
    width: int
    count: int
    base: int
    try:
        width, count, base = _HEADER.unpack_from(data)
    except struct.error as error:
        raise ValueError(f"a column has {len(data)} bytes") from error
    if count > MOST_VALUES:
        raise ValueError(f"a column claims to have {count} values")
    if width == 0:
        return (base,) * count
    typecode = _TYPECODES.get(width)
    if typecode is None or len(data) != _HEADER.size + count * width:
        raise ValueError(f"a column of {count} values with {width} bytes each has {len(data)} bytes")
    column: array[int] = array(typecode)
    column.frombytes(data[_HEADER.size :])
    if sys.byteorder == "big":
        column.byteswap()
    least = base - 1
    return tuple([least + value if value else MISSING for value in column])


def _width(greatest: int) -> int:
    if greatest < 1 << 8:
        return 1
    if greatest < 1 << 16:
        return 2
    return 4 if greatest < 1 << 32 else 8

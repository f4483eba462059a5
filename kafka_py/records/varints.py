"""Zig-zag varints of the record format: a table for the short ones, plain functions for the rest.

The hot loops (builder.py, record.py) inline the one and two byte forms and come here for longer ones.
Layout: 7 data bits a byte, least significant group first, the high bit set on all bytes but the last; before that
zig-zag: 0 -1 1 -2 ... become 0 1 2 3 ...; at most 5 bytes for 32 bits, 10 for 64.
"""

from collections.abc import Sequence

INT32_BITS = 32
INT64_BITS = 64


class IllegalVarint(ValueError):
    """More bytes, or more bits, than the integer can have."""


# SHORT_VARINTS[n] is n encoded, for 0 <= n < 8192, all that fit two bytes; beyond lies an IndexError. A negative n
# would count from the end of the list, as Python does: whoever indexes makes sure that there is none.
SHORT_VARINTS: list[bytes] = [bytes((n << 1,)) for n in range(64)]
SHORT_VARINTS += [bytes((n << 1 & 0x7F | 0x80, n >> 6)) for n in range(64, 8192)]


def zigzag(n: int) -> int:
    """0, -1, 1, -2 ... -> 0, 1, 2, 3 ..."""
    return n << 1 if n >= 0 else (-n << 1) - 1


def encode_varint(n: int) -> bytes:
    """`n` as a zig-zag varint; the caller keeps it within 32 (or, for a varlong, 64) bits."""
    if 0 <= n < len(SHORT_VARINTS):
        return SHORT_VARINTS[n]
    z = zigzag(n)
    out = bytearray()
    while z > 0x7F:
        out.append(z & 0x7F | 0x80)
        z >>= 7
    out.append(z)
    return bytes(out)


def size_of_varint(n: int) -> int:
    """How many bytes `encode_varint(n)` has."""
    return max(zigzag(n).bit_length() + 6, 7) // 7


def read_unsigned(buf: Sequence[int], pos: int, bits: int = INT32_BITS) -> tuple[int, int]:
    """The varint at `pos` before zig-zag is undone, and the position behind it.

    Raises IllegalVarint when it is longer than `bits` allows, IndexError when `buf` ends inside it.
    """
    result = shift = 0
    while True:
        byte = buf[pos]
        pos += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise IllegalVarint(f"a varint of {bits} bits goes on after {shift // 7} bytes")
    if result >> bits:
        raise IllegalVarint(f"a varint holds more than {bits} bits")
    return result, pos


def read_varint(buf: Sequence[int], pos: int) -> tuple[int, int]:
    """-> (int32, position behind it); raises as read_unsigned."""
    z, pos = read_unsigned(buf, pos)
    return z >> 1 ^ -(z & 1), pos


def read_varlong(buf: Sequence[int], pos: int) -> tuple[int, int]:
    """-> (int64, position behind it); raises as read_unsigned."""
    z, pos = read_unsigned(buf, pos, INT64_BITS)
    return z >> 1 ^ -(z & 1), pos

"""The smallest pieces of the wire format: varints, lengths, uuids, records; and the one error for bad bytes.

Holds read_x(buf, pos) -> (value, pos) and write_x(out, value) for what a fused struct cannot express. Whole messages
are compiler.py's subject; the varints here also serve records/. Knows no message and no version.
Source: docs/reference/protocol.md, section 3.
"""

from collections.abc import Sequence
from struct import pack, unpack_from
from typing import TypeAlias
from uuid import UUID

from kafka_py.base.ids import ZERO_UUID
from kafka_py.base.slices import FileSlice

Buffer: TypeAlias = bytes | bytearray | memoryview
RecordParts: TypeAlias = Buffer | FileSlice | Sequence[Buffer | FileSlice]
SliceList: TypeAlias = list[tuple[int, FileSlice]]  # (position in the encoded bytes where it belongs, slice)

_ZERO_UUID_BYTES = bytes(16)

MOST_STRING = 32_767
"""Bytes of a string, in both of its encodings."""

MOST_TAGGED_FIELDS = 1_000
"""Unknown tagged fields of one section that are skipped; the protocol has a handful at most."""


class MalformedMessage(ValueError):
    """Bytes that are no message: cut off, a length that cannot be, a null where none may stand."""


class MessageTooLarge(MalformedMessage):
    """More bytes or array elements than the api table allows."""


SPREAD_OUT = "the client should spread them over several requests"
"""What a client can do about a request that is too large."""


class UnencodableMessage(ValueError):
    """A value of ours that its field cannot carry, such as a number too large or a string where a list belongs."""


def read_unsigned_varint(buf: Buffer, pos: int) -> tuple[int, int]:
    """Seven bits a byte, lowest group first, at most five bytes and 32 bits."""
    value = shift = 0
    while shift < 35:
        if pos >= len(buf):
            raise MalformedMessage("varint cut off")
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                break
            return value, pos
        shift += 7
    raise MalformedMessage("varint too long")


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """The inverse of read_unsigned_varint; a negative int is written as its 32-bit two's complement."""
    value &= 0xFFFFFFFF
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_varint(buf: Buffer, pos: int) -> tuple[int, int]:
    """A zig-zag int32: 0, -1, 1, -2 ... are stored as 0, 1, 2, 3 ..."""
    value, pos = read_unsigned_varint(buf, pos)
    return (value >> 1) ^ -(value & 1), pos


def write_varint(out: bytearray, value: int) -> None:
    """value: an int32."""
    write_unsigned_varint(out, (value << 1) ^ (value >> 31))


def read_unsigned_varlong(buf: Buffer, pos: int) -> tuple[int, int]:
    """As read_unsigned_varint, at most ten bytes and 64 bits."""
    value = shift = 0
    while shift < 70:
        if pos >= len(buf):
            raise MalformedMessage("varlong cut off")
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFFFFFFFFFF:
                break
            return value, pos
        shift += 7
    raise MalformedMessage("varlong too long")


def write_unsigned_varlong(out: bytearray, value: int) -> None:
    """A negative int is written as its 64-bit two's complement, which always takes ten bytes."""
    value &= 0xFFFFFFFFFFFFFFFF
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_varlong(buf: Buffer, pos: int) -> tuple[int, int]:
    """A zig-zag int64."""
    value, pos = read_unsigned_varlong(buf, pos)
    return (value >> 1) ^ -(value & 1), pos


def write_varlong(out: bytearray, value: int) -> None:
    """value: an int64."""
    write_unsigned_varlong(out, (value << 1) ^ (value >> 63))


def uuid_of(raw: bytes) -> UUID:
    """The Uuid of its 16 wire bytes. All zero means "no id" and is common, so one object is shared."""
    return ZERO_UUID if raw == _ZERO_UUID_BYTES else UUID(bytes=raw)


def read_string(buf: Buffer, pos: int) -> tuple[str | None, int]:
    """A string with an int16 length, -1 for null: what headers use in every version."""
    if pos + 2 > len(buf):
        raise MalformedMessage("string length cut off")
    (length,) = unpack_from(">h", buf, pos)
    pos += 2
    if length < 0:
        if length != -1:
            raise MalformedMessage(f"string length {length}")
        return None, pos
    end = pos + length
    if end > len(buf):
        raise MalformedMessage(f"string of {length} bytes, {len(buf) - pos} left")
    try:
        return str(buf[pos:end], "utf-8"), end
    except UnicodeDecodeError as error:
        raise MalformedMessage(f"string is not UTF-8: {error}") from None


def shortened(text: bytes) -> bytes:
    """The beginning of an encoded string, as much as a string field has room for, and that it is not the whole."""
    end = b"..."
    return text[: MOST_STRING - len(end)].decode(errors="ignore").encode() + end


def write_string(out: bytearray, value: str | None) -> None:
    if value is None:
        out += b"\xff\xff"
        return
    encoded = value.encode()
    out += pack(">h", len(encoded))
    out += encoded


def skip_tagged_fields(buf: Buffer, pos: int) -> int:
    """Past a section of tagged fields, none of which is known here. Returns the position after it."""
    count, pos = read_unsigned_varint(buf, pos)
    if count > MOST_TAGGED_FIELDS:
        raise MalformedMessage(f"{count} tagged fields, at most {MOST_TAGGED_FIELDS} are read")
    for _ in range(count):
        _, pos = read_unsigned_varint(buf, pos)
        length, pos = read_unsigned_varint(buf, pos)
        pos += length
        if pos > len(buf):
            raise MalformedMessage("tagged field cut off")
    return pos


def records_size(records: RecordParts) -> int:
    """Bytes of a Records value, in memory or in a file."""
    if isinstance(records, (bytes, bytearray)):
        return len(records)
    if isinstance(records, memoryview):
        return records.nbytes
    if isinstance(records, FileSlice):
        return records.size
    return sum(records_size(part) for part in records)


def append_records(out: bytearray, slices: SliceList, records: RecordParts) -> None:
    """Bytes go to `out`; a file slice is only noted, with its place, in `slices`."""
    if isinstance(records, (bytes, bytearray, memoryview)):
        out += records
    elif isinstance(records, FileSlice):
        if records.size:
            slices.append((len(out), records))
    else:
        for part in records:
            append_records(out, slices, part)

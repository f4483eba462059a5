"""One record, and how the records section of a v2 batch reads: bytes in, records out.

Knows nothing of headers, codecs and checksums (batch.py). Writing is in builder.py.

Layout: length varint (bytes after it), attributes i8, timestamp_delta varlong, offset_delta varint, key length varint
(-1: null) and key, value length varint (-1: null) and value, header count varint; per header a key length varint, UTF-8
key, value length varint (-1: null) and value.
"""

from typing import NamedTuple

from kafka_py.records.varints import INT64_BITS, read_unsigned, read_varint

Header = tuple[str, bytes | None]


class MalformedRecords(ValueError):
    """The lengths and counts among the records do not fit together."""


class Record(NamedTuple):
    """One record with absolute values; in a LogAppendTime batch timestamp is that of the append."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def parse_records(
    data: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> list[Record]:
    """`count` records that fill `data` exactly.

    append_time: overrides every timestamp, in a LogAppendTime batch.
    Raises MalformedRecords, IllegalVarint (both ValueError), and IndexError when the data ends early.
    """
    if count < 0:
        raise MalformedRecords(f"record count is {count}")
    records, pos = parse_some(data, 0, count, base_offset, base_timestamp, append_time)
    check_end(data, pos, count)
    return records


def check_end(data: bytes, pos: int, count: int) -> None:
    """Raises MalformedRecords unless the last of `count` records ends where the data does."""
    if pos != len(data):
        raise MalformedRecords(f"{len(data) - pos} bytes are left after {count} records")


def parse_some(
    data: bytes, pos: int, count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> tuple[list[Record], int]:
    """The next `count` records from `pos` on, and the position behind them; raises as parse_records.

    One flat loop with the varints of one and two bytes read in place: a call per field would halve its speed.
    Reading past the end is an IndexError; a slice cut short there leaves `pos` past `end`.
    """
    records: list[Record] = []
    add = records.append
    new = tuple.__new__
    size = len(data)
    timestamp = append_time
    for _ in range(count):
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        end = pos + (z >> 1)
        if z & 1 or end > size:
            raise MalformedRecords("a record is longer than what is left of its batch")
        pos += 1  # attributes, which mean nothing yet
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos, INT64_BITS)
        if append_time is None:
            timestamp = base_timestamp + (z >> 1 ^ -(z & 1))
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        offset = base_offset + (z >> 1 ^ -(z & 1))
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        if z & 1:
            key = None
        else:
            start = pos
            pos += z >> 1
            key = data[start:pos]
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        if z & 1:
            value = None
        else:
            start = pos
            pos += z >> 1
            value = data[start:pos]
        if data[pos] == 0:
            headers: tuple[Header, ...] = ()
            pos += 1
        else:
            headers, pos = parse_headers(data, pos, end)
        if pos != end:
            raise MalformedRecords("a record does not end where its length says")
        add(new(Record, (offset, timestamp, key, value, headers)))
    return records, pos


def parse_headers(data: bytes, pos: int, end: int) -> tuple[tuple[Header, ...], int]:
    """The headers at `pos` of the record that ends at `end`, and the position behind them; raises as parse_records."""
    count, pos = read_varint(data, pos)
    if not 0 <= count <= end - pos:
        raise MalformedRecords(f"a record says it has {count} headers")
    headers: list[Header] = []
    for _ in range(count):
        length, pos = read_varint(data, pos)
        if length < 0:
            raise MalformedRecords("a header has no key")
        key = data[pos : pos + length].decode("utf-8", "replace")
        pos += length
        length, pos = read_varint(data, pos)
        if length < 0:
            headers.append((key, None))
        else:
            headers.append((key, data[pos : pos + length]))
            pos += length
    return tuple(headers), pos

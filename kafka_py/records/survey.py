"""What the records of a v2 batch come to, found without decoding them: largest timestamp, missing keys, soundness.

For a broker that must not believe a producer's header. Nothing is copied and no record object is made, so the cost is
one pass over the length fields, and the memory is that of the plain record section.
Layout: see record.py. Source: docs/reference/record-formats.md, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafka_py.records.batch import LOG_APPEND_TIME_FLAG, NO_TIMESTAMP, BatchHeader
from kafka_py.records.record import MalformedRecords
from kafka_py.records.varints import INT64_BITS, read_unsigned, read_varint, read_varlong

SMALLEST_RECORD = 7
"""Bytes of a record with null key, null value and no headers."""

MOST_LISTED = 1000
"""Places that are kept of records that lack something."""

AT_ONCE = 1000
"""How many records, and how many headers of records, are walked between two calls of `pause`."""

INT64_MAX = (1 << 63) - 1


class UnexpectedOffset(MalformedRecords):
    """A record's offset delta is not its place in the batch."""


class Survey(NamedTuple):
    """What a walk over a batch found.

    max_timestamp: the largest timestamp of the records, in ms, by the producers' clocks. keyless: places (0 based) of
    records without a key. out_of_bounds: (place, timestamp) of records outside of the bounds that were given. Of both
    the first MOST_LISTED; `keyless_count`, `out_of_bounds_count` say how many there are.
    """

    max_timestamp: int
    keyless: list[int]
    out_of_bounds: list[tuple[int, int]]
    keyless_count: int
    out_of_bounds_count: int


def no_pause() -> None:
    """For work that is not to be interrupted."""


def survey_records(
    data: bytes,
    header: BatchHeader,
    *,
    bounds: tuple[int, int] | None = None,
    pause: Callable[[], None] = no_pause,
) -> Survey:
    """Walks over all records and checks that they are what the header announces.

    data: the record section, decompressed. header: of the batch, with at least one record.
    bounds: lowest and highest timestamp that a record may have, both inclusive; records without one pass.
    pause: called every AT_ONCE records, and every AT_ONCE headers, for walks beside an event loop; may raise.
    Raises UnexpectedOffset when offset deltas are not 0, 1, 2 ...; MalformedRecords (or another ValueError) when the
        records do not fill the section exactly, or a timestamp has more than 64 bits.
    """
    count = header.record_count
    if not 0 < count * SMALLEST_RECORD <= len(data):
        raise MalformedRecords(f"{count} records do not fit into {len(data)} bytes")
    walk = _Walk(data, header.base_timestamp, bounds, pause)
    try:
        for first in range(0, count, AT_ONCE):
            if first:
                pause()
            walk.advance(first, min(first + AT_ONCE, count))
    except IndexError:
        raise MalformedRecords(f"the records end before record {count} does") from None
    if walk.pos != len(data):
        raise MalformedRecords(f"{len(data) - walk.pos} bytes are left after {count} records")
    max_timestamp = header.base_timestamp + walk.largest_delta
    if max_timestamp > INT64_MAX or header.base_timestamp + walk.smallest_delta < -1 - INT64_MAX:
        raise MalformedRecords("a record's timestamp is out of range")
    return Survey(
        max_timestamp, walk.keyless, walk.out_of_bounds, walk.keyless_count, walk.out_of_bounds_count
    )


def first_at_time(
    data: bytes, header: BatchHeader, timestamp: int, lowest_offset: int, *, pause: Callable[[], None] = no_pause
) -> tuple[int, int] | None:
    """(timestamp, offset) of the first record at or after both; None when there is none.

    data: the record section, decompressed. Keys, values and headers are skipped unseen, so what is wrong with them
    does not show. Raises MalformedRecords (or another ValueError) where the next record cannot be found.
    """
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    pos = 0
    try:
        for number in range(header.record_count):
            if number and number % AT_ONCE == 0:
                pause()
            length, start = read_varint(data, pos)
            pos = start + length
            if length < SMALLEST_RECORD - 1 or pos > len(data):
                raise MalformedRecords(f"record {number} is longer than what is left of its batch")
            delta, at = read_varlong(data, start + 1)
            offset = header.base_offset + read_varint(data, at)[0]
            found = header.base_timestamp + delta if append_time is None else append_time
            if found >= timestamp and offset >= lowest_offset:
                return found, offset
    except IndexError:
        raise MalformedRecords(f"the records end before record {header.record_count} does") from None
    if pos != len(data):
        raise MalformedRecords(f"{len(data) - pos} bytes are left after {header.record_count} records")
    return None


class _Walk:
    """A position in a record section, and what was found up to there."""

    __slots__ = (
        "_base_timestamp", "_bounds", "_data", "_headers_left", "_pause", "keyless", "keyless_count", "largest_delta",
        "out_of_bounds", "out_of_bounds_count", "pos", "smallest_delta",
    )  # fmt: skip

    def __init__(
        self, data: bytes, base_timestamp: int, bounds: tuple[int, int] | None, pause: Callable[[], None]
    ) -> None:
        self._data = data
        self._base_timestamp = base_timestamp
        self._bounds = bounds
        self._pause = pause
        self._headers_left = AT_ONCE
        self.pos = 0
        self.largest_delta = -(1 << 64)
        self.smallest_delta = 1 << 64
        self.keyless: list[int] = []
        self.keyless_count = 0
        self.out_of_bounds: list[tuple[int, int]] = []
        self.out_of_bounds_count = 0

    def advance(self, first: int, past: int) -> None:
        """Walks over the records number `first` to `past` (exclusive).

        One flat loop with the varints of one and two bytes read in place, as in record.parse_records.
        """
        data, pos = self._data, self.pos
        size = len(data)
        largest, smallest = self.largest_delta, self.smallest_delta
        keyless = self.keyless_count
        for place in range(first, past):
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
            delta = z >> 1 ^ -(z & 1)
            if delta > largest:
                largest = delta
            if delta < smallest:
                smallest = delta
            if self._bounds is not None:
                self._check_bounds(place, delta)
            if (z := data[pos]) < 128:
                pos += 1
            elif (b := data[pos + 1]) < 128:
                z += (b << 7) - 128
                pos += 2
            else:
                z, pos = read_unsigned(data, pos)
            if z != place << 1:
                raise UnexpectedOffset(f"record {place} has the offset delta {z >> 1 ^ -(z & 1)}")
            if (z := data[pos]) < 128:
                pos += 1
            elif (b := data[pos + 1]) < 128:
                z += (b << 7) - 128
                pos += 2
            else:
                z, pos = read_unsigned(data, pos)
            if z & 1:
                keyless += 1
                if keyless <= MOST_LISTED:
                    self.keyless.append(place)
            else:
                pos += z >> 1
            if (z := data[pos]) < 128:
                pos += 1
            elif (b := data[pos + 1]) < 128:
                z += (b << 7) - 128
                pos += 2
            else:
                z, pos = read_unsigned(data, pos)
            if not z & 1:
                pos += z >> 1
            if data[pos] == 0:
                pos += 1
            else:
                pos = self._skip_headers(pos, end)
            if pos != end:
                raise MalformedRecords("a record does not end where its length says")
        self.pos = pos
        self.keyless_count = keyless
        self.largest_delta, self.smallest_delta = largest, smallest

    def _skip_headers(self, pos: int, end: int) -> int:
        """The position behind the headers at `pos` of the record that ends at `end`.

        A record may be nothing but headers of two bytes, some hundred thousand of them: they count as records do.
        """
        data = self._data
        count, pos = read_varint(data, pos)
        if not 0 <= count <= end - pos:
            raise MalformedRecords(f"a record says it has {count} headers")
        while count:
            step = min(count, self._headers_left)
            for _ in range(step):
                length, pos = read_varint(data, pos)
                if length < 0:
                    raise MalformedRecords("a header has no key")
                length, pos = read_varint(data, pos + length)
                if length > 0:
                    pos += length
            count -= step
            self._headers_left -= step
            if not self._headers_left:
                self._headers_left = AT_ONCE
                self._pause()
        return pos

    def _check_bounds(self, place: int, delta: int) -> None:
        assert self._bounds is not None
        timestamp = self._base_timestamp + delta
        if timestamp != NO_TIMESTAMP and not self._bounds[0] <= timestamp <= self._bounds[1]:
            self.out_of_bounds_count += 1
            if self.out_of_bounds_count <= MOST_LISTED:
                self.out_of_bounds.append((place, timestamp))

"""Checks and converts the arguments of `send` before the record is queued.

Bytes may be given as bytes, bytearray or memoryview, which are copied; numbers as anything with `__index__`.
Source: ProducerRecord (checks timestamp and partition in its constructor).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from kafka_py.clients.producer.batches import Headers

MAX_TIMESTAMP = (1 << 63) - 1
"""The largest timestamp of a record, in ms since the epoch."""

HEADER_OVERHEAD = 3
"""Bytes that a header of usual size takes in a record in addition to its name and value."""


def as_bytes(name: str, data: Any) -> bytes:
    """A key, value or header value as bytes. Raises TypeError for other types."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    advice = f": set {name}.serializer" if name in ("key", "value") else ""
    raise TypeError(f"the {name} is a {type(data).__name__}, not bytes{advice}")


def as_timestamp(timestamp: Any) -> int:
    """A timestamp in ms since the epoch. Raises TypeError for what is no integer, ValueError for one out of range."""
    number = _as_integer("timestamp", timestamp)
    if not 0 <= number <= MAX_TIMESTAMP:
        raise ValueError(f"the timestamp {number} is not within 0 and {MAX_TIMESTAMP}")
    return number


def as_partition(partition: Any) -> int:
    """A partition's number. Raises TypeError for what is no integer, ValueError for a negative one."""
    number = _as_integer("partition", partition)
    if number < 0:
        raise ValueError(f"partition {number} is negative; None lets the producer choose one")
    return number


def _as_integer(name: str, number: Any) -> int:
    if isinstance(number, bool):
        raise TypeError(f"the {name} is a bool, not an integer")
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"the {name} is a {type(number).__name__}, not an integer") from None


def as_headers(headers: Any) -> Headers:
    """(name, bytes or None) pairs. Raises TypeError for other types, ValueError for a name that UTF-8 cannot encode."""
    return sized_headers(headers)[0]


def sized_headers(headers: Any) -> tuple[Headers, int]:
    """As `as_headers`, with the approximate bytes that the headers take in a record.

    One pass over the headers, because it is done for every record.
    """
    if type(headers) is not list and (
        not isinstance(headers, Sequence) or isinstance(headers, (str, bytes, bytearray, memoryview))
    ):
        raise TypeError(f"the headers are a {type(headers).__name__}, not a list of (name, value) pairs")
    made: list[tuple[str, bytes | None]] = []
    size = HEADER_OVERHEAD * len(headers)
    for header in headers:
        if type(header) is not tuple or len(header) != 2:
            header = _as_header(header)
        name, value = header
        if type(name) is not str or not name.isascii() or (value is not None and type(value) is not bytes):
            name, value = header = _as_header(header)
        size += len(name) if value is None else len(name) + len(value)
        made.append(header)
    return made, size


def _as_header(header: Any) -> tuple[str, bytes | None]:
    if not isinstance(header, Sequence) or isinstance(header, (str, bytes)) or len(header) != 2:
        raise TypeError(f"{header!r} is not a header: a header is a pair of name and value")
    name, value = header
    if not isinstance(name, str):
        raise TypeError(f"the header name {name!r} is a {type(name).__name__}, not a str")
    name.encode()
    return name, None if value is None else as_bytes(f"value of header {name!r}", value)

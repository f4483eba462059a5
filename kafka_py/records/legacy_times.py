"""The first record at or after a time in an entry of format 0 or 1, plain or compressed.

Keys and values are not looked at. Format 0 has no timestamps: every record counts as -1.
Source: docs/reference/record-formats.md, section 4; KIP-31, KIP-32.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from kafka_py.records.batch import NO_TIMESTAMP, Buffer
from kafka_py.records.compression import DEFAULT_LIMIT
from kafka_py.records.legacy_records import open_entry
from kafka_py.records.survey import AT_ONCE, no_pause

_MAGIC_AT, _TIMESTAMP_AT = 16, 18
_LONG = Struct(">q")


def first_in_entry(
    buf: Buffer, pos: int, timestamp: int, lowest_offset: int, *, limit: int = DEFAULT_LIMIT,
    pause: Callable[[], None] = no_pause,
) -> tuple[int, int] | None:  # fmt: skip
    """(timestamp, offset) of the first record of the entry at `pos` at or after both; None when there is none.

    limit: how many bytes a wrapper may hold once decompressed. pause: called at intervals; may raise.
    Raises CorruptBatch, OversizedBatch (a CorruptBatch) beyond the limit.
    """
    data, starts, shift, append_time, last_offset = open_entry(buf, pos, limit, pause=pause)
    if last_offset < lowest_offset:
        return None
    long_at = _LONG.unpack_from
    found = NO_TIMESTAMP if append_time is None else append_time
    for number in range(len(starts) - 1):
        if number % AT_ONCE == 0:
            pause()
        at = starts[number]
        if append_time is None:
            found = long_at(data, at + _TIMESTAMP_AT)[0] if data[at + _MAGIC_AT] else NO_TIMESTAMP
        if found >= timestamp:
            offset = long_at(data, at)[0] + shift
            if offset >= lowest_offset:
                return found, offset
    return None

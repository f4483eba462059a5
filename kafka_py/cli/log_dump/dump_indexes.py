"""What kafka-dump-log.sh prints of .index and .timeindex files, and what it finds when it holds them against their log.

Source: docs/reference/tools.md, section 18; docs/reference/log.md, sections 4 and 5.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_py.cli.log_dump.dump_records import batches, records_of
from kafka_py.log.segments.offset_index import OffsetIndex
from kafka_py.log.segments.time_index import TimeIndex
from kafka_py.records.batch import NO_TIMESTAMP, CorruptBatch, read_header


class CorruptIndex(Exception):
    """An index that does not pass the sanity check, or that points where no batch begins."""


@dataclass(slots=True)
class IndexMismatches:
    """Where the indexes and their logs disagree, by index file, in the order found; each row is printed as it is."""

    mismatches: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """(indexed offset, last offset of the batch there)"""
    wrong_times: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """(indexed timestamp, largest timestamp of the batch there)"""
    disordered_times: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """(indexed timestamp, the one before)"""
    missing_offsets: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """(indexed offset, last offset of the batch found instead, -1 for none)"""

    def lines(self) -> Iterator[str]:
        """What is said at the end of the run."""
        for file, pairs in self.mismatches.items():
            yield f"Mismatches in :{file}"
            yield from (f"  Index offset: {indexed}, log offset: {found}" for indexed, found in reversed(pairs))
        for file, pairs in self.wrong_times.items():
            yield f"Found timestamp mismatch in :{file}"
            yield from (f"  Index timestamp: {indexed}, log timestamp: {found}" for indexed, found in pairs)
        for file, pairs in self.disordered_times.items():
            yield f"Found out of order timestamp in :{file}"
            yield from (f"  Index timestamp: {one}, Previously indexed timestamp: {before}" for one, before in pairs)
        for pairs in self.missing_offsets.values():
            yield "The following indexed offsets are not found in the log."
            yield from (f"Indexed offset: {indexed}, found log offset: {found}" for indexed, found in pairs)


class Positions:
    """The entries of an offset index as (absolute offset, position); those after a tail of zeroes are none.

    sound: whether the file's length is one of whole entries.
    """

    def __init__(self, data: bytes, base_offset: int) -> None:
        entry = OffsetIndex.ENTRY
        whole = len(data) // entry.size * entry.size
        self.base_offset = base_offset
        self.count = whole // entry.size
        self.sound = whole == len(data)
        self.entries: list[tuple[int, int]] = []
        for number, (relative, position) in enumerate(entry.iter_unpack(data[:whole])):
            if number and not relative:
                break
            self.entries.append((base_offset + relative, position))

    def position_for(self, offset: int) -> int:
        """Where the search for an offset begins."""
        slot = bisect.bisect_right(self.entries, offset, key=lambda entry: entry[0])
        return self.entries[slot - 1][1] if slot else 0


def check_offset_index(data: bytes, base_offset: int) -> None:
    """The check that a broker makes when it opens a log that was not closed well. Raises CorruptIndex."""
    size = OffsetIndex.ENTRY.size
    if len(data) % size:
        raise CorruptIndex(f"its {len(data)} bytes are no whole number of entries of {size}")
    relative = OffsetIndex.ENTRY.unpack_from(data, len(data) - size)[0]
    if relative < 0:
        raise CorruptIndex(f"its last offset {base_offset + relative} is below its base offset {base_offset}")


def offset_index_lines(
    positions: Positions, log: memoryview, max_batch_bytes: int, mismatches: list[tuple[int, int]]
) -> Iterator[str]:
    """A line per entry; `mismatches` gets the entries that do not name the last offset of the batch they point to.

    Raises CorruptIndex where no batch of at most `max_batch_bytes` begins.
    """
    for offset, position in positions.entries:
        try:
            header = read_header(log[position:]) if 0 <= position < len(log) else None
        except CorruptBatch:
            header = None
        if header is None or header.size_bytes > min(max_batch_bytes, len(log) - position):
            raise CorruptIndex(
                f"the entry of offset {offset} points to position {position}, where no whole batch of at most "
                f"{max_batch_bytes} bytes begins"
            )
        if header.last_offset != offset:
            mismatches.append((offset, header.last_offset))
        yield f"offset: {offset} position: {position}"


def check_time_index(data: bytes, base_offset: int) -> None:
    """As check_offset_index, of a time index."""
    entry = TimeIndex.ENTRY
    if len(data) % entry.size:
        raise CorruptIndex(f"its {len(data)} bytes are no whole number of entries of {entry.size}")
    if not data:
        return
    first_time = entry.unpack_from(data)[0]
    last_time, relative = entry.unpack_from(data, len(data) - entry.size)
    if last_time < first_time:
        raise CorruptIndex(f"its last timestamp {last_time} is below its first timestamp {first_time}")
    if relative < 0:
        raise CorruptIndex(f"its last offset {base_offset + relative} is below its base offset {base_offset}")


def time_index_lines(
    data: bytes, positions: Positions, log: memoryview, file: str, findings: IndexMismatches
) -> Iterator[str]:
    """A line per entry, each looked up in the log as a broker would. Raises CorruptBatch."""
    entry = TimeIndex.ENTRY
    before = NO_TIMESTAMP
    for number, (timestamp, relative) in enumerate(entry.iter_unpack(data[: len(data) // entry.size * entry.size])):
        if number and not relative:
            return
        offset = positions.base_offset + relative
        start = positions.position_for(offset)
        found = next((batch for batch in batches(log, start) if batch[1].last_offset >= offset), None)
        if found is None or found[1].last_offset != offset:
            last_offset = -1 if found is None else found[1].last_offset
            findings.missing_offsets.setdefault(file, []).append((offset, last_offset))
        else:
            largest = max((record.timestamp for record in records_of(log, *found)), default=NO_TIMESTAMP)
            if largest != timestamp:
                findings.wrong_times.setdefault(file, []).append((timestamp, largest))
            if before >= timestamp:
                findings.disordered_times.setdefault(file, []).append((timestamp, before))
        yield f"timestamp: {timestamp} offset: {offset}"
        before = timestamp

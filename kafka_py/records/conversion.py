"""Records from one message format to another, a batch and a piece of it at a time.

Down for readers that know only formats 0 or 1: offsets, timestamps and the codec are kept; headers, producers and
control batches are lost. Up for old producers: the records of a whole message set become one batch of format 2. Pure;
the memory is that of one decompressed batch and one piece of what becomes of it.
Source: docs/reference/record-formats.md, section 4; RecordsUtil; LogValidator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.records.batch import (
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    CorruptBatch,
    TimestampType,
    iter_headers,
    iter_plain_records,
    records_payload,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import DEFAULT_LIMIT, Codec, MiB
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import EntryContents, LegacyRecord, open_entry, open_run, parse_entries
from kafka_py.records.survey import no_pause

AT_ONCE = 500
"""Records that are decoded, and encoded again, between two calls of `pause`: about a millisecond."""

PIECE_BYTES = MiB
"""A wrapper ends when its entries have so many bytes; what does not fit goes into further ones."""


_MARKS_AT_ONCE = 10_000
"""Entries of which a single byte is looked at between two calls of `pause`."""


class WrongChecksum(CorruptBatch):
    """An entry, plain or inside a wrapper, is not what its producer wrote."""


class Piece(NamedTuple):
    """Whole entries of the target format; record_count: how many records were converted, 0 if none had to be."""

    data: bytes
    record_count: int


def down_convert(
    buf: Buffer,
    pos: int,
    header: BatchHeader,
    magic: int,
    *,
    first_offset: int = 0,
    limit: int = DEFAULT_LIMIT,
    pause: Callable[[], None] = no_pause,
) -> Iterator[Piece]:
    """The batch or entry at `pos` in format `magic` (0 or 1), in pieces; none for a control batch.

    first_offset: the reader's; what lies below may be left out. limit: on the decompressed records. pause: called
    every AT_ONCE records, may raise.
    Raises KafkaError(UNSUPPORTED_COMPRESSION_TYPE) for zstd, CorruptBatch, OversizedBatch.
    """
    if header.is_control:
        return
    if header.magic <= magic:
        yield Piece(bytes(buf[pos : pos + header.size_bytes]), 0)
        return
    codec = header.codec
    if codec is Codec.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"a batch with zstd compression cannot be converted to message format {magic}",
        )
    verify_crc(buf, pos, header)  # the new entries get checksums of their own, which would hide damage
    make = _Maker(magic, codec, header)
    for records in _record_pieces(buf, pos, header, limit):
        if codec is Codec.NONE and records[0].offset < first_offset:
            records = [record for record in records if record.offset >= first_offset]
        if records:
            yield from make.take(records, first_offset)
        pause()
    yield from make.end(first_offset)


class _Maker:
    """The old entries of one batch; a wrapper may be split, for offsets tell readers all they need."""

    def __init__(self, magic: int, codec: Codec, header: BatchHeader) -> None:
        self._magic = magic
        self._codec = codec
        self._timestamp_type = header.timestamp_type
        stamped = header.timestamp_type is TimestampType.LOG_APPEND_TIME
        self._append_time = header.max_timestamp if stamped else NO_TIMESTAMP
        self._builder: LegacyBuilder | None = None

    def take(self, records: Sequence[tuple[Any, ...]], first_offset: int) -> Iterator[Piece]:
        """Adds records, and gives back a piece that is full."""
        builder = self._builder
        if builder is None:
            builder = self._builder = LegacyBuilder(
                self._magic, self._codec, base_offset=records[0][0], timestamp_type=self._timestamp_type,
                log_append_time_ms=self._append_time,
            )  # fmt: skip
        try:
            builder.extend(records)
        except (struct.error, ValueError) as error:  # offsets that fall, or numbers of more than 64 bits
            raise CorruptBatch(str(error)) from error
        if self._codec is Codec.NONE or builder.uncompressed_size >= PIECE_BYTES:
            yield from self.end(first_offset)

    def end(self, first_offset: int) -> Iterator[Piece]:
        """The piece that is not full; one that has nothing for the reader is dropped."""
        builder, self._builder = self._builder, None
        if builder is not None and builder.last_offset >= first_offset:
            yield Piece(builder.build(), builder.record_count)


def _record_pieces(buf: Buffer, pos: int, header: BatchHeader, limit: int) -> Iterator[Sequence[Any]]:
    """The records of a batch of format 2, or of an entry of format 1, at most AT_ONCE in a list."""
    if header.magic == MAGIC:
        return iter_plain_records(records_payload(buf, pos, header, limit), header, AT_ONCE)
    return _entry_pieces(buf, pos, limit)


def _entry_pieces(buf: Buffer, pos: int, limit: int) -> Iterator[list[LegacyRecord]]:
    contents = open_entry(buf, pos, limit)
    for first in range(0, contents.record_count, AT_ONCE):
        yield parse_entries(contents, first, first + AT_ONCE)


def iter_set_records(
    buf: Buffer,
    *,
    limit: int = DEFAULT_LIMIT,
    pause: Callable[[], None] = no_pause,
) -> Iterator[list[LegacyRecord]]:
    """All records of a message set of formats 0 and 1, several entries or wrappers, at most AT_ONCE in a list.

    An incomplete entry at the end is left out. limit: on the decompressed records of one wrapper.
    Raises CorruptBatch, as WrongChecksum where a checksum fails; OversizedBatch.
    """
    pos, end = 0, len(buf)
    while True:
        run = open_run(buf, pos, end, AT_ONCE)
        if run is None:
            following = next(iter_headers(buf, pos, end), None)
            if following is None:
                return
            try:
                verify_crc(buf, pos, following[1])
            except CorruptBatch as corrupt:
                raise WrongChecksum(corrupt.reason, pos) from corrupt
            contents = open_entry(buf, pos, limit, pause=pause)
            _check_inner_formats(contents, following[1].magic, pause)
            at = pos + following[1].size_bytes
        else:
            contents, at = run
        for first in range(0, contents.record_count, AT_ONCE):
            records = parse_entries(contents, first, first + AT_ONCE)
            for record in records:
                if not record.is_valid:
                    raise WrongChecksum(f"the checksum of the entry of offset {record.offset} fails", pos)
            yield records
            pause()
        pos = at


def _check_inner_formats(contents: EntryContents, magic: int, pause: Callable[[], None]) -> None:
    data = contents.data
    for place, start in enumerate(contents.starts[:-1], 1):
        if data[start + 16] != magic:
            raise CorruptBatch(f"an entry of format {data[start + 16]} is inside one of format {magic}")
        if not place % _MARKS_AT_ONCE:
            pause()


def up_convert(
    buf: Buffer,
    codec: Codec = Codec.NONE,
    *,
    base_offset: int = 0,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    log_append_time_ms: int = NO_TIMESTAMP,
    limit: int = DEFAULT_LIMIT,
    pause: Callable[[], None] = no_pause,
) -> bytes | None:
    """A message set of formats 0 and 1 as one batch of format 2 with consecutive offsets; None when it has no entry.

    Raises as iter_set_records.
    """
    builder = BatchBuilder(
        codec, base_offset=base_offset, timestamp_type=timestamp_type, log_append_time_ms=log_append_time_ms
    )
    append = builder.append
    for records in iter_set_records(buf, limit=limit, pause=pause):
        for record in records:
            append(record[1], record[2], record[3])
    return builder.build() if builder.record_count else None

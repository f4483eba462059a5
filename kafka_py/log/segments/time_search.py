"""The search for the first record at or after a time, in steps short enough for an event loop.

A generator yields None where other work may run, and a BatchSearch for a batch whose records must be read; the caller
sends back its result. A batch that cannot be read is skipped and logged, so that a wrong header does not fail the
lookup in the whole partition. Source: docs/reference/log.md, section 4; KIP-33.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.files import File
from kafka_py.log.segments.scanning import iter_file_headers
from kafka_py.log.segments.segment import Segment
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.validation.record_work import ON_LOOP_COMPRESSED_BYTES, ON_LOOP_PLAIN_BYTES, ON_LOOP_RECORDS
from kafka_py.records.batch import (
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    BatchHeader,
    CorruptBatch,
    OversizedBatch,
    records_payload,
)
from kafka_py.records.legacy_times import first_in_entry
from kafka_py.records.survey import first_at_time, no_pause

_log = logging.getLogger(__name__)

_HEADERS_PER_TURN = 100


class BatchSearch(NamedTuple):
    """One batch that may contain the record.

    first_offset: no record of the batch is below it. limit: bound on its decompressed size in bytes.
    """

    topic_partition: TopicPartition
    file: File
    position: int
    header: BatchHeader
    timestamp: int
    first_offset: int
    lowest_offset: int
    limit: int

    @property
    def is_large(self) -> bool:
        """Whether it should run in a thread, as far as is known before decompression."""
        header = self.header
        if header.record_count > ON_LOOP_RECORDS:
            return True
        if header.magic < MAGIC:  # the header of a wrapper does not say how many records it has
            return header.codec_id != 0
        return header.size_bytes > (ON_LOOP_COMPRESSED_BYTES if header.codec_id else ON_LOOP_PLAIN_BYTES)

    def run_on_loop(self) -> tuple[bool, TimeOffset | None]:
        """Whether the batch was small enough for the event loop, and the result of `run`."""
        if self.is_large:
            return False, None
        try:
            return True, self._search(min(self.limit, ON_LOOP_PLAIN_BYTES), no_pause)
        except OversizedBatch:
            return False, None

    def run(self, pause: Callable[[], None] = no_pause) -> TimeOffset | None:
        """The first record at or after the timestamp; None when there is none, or the batch cannot be read.

        For a batch beyond the limit the result is its first offset, so that a reader misses no record. pause: called at
        intervals. Raises OSError.
        """
        try:
            return self._search(self.limit, pause)
        except OversizedBatch:
            return TimeOffset(self.header.max_timestamp, max(self.first_offset, self.lowest_offset))

    def _search(self, limit: int, pause: Callable[[], None]) -> TimeOffset | None:
        header = self.header
        batch = self.file.read(header.size_bytes, self.position)
        asked = self.timestamp, self.lowest_offset
        try:
            if header.magic < MAGIC:
                found = first_in_entry(batch, 0, *asked, limit=limit, pause=pause)
            else:
                found = first_at_time(records_payload(batch, 0, header, limit), header, *asked, pause=pause)
        except OversizedBatch:
            raise
        except (CorruptBatch, ValueError) as error:
            _log.warning(
                "%s: the batch at offset %d is skipped in a search by time: %s",
                self.topic_partition, header.base_offset, error,
            )  # fmt: skip
            return None
        return None if found is None else TimeOffset(*found)


Search = Generator[BatchSearch | None, TimeOffset | None, TimeOffset | None]


def search_segment(
    segment: Segment, topic_partition: TopicPartition, timestamp: int, lowest_offset: int, limit: int
) -> Search:
    """The first record of one segment at or after `timestamp` and `lowest_offset`. Raises OSError, CorruptBatch."""
    start = segment.start_for_time(timestamp, lowest_offset)
    file = segment.file()
    before = segment.base_offset
    for number, (position, header) in enumerate(iter_file_headers(file, start, segment.size)):
        if number and number % _HEADERS_PER_TURN == 0:
            yield None
        first_offset, before = header.base_offset if header.magic == MAGIC else before, header.next_offset
        if header.max_timestamp < timestamp or header.last_offset < lowest_offset:
            continue
        is_whole = header.record_count == header.last_offset_delta + 1
        if is_whole and header.attributes & LOG_APPEND_TIME_FLAG:  # every record has that time
            return TimeOffset(header.max_timestamp, max(header.base_offset, lowest_offset))
        found = yield BatchSearch(
            topic_partition, file, position=position, header=header, timestamp=timestamp, first_offset=first_offset,
            lowest_offset=lowest_offset, limit=limit,
        )  # fmt: skip
        if found is not None:
            return found
    return None

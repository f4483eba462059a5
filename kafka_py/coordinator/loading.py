"""Reads one partition of a coordinator's topic from its start to its end (I/O).

Files are read, and large batches decoded, in a thread; records are processed on the loop in turns of some milliseconds.
Unreadable data is skipped and logged: a batch with a wrong checksum or damaged records alone, an invalid batch header
with the rest of its segment. Knows batches; the Replay interprets the records, and decides what damage means.
Source: docs/reference/groups.md, section 10.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.validation.record_work import plain_limit
from kafka_py.records.batch import (
    MAGIC,
    BatchHeader,
    CorruptBatch,
    Record,
    iter_headers,
    iter_plain_records,
    records_payload,
    verify_crc,
)
from kafka_py.records.control import ControlType, read_control_type
from kafka_py.records.legacy_records import EntryContents, open_entry, parse_entries

_log = logging.getLogger(__name__)

LOADING_TURN_MS = 2.0
"""How long this work holds the loop before it yields."""
RECORDS_AT_ONCE = 200
"""Records that are processed between two readings of the clock."""
SETTLE_EVERY = 1_200
"""After so many records, the objects made of them are excluded from garbage collection: before the collector looks at
them for the first time (GARBAGE_THRESHOLDS of cli/server_start.py), for none of them is garbage."""
_STEPS_TO_SETTLE = 1000


class Replay(Protocol):
    """Takes the records of one partition, in the order of the log, and then installs the state."""

    def records(self, header: BatchHeader, records: list[Record]) -> None:
        """Records of one batch; a large batch comes in several calls."""
        ...

    def marker(self, header: BatchHeader, *, committed: bool) -> None:
        """The end of a producer's transaction."""
        ...

    def damaged(self, offset: int, reason: Exception) -> None:
        """The batch at this offset, or all from there to the end of the segment, cannot be read and are left out."""
        ...

    def finish(self) -> Iterator[object]:
        """Installs the state; yields now and then for others' turns."""
        ...


InThread = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a blocking function in a thread and returns its result."""


class PartitionLoad:
    """The loading of one partition.

    is_wanted: false once the partition has been resigned; loading then stops. settle: see RuntimeServices.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        partition_log: PartitionLog,
        replay: Replay,
        *,
        clock: Clock,
        in_thread: InThread,
        is_wanted: Callable[[], bool],
        settle: Callable[[], None],
        buffer_bytes: int,
    ) -> None:
        self.record_count = 0
        self._name = topic_partition
        self._log = partition_log
        self._replay = replay
        self._turn = Turn(clock, LOADING_TURN_MS)
        self._in_thread = in_thread
        self._is_wanted = is_wanted
        self._settle = settle
        self._buffer_bytes = buffer_bytes
        self._settle_at = SETTLE_EVERY

    async def run(self) -> bool:
        """Reads the whole log and installs the state; False when it was cancelled on the way.

        Raises OSError and KafkaError(KAFKA_STORAGE_ERROR) when the disk fails.
        """
        offset = self._log.log_start_offset
        while self._is_wanted() and offset < self._log.log_end_offset:
            offset = await self._read_on(offset)
        if not self._is_wanted():  # what was read so far is not the state
            return False
        for number, _ in enumerate(self._replay.finish(), 1):
            if number % _STEPS_TO_SETTLE == 0:
                self._settle()
            await self._turn.maybe_yield()
            if not self._is_wanted():
                return False
        self._settle()
        return self._is_wanted()

    async def _read_on(self, offset: int) -> int:
        """Processes the next stretch of the log; returns the offset after it."""
        try:
            found = self._log.read(
                offset, self._buffer_bytes, up_to_offset=self._log.log_end_offset, min_one_batch=True
            )
            if found.slice is None:
                return self._next_segment(offset)
            data = await self._in_thread(found.slice.read)
            return await self._take_in(data, offset)
        except CorruptBatch as corrupt:
            return self._skip_segment(offset, corrupt)
        except KafkaError as error:
            if error.code is ErrorCode.OFFSET_OUT_OF_RANGE and offset < self._log.log_start_offset:
                return self._log.log_start_offset
            if error.code is ErrorCode.CORRUPT_MESSAGE:
                return self._skip_segment(offset, error)
            raise

    def _skip_segment(self, offset: int, reason: Exception) -> int:
        following = self._next_segment(offset)
        _log.error("%s: offsets %d to %d cannot be read and are left out: %s", self._name, offset, following, reason)
        self._replay.damaged(offset, reason)
        return following

    def _next_segment(self, offset: int) -> int:
        """The start of the segment after the one with `offset`; the log end offset for the last segment."""
        bases = (segment.base_offset for segment in self._log.segments)
        return next((base for base in bases if base > offset), self._log.log_end_offset)

    async def _take_in(self, data: bytes, offset: int) -> int:
        """Processes the batches in `data` from the one with `offset`; returns the offset after the last whole one."""
        next_offset = offset
        for position, header in iter_headers(data):
            if header.last_offset >= offset:
                await self._batch(data, position, header)
            next_offset = max(header.next_offset, offset)
            await self._turn.maybe_yield()
            if not self._is_wanted():
                break
        if next_offset == offset:
            raise CorruptBatch("no whole batch is there")
        return next_offset

    async def _batch(self, data: bytes, position: int, header: BatchHeader) -> None:
        """Processes one batch in portions; unreadable records are skipped and logged."""
        try:
            verify_crc(data, position, header)
            pieces = await self._pieces(data, position, header)
            for records in pieces:
                if header.is_control:
                    self._marker(header, records)
                    return
                if header.magic < MAGIC and records[0].offset < header.base_offset:  # that of a wrapper is its last one
                    header = header._replace(base_offset=records[0].offset)
                self._replay.records(header, records)
                self.record_count += len(records)
                await self._turn.maybe_yield()
        except (CorruptBatch, KafkaError) as corrupt:
            _log.error("%s: the batch at offset %d is left out: %s", self._name, header.base_offset, corrupt)
            self._replay.damaged(header.base_offset, corrupt)
        if self.record_count >= self._settle_at:
            self._settle_at = self.record_count + SETTLE_EVERY
            self._settle()

    async def _pieces(self, data: bytes, position: int, header: BatchHeader) -> Iterator[list[Record]]:
        """The records of one batch of any format. Raises CorruptBatch, also while they are taken."""
        limit = plain_limit(self._log.config.max_message_bytes)
        if header.magic < MAGIC:
            if header.codec_id:
                return _old_pieces(await self._in_thread(lambda: open_entry(data, position, limit)))
            return _old_pieces(open_entry(data, position, limit))
        if header.codec_id:
            plain = await self._in_thread(lambda: records_payload(data, position, header, limit))
        else:
            plain = records_payload(data, position, header, limit)
        return iter_plain_records(plain, header, RECORDS_AT_ONCE)

    def _marker(self, header: BatchHeader, records: list[Record]) -> None:
        """Processes a control batch; one emptied by compaction, or of an unknown type, has no effect."""
        for record in records[:1]:
            control_type = read_control_type(record)
            if control_type is not ControlType.UNKNOWN:
                self._replay.marker(header, committed=control_type is ControlType.COMMIT)


def _old_pieces(contents: EntryContents) -> Iterator[list[Record]]:
    """The records of an entry of format 0 or 1, which may wrap many. Raises CorruptBatch."""
    for first in range(0, contents.record_count, RECORDS_AT_ONCE):
        yield [Record(*record[:4]) for record in parse_entries(contents, first, first + RECORDS_AT_ONCE)]

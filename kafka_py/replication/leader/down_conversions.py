"""Conversion of stored records for consumers and followers that know only message formats 0 or 1.

What a fetch has found is a range of a segment file. A thread reads it a batch at a time, converts it and stops when the
response has enough; a large fetch is answered in part, and its client fetches on. Two fetches at a time are converted,
with pauses that leave the interpreter to the event loop. Knows files and formats, nothing of requests.
Source: docs/reference/record-formats.md, section 4; LazyDownConversionRecords (KIP-283).
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.slices import FileSlice
from kafka_py.log.disk.background import Background
from kafka_py.records.batch import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, CorruptBatch, iter_headers
from kafka_py.records.compression import MiB
from kafka_py.records.conversion import down_convert
from kafka_py.replication.leader.append_lines import pause_thread
from kafka_py.replication.state.metrics import ReplicaMetrics

_log = logging.getLogger(__name__)

AT_ONCE = 2
"""How many fetches are converted at the same time; each may need as much memory as record_work.plain_limit."""

RESPONSE_BYTES = MiB
"""Of one response: so many converted bytes, or one batch if that is larger."""
ALL_WAITING_BYTES = 16 * MiB
LEAST_RESPONSE_BYTES = 64 * 1024
"""When very many fetches wait, their responses have less, together about ALL_WAITING_BYTES."""
ALL_UNSENT_BYTES = 64 * MiB
"""Of responses that wait for slow clients: beyond it further ones have LEAST_RESPONSE_BYTES, or one batch."""
UNSENT_LOOKED_AT = 100
"""So many responses more, however small, and those that have left are forgotten."""

READ_BYTES = 128 * 1024

WORK_MS = 1.0
"""Time between two pauses of a thread. A batch of one record takes far less than a pause."""

_PARTIAL = Struct(">qi").pack(-1, HEADER_SIZE)
"""The beginning of a message that is not there: clients take it for one that exceeds their limit."""


class OldRead(NamedTuple):
    """One partition of a fetch. magic: the reader's format. first_offset: its fetch offset.

    limit: on the decompressed records of a batch. records: where the log has them, at least one byte.
    """

    topic: str
    records: FileSlice
    magic: int
    first_offset: int
    limit: int


class Converted(NamedTuple):
    """What the reader of one partition gets: whole batches in its format, or an error."""

    data: bytes = b""
    record_count: int = 0
    error: ErrorCode = ErrorCode.NONE
    time_ms: float = 0.0


class _FirstIncomplete(Exception):
    """The reader's limit allows only a part of the first batch."""


OnConverted = Callable[[list[Converted]], None]


def _never() -> bool:
    return False


class _Fetch(NamedTuple):
    reads: list[OldRead]
    on_converted: OnConverted
    is_wanted: Callable[[], bool]
    is_unsent: Callable[[], bool]


class _Unsent:
    """The converted bytes of responses that have not left yet."""

    def __init__(self) -> None:
        self._responses: list[tuple[int, Callable[[], bool]]] = []
        self._most_bytes = 0  # as if nothing had left since the last look
        self._most_count = UNSENT_LOOKED_AT

    def add(self, size_bytes: int, is_unsent: Callable[[], bool]) -> None:
        if size_bytes:
            self._responses.append((size_bytes, is_unsent))
            self._most_bytes += size_bytes

    def room(self) -> int:
        """How many bytes a further response may have; looks at all that wait only when they may be too many.

        Small ones as well, because each is remembered with its connection.
        """
        if self._most_bytes > ALL_UNSENT_BYTES - RESPONSE_BYTES or len(self._responses) >= self._most_count:
            self._responses = [(size, is_unsent) for size, is_unsent in self._responses if is_unsent()]
            self._most_bytes = sum(size for size, _ in self._responses)
            self._most_count = UNSENT_LOOKED_AT + 2 * len(self._responses)
        return max(ALL_UNSENT_BYTES - self._most_bytes, LEAST_RESPONSE_BYTES)


class _Paced:
    """A pause that is made once in WORK_MS, however often it is called."""

    def __init__(self, clock: Clock, pause: Callable[[], None]) -> None:
        self._clock = clock
        self._pause = pause
        self._began_ms = clock.monotonic_ms()

    def __call__(self) -> None:
        if self._clock.monotonic_ms() - self._began_ms >= WORK_MS:
            self._pause()
            self._began_ms = self._clock.monotonic_ms()


class DownConversions:
    """The fetches that are or will be converted, in order. On the event loop, but for what its threads do."""

    def __init__(
        self,
        background: Background,
        clock: Clock,
        metrics: ReplicaMetrics,
        pause: Callable[[], None] = pause_thread,
    ) -> None:
        self._background = background
        self._clock = clock
        self._metrics = metrics
        self._pause = pause
        self._waiting: deque[_Fetch] = deque()
        self._unsent = _Unsent()
        self._running = 0
        self._turn = 0

    def convert(
        self,
        reads: list[OldRead],
        on_converted: OnConverted,
        is_wanted: Callable[[], bool] = lambda: True,
        is_unsent: Callable[[], bool] = _never,
    ) -> None:
        """Converts the partitions of one fetch, and calls `on_converted` with the results in the same order.

        is_wanted: False once nobody waits for the response; then nothing more is converted.
        is_unsent: after `on_converted`, True as long as the response is in memory.
        """
        self._waiting.append(_Fetch(reads, on_converted, is_wanted, is_unsent))
        if self._running < AT_ONCE:
            self._run_next()

    def _run_next(self) -> None:
        room = max(ALL_WAITING_BYTES // len(self._waiting), LEAST_RESPONSE_BYTES)
        room = min(room, self._unsent.room(), RESPONSE_BYTES)
        fetch = self._waiting.popleft()
        self._running += 1
        self._turn += 1
        first = self._turn % len(fetch.reads)  # not always the same partitions are the last ones
        self._background.run(
            lambda: self._convert_all(fetch, first, room),
            lambda results: self._ended(fetch, results),
            lambda error: self._failed(fetch, error),
        )

    def _failed(self, fetch: _Fetch, error: Exception) -> None:
        _log.error("records cannot be converted to an older format", exc_info=error)
        self._ended(fetch, [Converted(error=ErrorCode.UNKNOWN_SERVER_ERROR)] * len(fetch.reads))

    def _ended(self, fetch: _Fetch, results: list[Converted]) -> None:
        self._running -= 1
        if self._waiting:
            self._run_next()
        for read, result in zip(fetch.reads, results, strict=True):
            if result.record_count:
                self._metrics.note_fetch_conversion(
                    read.topic, result.record_count, len(result.data), result.time_ms
                )
        self._unsent.add(sum(len(result.data) for result in results), fetch.is_unsent)
        try:
            fetch.on_converted(results)
        except Exception:
            _log.exception("the callback of a converted fetch failed")

    # ---- in a thread

    def _convert_all(self, fetch: _Fetch, first: int, room: int) -> list[Converted]:
        results = [Converted()] * len(fetch.reads)
        pause = _Paced(self._clock, self._pause)
        for step in range(len(fetch.reads)):
            place = (first + step) % len(fetch.reads)
            if room <= 0 or not fetch.is_wanted():
                break
            began_ms = self._clock.monotonic_ms()
            made = convert_read(fetch.reads[place], room, pause)
            results[place] = made._replace(time_ms=self._clock.monotonic_ms() - began_ms)
            room -= len(made.data)
        return results


def convert_read(read: OldRead, room: int, pause: Callable[[], None]) -> Converted:
    """The batches of one partition in the reader's format, as many as fit `room` bytes but at least one; blocks.

    A batch that cannot be converted ends the data, and is an error where it is the first one. pause: called for every
    batch and now and then inside large ones.
    """
    parts: list[bytes] = []
    size = count = 0
    # The converted form may be larger than the reader's limit by as much as one batch, but not by several.
    room = min(room, read.records.size)
    try:
        for buf, position, header in _batches(read.records):
            pause()
            for piece in down_convert(
                buf, position, header, read.magic, first_offset=read.first_offset, limit=read.limit, pause=pause
            ):
                if size and size + len(piece.data) > room:
                    return Converted(b"".join(parts), count)
                parts.append(piece.data)
                size += len(piece.data)
                count += piece.record_count
    except _FirstIncomplete:
        return Converted(_PARTIAL)
    except (KafkaError, CorruptBatch, OSError) as error:
        if not parts:
            return Converted(error=_code_of(read, error))
    return Converted(b"".join(parts), count)


def _batches(records: FileSlice) -> Iterator[tuple[bytes, int, BatchHeader]]:
    """(buffer, position in it, header) of every whole batch; memory for READ_BYTES, or one batch that is larger.

    Raises _FirstIncomplete, CorruptBatch, OSError.
    """
    start, end = records.position, records.position + records.size
    wanted = READ_BYTES
    while end - start > LOG_OVERHEAD:
        buf = os.pread(records.file.fileno(), min(wanted, end - start), start)
        past = 0
        for position, header in iter_headers(buf):
            yield buf, position, header
            past = position + header.size_bytes
        if not past:
            if len(buf) < LOG_OVERHEAD:
                return  # the file was cut meanwhile
            size = LOG_OVERHEAD + int.from_bytes(buf[8:LOG_OVERHEAD], "big", signed=True)
            if size > end - start and start == records.position:
                raise _FirstIncomplete
            if size > end - start or size <= wanted:
                return
            wanted = size
        else:
            wanted = READ_BYTES
        start += past


def _code_of(read: OldRead, error: Exception) -> ErrorCode:
    if isinstance(error, KafkaError):
        return error.code
    _log.warning("records of %s from offset %d on cannot be converted: %s", read.topic, read.first_offset, error)
    return ErrorCode.KAFKA_STORAGE_ERROR if isinstance(error, OSError) else ErrorCode.CORRUPT_MESSAGE

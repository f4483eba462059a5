"""ListOffsets by timestamp without blocking the event loop: the search runs in turns, large batches in a thread.

offset_queries.py decides which offset is returned, log/segments/time_search.py how a log is searched.
Source: docs/architecture.md, "What a batch header may claim".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from kafka_py.base.clock import Clock
from kafka_py.base.turns import Turn
from kafka_py.log.disk.background import Background
from kafka_py.log.model.answers import TimestampOffset
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.segments.time_search import BatchSearch
from kafka_py.replication.leader.append_lines import pause_thread

T = TypeVar("T")


class TimeLookups:
    """Lookups in any log. background: runs work that would block the loop."""

    def __init__(self, background: Background, clock: Clock) -> None:
        self._background = background
        self._clock = clock

    async def find(self, log: PartitionLog, timestamp: int) -> TimestampOffset | None:
        """Calls `find_by_time`."""
        return await find_by_time(log, timestamp, self._background, self._clock)


async def find_by_time(
    log: PartitionLog, timestamp: int, background: Background, clock: Clock
) -> TimestampOffset | None:
    """The first record of the log whose timestamp is >= `timestamp`; None when there is none.

    Raises KafkaError(KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE), OSError.
    """
    turn = Turn(clock)
    search = log.lookups.search_by_time(timestamp)
    answer: TimeOffset | None = None
    while True:
        try:
            look = search.send(answer)
        except StopIteration as found:
            return log.lookups.at_time(found.value)
        answer = None if look is None else await _found_in(look, background)
        await turn.maybe_yield()


async def _found_in(look: BatchSearch, background: Background) -> TimeOffset | None:
    is_done, found = look.run_on_loop()
    return found if is_done else await run_in(background, lambda: look.run(pause_thread))


async def run_in(background: Background, work: Callable[[], T]) -> T:
    """Runs blocking work in the background and awaits its result; raises what it raises."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def done(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def failed(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    background.run(work, done, failed)
    return await future

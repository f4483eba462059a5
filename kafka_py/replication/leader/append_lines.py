"""Appends that wait while the records of an earlier append are processed in a thread: one line for each partition.

Decompression, verification and recompression of large batches would block the event loop. Later appends to the same
partition wait behind them, so that the log keeps the order of the requests. Synchronous, on the loop; knows neither
logs nor requests, only the functions that begin and finish an append.
Source: docs/architecture.md, "What a batch header may claim".
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from time import sleep
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.background import Background
from kafka_py.log.model.answers import Origin
from kafka_py.log.validation.format_work import FormatWork, PreparedSet
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.log.validation.record_work import Prepared, RecordWork
from kafka_py.replication.leader.delayed import AppendResult

_log = logging.getLogger(__name__)

AT_ONCE = 2
"""How many batches are processed at the same time; each may need as much memory as record_work.plain_limit."""

PAUSE_S = 0.0005


Work = RecordWork | FormatWork
"""Work on records that may run in a thread, before they can be appended."""


def pause_thread() -> None:
    """Releases the interpreter lock to the event loop; otherwise a thread keeps it for its whole switch interval."""
    sleep(PAUSE_S)


class PartitionAppend(NamedTuple):
    """An append to one partition. now_ms: wall-clock time at which the request arrived."""

    topic_partition: TopicPartition
    records: memoryview
    acks: int
    now_ms: int
    origin: Origin
    trust: HeaderTrust | None


OnResult = Callable[[AppendResult], None]


class WaitingAppend(NamedTuple):
    """An append and the function that gets its result."""

    append: PartitionAppend
    on_result: OnResult


class AppendLines:
    """The lines of all partitions; appends to a partition without a line do not wait.

    begin: appends, or returns the work to be done before. finish: appends prepared records, what that work has made.
    fail: returns the result of an append that raised, or whose records were refused.
    """

    def __init__(
        self,
        background: Background,
        *,
        begin: Callable[[PartitionAppend], AppendResult | Work],
        finish: Callable[[PartitionAppend, Prepared | PreparedSet, Work], AppendResult],
        fail: Callable[[PartitionAppend, Exception], AppendResult],
        pause: Callable[[], None] = pause_thread,
    ) -> None:
        self.lines: dict[TopicPartition, deque[WaitingAppend]] = {}
        self._background = background
        self._begin = begin
        self._finish = finish
        self._fail = fail
        self._pause = pause
        self._running = 0
        self._due: deque[tuple[WaitingAppend, Work]] = deque()

    def open(self, waiting: WaitingAppend, work: Work) -> None:
        """Opens a line with an append whose records have to be processed."""
        self.lines[waiting.append.topic_partition] = deque()
        self._schedule(waiting, work)

    def join(self, waiting: WaitingAppend) -> None:
        """Adds an append to the end of its partition's line, which must exist."""
        self.lines[waiting.append.topic_partition].append(waiting)

    def _schedule(self, waiting: WaitingAppend, work: Work) -> None:
        self._due.append((waiting, work))
        if self._running < AT_ONCE:
            self._run_next()

    def _run_next(self) -> None:
        waiting, work = self._due.popleft()
        self._running += 1
        self._background.run(
            lambda: work.run(self._pause),
            lambda prepared: self._prepared(waiting, work, prepared),
            lambda error: self._refused(waiting, error),
        )

    def _prepared(self, waiting: WaitingAppend, work: Work, prepared: Prepared | PreparedSet) -> None:
        self._ended()
        try:
            result = self._finish(waiting.append, prepared, work)
        except Exception as error:
            result = self._fail(waiting.append, error)
        self._advance(waiting, result)

    def _refused(self, waiting: WaitingAppend, error: Exception) -> None:
        self._ended()
        self._advance(waiting, self._fail(waiting.append, error))

    def _ended(self) -> None:
        self._running -= 1
        if self._due:
            self._run_next()

    def _advance(self, waiting: WaitingAppend, result: AppendResult) -> None:
        """Passes a result on and continues with the line, until records have to be processed or the line is empty."""
        topic_partition = waiting.append.topic_partition
        line = self.lines[topic_partition]
        self._hand_out(waiting, result)
        while line:
            following = line.popleft()
            try:
                outcome = self._begin(following.append)
            except Exception as error:
                outcome = self._fail(following.append, error)
            if not isinstance(outcome, AppendResult):
                self._schedule(following, outcome)
                return
            self._hand_out(following, outcome)
        del self.lines[topic_partition]

    @staticmethod
    def _hand_out(waiting: WaitingAppend, result: AppendResult) -> None:
        try:
            waiting.on_result(result)
        except Exception:
            _log.exception("%s: the callback of an append failed", waiting.append.topic_partition)


class GatheredResults:
    """The results of one request, some of which come later; `on_all` is called with them when all are complete."""

    __slots__ = ("_missing", "_on_all", "_results")

    def __init__(self, results: list[AppendResult], on_all: Callable[[list[AppendResult]], None]) -> None:
        """results: filled by the caller in request order, with placeholders for those that come later."""
        self._results = results
        self._on_all = on_all
        self._missing = 1  # the caller itself, until `complete`

    def expect(self, place: int) -> OnResult:
        """Expects one more result, of partition number `place` in the request; returns the function that takes it."""
        self._missing += 1

        def take(result: AppendResult) -> None:
            self._results[place] = result
            self.complete()

        return take

    def complete(self) -> None:
        """Counts one result; the caller also calls it once, after it has gone over all partitions."""
        self._missing -= 1
        if not self._missing:
            self._on_all(self._results)

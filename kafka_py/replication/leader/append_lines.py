"""Appends that wait while the records of an earlier one are worked on in a thread: one line for each partition.

Decompression, verification and recompression of large batches would hold the event loop. Everything that comes for the
same partition meanwhile waits behind them, so that the log has the order of the requests. Synchronous, on the loop;
knows neither logs nor requests, only what begins and finishes an append.
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
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.log.validation.record_work import Prepared, RecordWork
from kafka_py.replication.leader.delayed import AppendResult

log = logging.getLogger(__name__)

AT_ONCE = 2
"""How many batches are worked on at the same time; each may take the memory of record_work.plain_limit."""

PAUSE_S = 0.0005


def pause_thread() -> None:
    """Leaves the interpreter to the event loop; without it a thread keeps it for its whole switch interval."""
    sleep(PAUSE_S)


class Append(NamedTuple):
    """An append to one partition. now_ms: the wall clock when it came."""

    topic_partition: TopicPartition
    records: memoryview
    acks: int
    now_ms: int
    origin: Origin
    trust: HeaderTrust | None


OnResult = Callable[[AppendResult], None]


class Waiting(NamedTuple):
    """An append and who gets its result."""

    append: Append
    on_result: OnResult


class AppendLines:
    """The lines of all partitions; one without a line has nothing to wait for.

    begin: appends, or returns the work that is due first. finish: appends what has been prepared. fail: the result of
    an append that raised, or whose records were refused.
    """

    def __init__(
        self,
        background: Background,
        *,
        begin: Callable[[Append], AppendResult | RecordWork],
        finish: Callable[[Append, Prepared], AppendResult],
        fail: Callable[[Append, Exception], AppendResult],
        pause: Callable[[], None] = pause_thread,
    ) -> None:
        self.lines: dict[TopicPartition, deque[Waiting]] = {}
        self._background = background
        self._begin = begin
        self._finish = finish
        self._fail = fail
        self._pause = pause
        self._running = 0
        self._due: deque[tuple[Waiting, RecordWork]] = deque()

    def open(self, waiting: Waiting, work: RecordWork) -> None:
        """Begins a line with an append whose records must be worked on."""
        self.lines[waiting.append.topic_partition] = deque()
        self._schedule(waiting, work)

    def join(self, waiting: Waiting) -> None:
        """Adds an append to the end of its partition's line, which must exist."""
        self.lines[waiting.append.topic_partition].append(waiting)

    def _schedule(self, waiting: Waiting, work: RecordWork) -> None:
        self._due.append((waiting, work))
        if self._running < AT_ONCE:
            self._run_next()

    def _run_next(self) -> None:
        waiting, work = self._due.popleft()
        self._running += 1
        self._background.run(
            lambda: work.run(self._pause),
            lambda prepared: self._prepared(waiting, prepared),
            lambda error: self._refused(waiting, error),
        )

    def _prepared(self, waiting: Waiting, prepared: Prepared) -> None:
        self._ended()
        try:
            result = self._finish(waiting.append, prepared)
        except Exception as error:
            result = self._fail(waiting.append, error)
        self._advance(waiting, result)

    def _refused(self, waiting: Waiting, error: Exception) -> None:
        self._ended()
        self._advance(waiting, self._fail(waiting.append, error))

    def _ended(self) -> None:
        self._running -= 1
        if self._due:
            self._run_next()

    def _advance(self, waiting: Waiting, result: AppendResult) -> None:
        """Hands out a result and takes up the line, until records must be worked on again or it is empty."""
        topic_partition = waiting.append.topic_partition
        line = self.lines[topic_partition]
        self._hand_out(waiting, result)
        while line:
            following = line.popleft()
            try:
                outcome = self._begin(following.append)
            except Exception as error:
                outcome = self._fail(following.append, error)
            if isinstance(outcome, RecordWork):
                self._schedule(following, outcome)
                return
            self._hand_out(following, outcome)
        del self.lines[topic_partition]

    @staticmethod
    def _hand_out(waiting: Waiting, result: AppendResult) -> None:
        try:
            waiting.on_result(result)
        except Exception:
            log.exception("%s: the result of an append could not be handed out", waiting.append.topic_partition)


class GatheredResults:
    """The results of one request of which some come later: `on_all` gets them when the last one is there."""

    __slots__ = ("_missing", "_on_all", "_results")

    def __init__(self, results: list[AppendResult], on_all: Callable[[list[AppendResult]], None]) -> None:
        """results: filled in request order by the caller, with placeholders for those that come later."""
        self._results = results
        self._on_all = on_all
        self._missing = 1  # the caller itself, until `complete`

    def expect(self, place: int) -> OnResult:
        """One more result comes later; returns what takes it."""
        self._missing += 1

        def take(result: AppendResult) -> None:
            self._results[place] = result
            self.complete()

        return take

    def complete(self) -> None:
        """One result has come; the caller says so once as well, when it has gone over all partitions."""
        self._missing -= 1
        if not self._missing:
            self._on_all(self._results)

"""Carries out the outcomes of decisions about groups: timers, responses, records; their results come back as events.

The rule of every coordinator: decide, append, and once the record is acknowledged apply its change and respond.
The decisions are machine.py's; only this file changes a group in use. Runs on the broker's loop.
Source: docs/reference/groups.md, sections 2 to 6.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import count
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.purgatory import DelayedOperation, Purgatory
from kafka_py.base.timers import Timer, Timers
from kafka_py.coordinator.groups.context import Context
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.machine import Event, RecordWritten, TimeOver, handle
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.outcome import (
    ROUND,
    SYNCS,
    Assigned,
    Emptied,
    GroupOutcome,
    GroupRecord,
    Level,
    Reply,
    TimerChange,
    TimerKind,
    TimerName,
)
from kafka_py.coordinator.groups.requests import Ticket

_log = logging.getLogger(__name__)

TRY_AGAIN_MS = 1_000
"""The pause before a timer or a written record, whose decision raised an unforeseen exception, is decided on again."""

_LEVELS = {Level.INFO: logging.INFO, Level.WARNING: logging.WARNING, Level.ERROR: logging.ERROR}


class GroupDriver:
    """Passes every event of a group to `handle`, one after the other."""

    def __init__(self, context: Context) -> None:
        self.timers = GroupTimers(context.timers, context.rebalances, self._time_over)
        self._context = context
        self._tickets = count(1)
        self._answers: dict[Ticket, Callable[[Any], None]] = {}
        self._after_write: dict[Group, list[Callable[[], object]]] = {}

    def request(self, group: Group, answer: Callable[[Any], None], event_of: Callable[[Ticket], Event]) -> None:
        """Runs an event that is a request: it is answered exactly once, now or later."""
        ticket = next(self._tickets)
        self._answers[ticket] = answer
        try:
            self.handle(group, event_of(ticket), ticket)
        except Exception:
            if self._answers.pop(ticket, None) is not None:
                raise  # the caller gets the exception in place of a response
            with self._context.store.guard(group):
                raise

    def handle(self, group: Group, event: Event, asked: Ticket | None = None) -> None:
        """Passes the event to the group's decisions, applies their outcome to the group, and carries it out.

        asked: a request's ticket, if any. A decision that raises has changed nothing.
        """
        context = self._context
        clock = context.clock
        moment = Moment(clock.wall_ms(), clock.monotonic_ms(), context.limits())
        outcome = handle(group, event, moment)
        group.adopt(outcome.group)
        self._perform(group, outcome, asked)

    def _perform(self, group: Group, outcome: GroupOutcome, asked: Ticket | None) -> None:
        """Carries out all steps, even if a response fails; an exception of the response to `asked` is raised last."""
        for level, text in outcome.notes:
            _log.log(_LEVELS[level], "%s", text)
        for change in outcome.timers:
            self.timers.change(group, change)
        failure = self._answer(group, outcome.replies, asked)
        for record in outcome.records:
            self._append(group, record)
        if failure is not None:
            raise failure

    def _answer(self, group: Group, replies: Iterable[Reply], asked: Ticket | None) -> Exception | None:
        """Sends the responses. Returns the exception of the response to `asked`, which is then still unanswered.
        Exceptions of other responses are only reported: they do not concern this caller, which may be answered already
        or still be parked.
        """
        failure: Exception | None = None
        for ticket, result in replies:
            answer = self._answers.get(ticket)
            if answer is None:
                continue  # its caller got an exception instead
            if ticket != asked:
                with self._context.store.guard(group):
                    answer(result)
            else:
                try:
                    answer(result)
                except Exception as error:
                    failure = error
                    continue
            self._answers.pop(ticket, None)
        return failure

    def _time_over(self, group: Group, timer: TimerName) -> None:
        try:
            self.handle(group, TimeOver(timer))
        except Exception:
            self.timers.change(group, TimerChange(timer, TRY_AGAIN_MS))  # the group still waits for it
            raise

    # ---- records

    def once_emptied(self, group: Group, then: Callable[[], object]) -> bool:
        """Calls `then` once the record of the empty group is written or failed; False when no such write runs."""
        if not group.is_being_emptied:
            return False
        self._after_write.setdefault(group, []).append(then)
        return True

    def _append(self, group: Group, record: GroupRecord) -> None:
        """Has the record written. An unforeseen exception of the store counts as a failed write."""
        store = self._context.store
        is_over = False

        def written(error: ErrorCode) -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self._written(group, record, error)

        with store.guard(group) as guard:
            store.persist(record.group, record.assignments, written)
        if guard.error is not None:
            written(ErrorCode.UNKNOWN_SERVER_ERROR)
        if isinstance(record.change, Assigned):
            self._context.on_rebalance_completed()

    def _written(self, group: Group, record: GroupRecord, error: ErrorCode) -> None:
        guard = self._context.store.guard
        with guard(group) as attempt:
            self.handle(group, RecordWritten(record.change, error))
        if attempt.error is not None and not group.is_dead:  # the group still waits for it
            self._context.timers.schedule(TRY_AGAIN_MS, partial(self._written, group, record, error))
            return
        if isinstance(record.change, Emptied):
            for then in self._after_write.pop(group, ()):
                with guard(group):
                    then()


class GroupTimers:
    """The armed timers of all groups.

    watched: members whose session timer runs; the purgatory "Heartbeat" of Kafka's metrics.
    JoinGroup and SyncGroup requests are parked in the purgatory "Rebalance", whose metrics count them.
    """

    def __init__(
        self, timers: Timers, rounds: Purgatory[Hashable], on_fired: Callable[[Group, TimerName], None]
    ) -> None:
        self.watched = 0
        self._timers = timers
        self._rounds = rounds
        self._on_fired = on_fired
        self._armed: dict[Group, dict[TimerName, Timer]] = {}

    @property
    def delayed(self) -> int:
        """The same number, under the name that the metrics of a purgatory use."""
        return self.watched

    def change(self, group: Group, change: TimerChange) -> None:
        """Arms a timer, replacing an armed timer of that name, or cancels it."""
        name, delay_ms = change
        if name in (ROUND, SYNCS):
            self._rounds.cancel_for_key((group, name))
            if delay_ms is not None:
                operation = _Deadline(partial(self._on_fired, group, name))
                self._rounds.try_complete_else_watch(operation, ((group, name),), delay_ms)
            return
        timer = self._take(group, name)
        if timer is not None:
            timer.cancel()
        if delay_ms is not None:
            self._armed.setdefault(group, {})[name] = self._timers.schedule(delay_ms, partial(self._fire, group, name))
            self.watched += name.kind is TimerKind.SESSION

    def _fire(self, group: Group, name: TimerName) -> None:
        self._take(group, name)
        self._on_fired(group, name)

    def _take(self, group: Group, name: TimerName) -> Timer | None:
        armed = self._armed.get(group)
        timer = None if armed is None else armed.pop(name, None)
        if armed is not None and not armed:
            del self._armed[group]
        if timer is not None:
            self.watched -= name.kind is TimerKind.SESSION
        return timer


class _Deadline(DelayedOperation):
    """Completes only by time-out; whatever ends the phase earlier cancels it."""

    __slots__ = ("on_over",)

    def __init__(self, on_over: Callable[[], None]) -> None:
        super().__init__()
        self.on_over = on_over

    def try_complete(self) -> bool:
        return False

    def on_expire(self) -> None:
        self.on_over()

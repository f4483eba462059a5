"""Parked operations: watched under keys, tried again when something happens to a key, done exactly once.

A produce with acks=-1, a fetch in long poll, a create-topics that waits for the metadata cache: each is a
DelayedOperation. It completes when an attempt succeeds or when its time is over, whichever comes first. Completed
operations leave every watch list at once, so nothing needs purging (the `*.purge.interval.requests` settings of Kafka
tune its reaper and have nothing to do here). Single-threaded: what Kafka guards with locks is ordering here.
Source: docs/reference/replication.md, section 15.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

from kafka_py.base.timers import Timer, Timers

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)


class DelayedOperation:
    """Something that is answered later. Subclasses say when (`try_complete`) and what then (`on_complete`)."""

    __slots__ = ("_keys", "_purgatory", "_timer", "is_completed")

    def __init__(self) -> None:
        self.is_completed = False
        self._purgatory: Purgatory[Any] | None = None
        self._keys: tuple[Hashable, ...] = ()
        self._timer: Timer | None = None

    def try_complete(self) -> bool:
        """Look whether it is ready and, if so, return `self.complete()`; else return False and change nothing."""
        raise TypeError(f"{type(self).__name__} does not say when it is complete")

    def touched(self, key: Hashable) -> None:
        """Something happened to this one of its keys; `try_complete` follows."""

    def on_complete(self) -> None:
        """Runs once, when the operation completes or expires: send the answer."""

    def on_expire(self) -> None:
        """Runs after `on_complete` when it was the time limit that completed the operation: count it."""

    def complete(self) -> bool:
        """Complete now whatever the conditions; True when it was this call that did it."""
        if self.is_completed:
            return False
        self.is_completed = True
        self._leave()
        self.on_complete()
        return True

    def _expire(self) -> None:
        self._timer = None
        if self.complete():
            self.on_expire()

    def _leave(self) -> None:
        """Out of the watch lists and the timing wheel."""
        purgatory, timer = self._purgatory, self._timer
        if purgatory is not None:
            self._purgatory = None
            purgatory._forget(self, self._keys)
        if timer is not None:
            self._timer = None
            timer.cancel()


class Purgatory(Generic[K]):
    """All parked operations of one kind; `name` is Kafka's (Produce, Fetch, ...), as its metrics show it."""

    def __init__(self, name: str, timers: Timers) -> None:
        self.name = name
        self.watched = 0
        """Entries in the watch lists: an operation counts once for each of its keys (PurgatorySize)."""
        self.delayed = 0
        """Operations that have not completed (NumDelayedOperations)."""
        self._timers = timers
        self._watchers: dict[Hashable, dict[DelayedOperation, None]] = {}

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[K], timeout_ms: float) -> bool:
        """Complete `operation` now if it can be, else park it under `keys` for at most `timeout_ms`.

        keys: what it waits for; a key given twice counts once. Must not be empty unless the time limit alone ends it.
        Returns True when the operation is complete on return. The loop is single-threaded, so one attempt before
        parking is enough: nothing can happen to a key between the attempt and the parking.
        """
        if operation.try_complete() or operation.is_completed:
            return True
        unique = tuple(dict.fromkeys(keys))
        watchers = self._watchers
        for key in unique:
            waiting = watchers.get(key)
            if waiting is None:
                watchers[key] = {operation: None}
            else:
                waiting[operation] = None
        self.watched += len(unique)
        self.delayed += 1
        operation._purgatory, operation._keys = self, unique
        operation._timer = self._timers.schedule(timeout_ms, operation._expire)
        return False

    def check_and_complete(self, key: K) -> int:
        """Something happened to `key`: try all that wait for it, oldest first; returns how many this completed.

        An attempt that raises is logged and its operation completed, so that one faulty operation cannot stay forever.
        """
        waiting = self._watchers.get(key)
        if waiting is None:
            return 0
        completed = 0
        for operation in list(waiting):
            if operation.is_completed:  # by an attempt just before it
                continue
            try:
                operation.touched(key)
                completed += operation.try_complete()
            except Exception:
                _log.exception("Purgatory %s: an attempt failed", self.name)
                self._complete_failed(operation)
        return completed

    def cancel_for_key(self, key: K) -> list[DelayedOperation]:
        """Take all that wait for `key` out, without completing them; they stay the caller's to answer."""
        operations = list(self._watchers.get(key, ()))
        for operation in operations:
            operation._leave()
        return operations

    def watched_keys(self) -> list[Hashable]:
        """Keys that something waits for."""
        return list(self._watchers)

    def close(self) -> int:
        """Complete everything that is parked, as if its time were over but without counting it as expired."""
        completed = 0
        for waiting in list(self._watchers.values()):
            for operation in list(waiting):
                try:
                    completed += operation.complete()
                except Exception:
                    _log.exception("Purgatory %s: completing on shutdown failed", self.name)
        return completed

    def _complete_failed(self, operation: DelayedOperation) -> None:
        try:
            operation.complete()
        except Exception:
            _log.exception("Purgatory %s: completing after a failed attempt failed too", self.name)

    def _forget(self, operation: DelayedOperation, keys: tuple[Hashable, ...]) -> None:
        watchers = self._watchers
        for key in keys:
            waiting = watchers[key]
            del waiting[operation]
            if not waiting:
                del watchers[key]
        self.watched -= len(keys)
        self.delayed -= 1

"""Waiting until the metadata cache says of each key (a topic, a partition) what a request waits for.

Only UpdateMetadata changes the cache; its handler reports the keys that it mentions to a purgatory. The operations
that are parked there only note these keys. The request itself looks at them in turns with all other work, because one
request may wait for thousands of topics, several of them for the same ones.
Source: docs/reference/replication.md, section 15 (purgatories "topic" and "ElectLeader").
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

from kafka_py.base.purgatory import DelayedOperation, Purgatory
from kafka_py.base.steps import slices
from kafka_py.base.turns import Turn

K = TypeVar("K", bound=Hashable)

IsDone = Callable[[K], bool | None]
"""Looks for at most some 0.25 ms. None: not at everything yet, so that the next look continues there."""


class DelayedChange(DelayedOperation, Generic[K]):
    """Waits until every key is done. `finish` looks at the keys: at all when it begins and when the time is over, and
    at those that have changed in between.
    """

    __slots__ = ("_changed", "_has_changed", "_is_done", "_unfinished")

    def __init__(self, keys: Collection[K], is_done: IsDone[K]) -> None:
        super().__init__()
        self._is_done = is_done
        self._unfinished: dict[K, None] = dict.fromkeys(keys)
        self._changed: dict[K, None] = dict.fromkeys(keys)  # those to look at
        self._has_changed = asyncio.Event()
        self._has_changed.set()

    def try_complete(self) -> bool:
        """Nothing is decided here: the request completes the operation when it has looked."""
        return False

    def touched(self, key: Hashable) -> None:
        if key in self._unfinished:
            self._changed[key] = None
            self._has_changed.set()

    def on_complete(self) -> None:
        self._has_changed.set()

    async def finish(self, turn: Turn) -> set[K]:
        """Returns, when all keys are done or the time is over, those that are not done. Raises what a look raises."""
        is_over = False
        while self._unfinished and not is_over:
            await self._has_changed.wait()
            self._has_changed.clear()
            is_over = self.is_completed  # what is in the cache then is not late, noted or not
            keys = self._unfinished.copy() if is_over else self._changed
            self._changed = {}
            for key in keys:
                if await self._look_at(key, turn):
                    del self._unfinished[key]
                    self._changed.pop(key, None)  # it may have been reported during the look
        self.complete()
        return set(self._unfinished)

    async def _look_at(self, key: K, turn: Turn) -> bool:
        while True:
            await turn.maybe_yield()
            is_done = self._is_done(key)
            if is_done is not None:
                return is_done


async def wait_until_done(
    purgatory: Purgatory[Hashable], keys: Collection[K], is_done: IsDone[K], timeout_ms: float, turn: Turn
) -> set[K]:
    """Waits until every key is done, at most `timeout_ms`; returns the keys that are not.

    keys: distinct; must not change meanwhile. turn: of the request.
    """
    operations: list[DelayedChange[K]] = []
    late: set[K] = set()
    try:
        for some in slices(keys):  # each operation enters and leaves the purgatory in one piece
            await turn.maybe_yield()
            operations.append(DelayedChange(some, is_done))
            purgatory.try_complete_else_watch(operations[-1], some, timeout_ms)
        # All at once: what a key waits for may be there for a short time only.
        for unfinished in await asyncio.gather(*(operation.finish(turn) for operation in operations)):
            await turn.maybe_yield()
            late |= unfinished
    finally:  # the request may be cancelled, and a look may raise
        for operation in operations:
            operation.complete()
    return late

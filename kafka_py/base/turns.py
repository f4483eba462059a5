"""Work that is done in turns with everything else on the loop.

Three forms: a coroutine asks a Turn now and then whether it has held the loop for long, or takes a large collection
from `sliced`, which needs no clock; a generator stops after every few elements and is driven by `run_turn`, or to its
end by `finish`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Generator
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from kafka_py.base.clock import Clock

T = TypeVar("T")

TURN_MS = 3.0
"""How long one kind of work may hold the loop."""

SLICE = 256
"""So many elements are dealt with before others have the loop; each may cost some 10 microseconds."""


class Turn:
    """Lets others have the loop when this work has held it for long; several tasks with one Turn share its time."""

    __slots__ = ("_clock", "_ends_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends_ms = clock.monotonic_ms() + TURN_MS

    async def maybe_yield(self) -> None:
        while self._clock.monotonic_ms() >= (over_ms := self._ends_ms):
            await asyncio.sleep(0)
            if self._ends_ms == over_ms:  # no other task has begun the next turn
                self._ends_ms = self._clock.monotonic_ms() + TURN_MS
                return


class Done(NamedTuple, Generic[T]):
    """The end of a generator: what it returned."""

    value: T


def run_turn(steps: Generator[None, None, T], now_ms: Callable[[], float]) -> Done[T] | None:
    """Lets the generator work until it ends, or until its turn of TURN_MS is over: then None. Raises what it raises."""
    ends_ms = now_ms() + TURN_MS
    try:
        while True:
            next(steps)
            if now_ms() >= ends_ms:
                return None
    except StopIteration as end:
        return Done(end.value)


async def finish(steps: Generator[None, None, T], now_ms: Callable[[], float]) -> T:
    """What the generator returns, after as many turns as it takes."""
    while True:
        done = run_turn(steps, now_ms)
        if done is not None:
            return done.value
        await asyncio.sleep(0)


async def sliced(elements: Collection[T], size: int = SLICE) -> AsyncIterator[list[T]]:
    """The elements in their order, in lists of at most `size`; others have the loop between two of them.

    The collection must not change meanwhile. One that is not larger than a slice comes without a stop.
    """
    remaining = iter(elements)
    left = len(elements)
    while left > 0:
        yield list(islice(remaining, size))
        left -= size
        if left > 0:
            await asyncio.sleep(0)


async def release(elements: list[Any]) -> None:
    """Empties a list in turns with other work: to free very many values at once takes long as well."""
    while len(elements) > SLICE:
        del elements[-SLICE:]
        await asyncio.sleep(0)
    elements.clear()

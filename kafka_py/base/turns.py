"""Work that is done in turns with everything else on the loop.

Three forms: a coroutine asks a Turn now and then whether it has held the loop for long, or takes a large collection
from `sliced`, which needs no clock; a generator stops after every few elements (steps.py) and is driven by `run_turn`,
or to its end by `finish`, `in_turns` or `take_in_turns`. However many of them there are, one of them has a turn between
two looks at the sockets, or the tasks that share one Turn: the requests that one client has sent at once, each of which
takes long, hold the loop no longer than one of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterable
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from kafka_py.base.clock import Clock
from kafka_py.base.garbage import Freed
from kafka_py.base.steps import SLICE

T = TypeVar("T")

TURN_MS = 0.25
"""How long one kind of work may hold the loop."""

SHARERS = 64
"""Tasks with one Turn that are resumed together, which takes 0.1 ms; those that find the turn over wait again."""


class _Sharers:
    """Tasks that wait for a turn together. again: those that come first, for they were resumed and found it over."""

    __slots__ = ("again", "new")

    def __init__(self) -> None:
        self.again: list[asyncio.Future[None]] = []
        self.new: list[asyncio.Future[None]] = []

    def take(self) -> list[asyncio.Future[None]]:
        """Removes and returns at most SHARERS of those that still wait, among them all in `again`.

        These are fewer: of tasks that are resumed together the first one has the turn.
        """
        again, new = ([each for each in some if not each.done()] for some in (self.again, self.new))
        room = SHARERS - len(again)
        self.again, self.new = [], new[room:]
        return again + new[:room]


class _Line:
    """Those whose turn was over, in the order in which they get their next one; tasks with one Turn get it together."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: OrderedDict[object, _Sharers] = OrderedDict()

    def join(self, loop: asyncio.AbstractEventLoop, turn: Turn | None, is_again: bool) -> asyncio.Future[None]:
        if not self._waiting:
            loop.call_soon(self._admit, loop)
        future = loop.create_future()
        sharers = self._waiting.setdefault(turn or future, _Sharers())
        (sharers.again if is_again else sharers.new).append(future)
        return future

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Resumes the first one that is still waiting, and some of those that have the same Turn."""
        resumed: list[asyncio.Future[None]] = []
        while self._waiting and not resumed:
            turn, first = self._waiting.popitem(last=False)
            resumed = first.take()
            if first.new:
                self._waiting[turn] = first
            if resumed and isinstance(turn, Turn):
                turn.admit()
        for future in resumed:
            future.set_result(None)
        if self._waiting:
            loop.call_soon(self._admit, loop)


_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()
"""One for each event loop, which is what the turns are of."""


async def next_turn(turn: Turn | None = None, *, is_again: bool = False) -> None:
    """Ends a turn; the next one begins when those who ended theirs before have had one.

    turn: shared with other tasks, whose next turn is the same one. is_again: the task has waited and found that turn
    over; it comes before those that have had a part of it.
    """
    loop = asyncio.get_running_loop()
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    await line.join(loop, turn, is_again)


class Turn:
    """Lets others have the loop when this work has held it for `turn_ms`; tasks with one Turn share its time."""

    __slots__ = ("_clock", "_ends_ms", "_is_admitted", "_turn_ms")

    def __init__(self, clock: Clock, turn_ms: float = TURN_MS) -> None:
        self._clock = clock
        self._turn_ms = turn_ms
        self._ends_ms = clock.monotonic_ms() + turn_ms
        self._is_admitted = False

    def admit(self) -> None:
        """The next turn begins when the first of the resumed tasks runs."""
        self._is_admitted = True

    async def maybe_yield(self) -> None:
        is_again = False
        while self._clock.monotonic_ms() >= self._ends_ms:
            await next_turn(self, is_again=is_again)
            if self._is_admitted:
                self._is_admitted = False
                self._ends_ms = self._clock.monotonic_ms() + self._turn_ms
                return
            is_again = True

    async def finish(self, steps: Generator[None, None, T]) -> T:
        """What the generator returns; before each of its steps the turn may be over. Raises what it raises."""
        while True:
            await self.maybe_yield()
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result


async def take_in_turns(steps: Iterable[object], turn: Turn) -> None:
    """Runs a generator, whose values mean nothing, to its end; after each of them the turn may be over."""
    for _ in steps:
        await turn.maybe_yield()


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
        await next_turn()


async def in_turns(steps: Generator[None, None, T]) -> T:
    """What the generator returns; each of its steps is a turn, so that no clock is needed. Raises what it raises."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await next_turn()


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
    freed = Freed()
    while len(elements) > SLICE:
        del elements[-SLICE:]
        freed.add(SLICE)
        await asyncio.sleep(0)
    elements.clear()

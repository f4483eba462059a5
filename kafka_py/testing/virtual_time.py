"""An event loop whose clock jumps: nothing waits, yet timers fire in order, so hours pass in milliseconds.

Instead of waiting for the next timer the loop moves its clock there. A run is repeatable: with no sockets involved,
the same coroutines always run in the same order. `await asyncio.sleep(1)` in a test lets everything happen that
happens within a second.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")

START_WALL_MS = 1_600_000_000_000
MOST_TURNS_AT_ONCE = 200_000
"""Of the loop, before virtual time has to move."""
TICK_S = 0.001
"""How near a timer counts as due."""
MOST_TURNS = 1 << 62
"""Of a loop without a limit of its own."""


class Stuck(Exception):
    """Nothing is left that could ever wake the loop: the test waits for what cannot happen."""


class Busy(Exception):
    """The loop turned too often: something schedules itself without end. Names what is scheduled most."""


class _JumpingSelector(selectors.PollSelector):
    """Counts the loop's turns, for each turn asks once.

    turns: since the loop began. turns_at_once: since virtual time last moved.
    """

    def __init__(self, refuse: Callable[[str], None]) -> None:
        super().__init__()
        self.now_s = 0.0
        self.turns = 0
        self.turns_at_once = 0
        self.most_turns = MOST_TURNS
        self._refuse = refuse

    def select(self, timeout: float | None = None) -> Any:
        self.turns += 1
        self.turns_at_once += 1
        if self.turns_at_once > MOST_TURNS_AT_ONCE:
            self._refuse(f"{self.turns_at_once} turns while it was {self.now_s:.3f} s")
        if self.turns > self.most_turns:
            self._refuse(f"{self.turns} turns in {self.now_s:.3f} s")
        ready = super().select(0)
        if ready or timeout == 0:  # what can run now runs before any time passes
            return ready
        if timeout is None:
            raise Stuck
        if timeout > 0:
            self.now_s += timeout
            self.turns_at_once = 0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never waits; sockets are polled, but time does not pass for their sake.

    It raises Busy instead of a turn too many: MOST_TURNS_AT_ONCE without progress of virtual time, or more in all than
    `limit_turns` allows.
    """

    def __init__(self) -> None:
        self._jumping = _JumpingSelector(self._refuse)
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s

    @property
    def turns(self) -> int:
        """How often the loop has looked for something to do."""
        return self._jumping.turns

    def limit_turns(self, most_turns: int) -> None:
        """Bounds the turns of the loop's whole life."""
        self._jumping.most_turns = most_turns

    def _refuse(self, what: str) -> None:
        """Raises Busy, which then also ends whatever still runs on the loop: the count begins again for that."""
        self._jumping.turns = self._jumping.turns_at_once = 0
        due = [timer for timer in self._scheduled if timer.when() <= self.time() + TICK_S]  # type: ignore[attr-defined]
        scheduled = Counter(_described(handle) for handle in (*self._ready, *due))  # type: ignore[attr-defined]
        lines = [f"{count} times {name}" for name, count in scheduled.most_common(10)]
        raise Busy("\n  ".join([f"{what}; scheduled:", *lines, *self._ready_descriptors()[:10]]))

    def _ready_descriptors(self) -> list[str]:
        """What is called for the descriptors that are ready."""
        ready = selectors.PollSelector.select(self._jumping, 0)
        return [f"descriptor: {_described(handle)}" for key, _ in ready for handle in key.data if handle is not None]


def _described(handle: asyncio.Handle) -> str:
    """What a handle calls, short enough for a list; the step of a task is named by its coroutine."""
    callback = handle._callback  # type: ignore[attr-defined]
    callback = getattr(callback, "callback", callback)
    owner = getattr(callback, "__self__", None)
    return repr(owner.get_coro()) if isinstance(owner, asyncio.Task) else repr(callback)[:200]


class VirtualClock:
    """The loop's time as a Clock. `jump_wall` moves the wall clock alone, as an administrator may."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._wall_offset_ms = START_WALL_MS

    def wall_ms(self) -> int:
        return self._wall_offset_ms + round(self._loop.time() * 1000)

    def monotonic_ms(self) -> float:
        return self._loop.time() * 1000

    def monotonic_s(self) -> float:
        return self._loop.time()

    def jump_wall(self, ms: int) -> None:
        self._wall_offset_ms += ms


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end in virtual time; what it leaves running is cancelled.

    Raises Stuck when it waits for something that nothing can bring about.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def in_virtual_time(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test that is a coroutine, run in virtual time."""

    @wraps(test)
    def run() -> None:
        run_virtual(test())

    return run


def virtual_clock() -> VirtualClock:
    """A clock on the running loop, which must be a VirtualLoop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return VirtualClock(loop)

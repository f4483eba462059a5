"""An event loop whose clock jumps: nothing waits, yet timers fire in order, so hours pass in milliseconds.

Instead of waiting for the next timer the loop moves its clock there. A run is repeatable: with no sockets involved,
the same coroutines always run in the same order. `await asyncio.sleep(1)` in a test lets everything happen that
happens within a second.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

START_WALL_MS = 1_600_000_000_000


class Stuck(Exception):
    """Nothing is left that could ever wake the loop: the test waits for what cannot happen."""


class _JumpingSelector(selectors.PollSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:  # what can go on now goes on before any time passes
            return ready
        if timeout is None:
            raise Stuck
        self.now_s += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never waits; sockets are polled, but time does not pass for their sake."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


class VirtualClock:
    """The loop's time as a Clock. `jump_wall` moves the wall clock alone, as an administrator may."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._wall_offset_ms = START_WALL_MS

    def wall_ms(self) -> int:
        return self._wall_offset_ms + round(self._loop.time() * 1000)

    def monotonic_ms(self) -> float:
        return self._loop.time() * 1000

    def jump_wall(self, ms: int) -> None:
        self._wall_offset_ms += ms


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end in virtual time; what it leaves running is cancelled.

    Raises Stuck when it waits for something that nothing can bring about.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtual_clock() -> VirtualClock:
    """A clock on the running loop, which must be a VirtualLoop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return VirtualClock(loop)

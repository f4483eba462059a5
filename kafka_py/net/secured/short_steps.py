"""Steps of handshakes that run on the event loop, a bounded time in each of its turns.

A step in a thread costs two changes of thread and a wait for the interpreter lock, which is more than the cryptography
of a short step. Hundreds of clients may connect at once, and so what does not fit a turn waits for the next one:
connections that are open already are served between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kafka_py.net.event_loop.turns import LoopTurns, TurnShare


class ShortSteps:
    """The short steps of all connections of one loop."""

    def __init__(self, turns: LoopTurns) -> None:
        self._turns = turns
        self._waiting: deque[Callable[[], None]] = deque()
        self._share: TurnShare | None = None  # of the last turn with a step
        self._is_due = False  # the next of them are scheduled

    def run(self, step: Callable[[], None]) -> bool:
        """Runs `step` at once; False when it must wait for one of the next turns, after those that came before it."""
        if self._waiting:
            self._waiting.append(step)
            return False
        share, turns = self._share, self._turns
        if share is None or share.began_s != turns.began_s(turns.now_s()):
            self._share = turns.share()
        elif share.is_over():
            self._waiting.append(step)
            self._schedule()
            return False
        step()
        return True

    def _schedule(self) -> None:
        if self._waiting and not self._is_due:
            self._is_due = True
            self._turns.put_off(self._next_turn)

    def _next_turn(self) -> None:
        """Whatever a step raises is the loop's to report, and the next turn begins with the one after it."""
        self._is_due = False
        self._share = share = self._turns.share()
        try:
            while self._waiting:
                self._waiting.popleft()()
                if share.is_over():
                    break
        finally:
            self._schedule()

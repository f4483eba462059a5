"""How long callbacks of the event loop continue in one of its turns with work that has further pieces.

Several kinds of work may be long: the requests that a client has sent at once, what a TLS stream holds, new
connections, handshakes. All of these share the time of a turn, and what was put off comes after whatever has just
become ready. While there are clients that send single requests, a turn is short, unless nothing else could be served:
whoever sends one small request waits for little more than a quantum, however much others have sent.

Consumers, followers and producers of large batches are such clients too: their requests arrive one by one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sized

from kafka_py.net.event_loop.loop import LoopWatch

TURN_S = 0.002
"""After so long in a turn no work continues that has had its least time: answers leave at the end of a turn."""
QUANTUM_S = 0.000_1
"""The same while a client sends single requests and others wait. Ending a turn costs 20 to 40 microseconds."""
LEAST_S = 0.000_25
"""Each connection that is ready may take so long, although others before it have used up the time."""
LEAST_QUANTUM_S = 0.000_05
"""The same while a client sends single requests."""
HELD_S = 0.004
"""After so long in a turn each connection has one request: tens of clients with much to do may be ready at once."""
PUT_OFF_PART = 0.25
SINGLE_S = 0.1
"""For so long after a single request turns are short: its client may send the next one."""
FEW = 4
"""A connection on which so many requests arrive at once does not count as one with single requests, for BUSY_S."""
BUSY_S = 1.0


class LoopTurns:
    """The turns of one loop.

    now_s: the monotonic time, the same as `watch` has; without a watch a share is never extended.
    single_until_s: until when turns are short. put_off: has a callback called in the next turn, after what has become
    ready until then, if the loop can do that.
    """

    __slots__ = (
        "_began_s", "_deferred", "_first", "_is_due", "_is_first", "_loop", "now_s", "put_off", "single_until_s",
        "watch",
    )  # fmt: skip

    def __init__(
        self, loop: asyncio.AbstractEventLoop, now_s: Callable[[], float], watch: LoopWatch | None = None
    ) -> None:
        self.now_s = now_s
        self.watch = watch
        self.single_until_s = 0.0
        call_last = None if watch is None else watch.call_last
        self.put_off: Callable[[Callable[[], None]], object] = call_last or loop.call_soon
        self._loop = loop
        self._began_s: float | None = None  # the present turn, on a loop that does not say it
        self._first: deque[Callable[[], None]] = deque()
        self._deferred: deque[Callable[[], None]] = deque()
        self._is_first = False  # the last one that was called
        self._is_due = False  # the next of them are scheduled

    def arrived(self, count: int, now_s: float, busy_until_s: float) -> float:
        """So many requests have arrived at once, on a connection that was busy until then; returns until when it is."""
        if count >= FEW:
            return now_s + BUSY_S
        if count == 1 and now_s > busy_until_s:
            self.single_until_s = now_s + SINGLE_S
        return busy_until_s

    def share(self) -> TurnShare:
        """What is left of the present turn for work that was put off and begins now.

        At least a quarter of what the turn has lasted, so that it advances however much becomes ready; while a client
        sends single requests also LEAST_QUANTUM_S.
        """
        now_s = self.now_s()
        began_s = self.began_s(now_s)
        least_s = (now_s - began_s) * PUT_OFF_PART
        most_s = began_s + TURN_S
        if now_s < self.single_until_s:
            return TurnShare(self, began_s, max(began_s + QUANTUM_S, now_s + max(least_s, LEAST_QUANTUM_S)), most_s, ())
        most_s = max(most_s, now_s + least_s)
        return TurnShare(self, began_s, most_s, most_s, ())

    def share_of_one(self) -> TurnShare:
        """What is left of it for one connection, the requests of which are deferred when its time is over.

        With n deferred ones a part of the turn, at least LEAST_S; while a client sends single requests a quantum, at
        least LEAST_QUANTUM_S. After HELD_S one request.
        """
        now_s = self.now_s()
        began_s = self.began_s(now_s)
        most_s = began_s + TURN_S
        if now_s >= began_s + HELD_S:
            ends_s = now_s
        elif now_s < self.single_until_s:
            ends_s = max(began_s + QUANTUM_S, now_s + LEAST_QUANTUM_S)
        else:
            part_s = TURN_S / (1 + len(self._deferred))
            ends_s = most_s = max(min(most_s, now_s + part_s), now_s + LEAST_S)
        return TurnShare(self, began_s, ends_s, most_s, self._deferred)

    def began_s(self, now_s: float) -> float:
        """When the present turn began, or on a loop that does not say it, the first share of it."""
        if self.watch is not None and self.watch.woke_s is not None:
            return self.watch.woke_s
        if self._began_s is None:
            self._began_s = now_s
            self._loop.call_soon(self._next_turn)
        return self._began_s

    def _next_turn(self) -> None:
        self._began_s = None

    def defer(self, work: Callable[[], None], is_first: bool = False) -> None:
        """Has `work` called when it is its turn again, after all that were deferred before it.

        is_first: it has had no turn yet. These have a queue of their own, which alternates with the other one.
        """
        (self._first if is_first else self._deferred).append(work)
        if not self._is_due:
            self._is_due = True
            self.put_off(self._continue)

    def _continue(self) -> None:
        """Some of them: others on the loop wait no longer for a thousand of them than for one."""
        share = self.share()
        try:
            for _ in range(len(self._first) + len(self._deferred)):  # not those that come back meanwhile
                self._is_first = bool(self._first) and not (self._is_first and self._deferred)
                (self._first if self._is_first else self._deferred).popleft()()
                if share.is_over():
                    break
        finally:
            self._is_due = bool(self._first or self._deferred)
            if self._is_due:
                self.put_off(self._continue)


class TurnShare:
    """A part of a turn, which begins when it is made. began_s: when the turn began."""

    __slots__ = ("_behind", "_ends_s", "_most_s", "_turns", "began_s")

    def __init__(self, turns: LoopTurns, began_s: float, ends_s: float, most_s: float, behind: Sized) -> None:
        self.began_s = began_s
        self._turns = turns
        self._ends_s = ends_s
        self._most_s = most_s
        self._behind = behind

    def is_over(self) -> bool:
        """Whether others are to have the loop; asked between two pieces of the work."""
        watch, now_s = self._turns.watch, self._turns.now_s()
        if now_s < self._ends_s:
            return False
        if now_s >= self._most_s or self._behind or watch is None or watch.others_wait():
            return True
        self._ends_s = min(now_s + QUANTUM_S, self._most_s)
        return False

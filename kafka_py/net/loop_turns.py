"""How long callbacks of the event loop go on in one of its turns with work of which there is more.

Several kinds of work may be long: the requests that a client has sent at once, connections whose turn was over, new
connections, handshakes. All of it that is done in one turn of the loop shares the time of that turn, and what was put
off comes after whatever has just arrived. While there are clients that send single requests, a turn is short, unless
nothing else could be served: whoever sends one small request waits for a quantum, however much others have sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kafka_py.net.loop import LoopWatch

TURN_S = 0.002
"""How long a turn is at most: answers leave at its end."""
QUANTUM_S = 0.000_25
"""How long it is while a client waits that sends single requests. Ending a turn costs 20 to 40 microseconds."""
LEAST_S = 0.000_25
LEAST_QUANTUM_S = 0.000_1
"""Each piece of work that has its turn may take so long, although others before it have used up the time."""
SINGLE_S = 0.1
"""For so long after a single request turns are short: its client may send the next one."""
FEW = 4
"""A connection that has sent so many requests at once is none of these clients, for BUSY_S."""
BUSY_S = 1.0


class LoopTurns:
    """The turns of one loop. now_s: the monotonic time, as `watch` has it; without a watch others always wait.

    single_until_s: until when turns are short. put_off: has a callback called in the next turn, after what has become
    ready until then, if the loop can do that.
    """

    __slots__ = ("now_s", "put_off", "single_until_s", "watch")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, now_s: Callable[[], float], watch: LoopWatch | None = None
    ) -> None:
        self.now_s = now_s
        self.watch = watch
        call_last = None if watch is None else watch.call_last
        self.put_off: Callable[[Callable[[], None]], object] = call_last or loop.call_soon
        self.single_until_s = 0.0

    def share(self) -> Share:
        """What is left of the present turn for the work that begins now."""
        now_s, watch = self.now_s(), self.watch
        began_s = now_s if watch is None or watch.woke_s is None else watch.woke_s
        if now_s < self.single_until_s:
            return Share(self, max(began_s + QUANTUM_S, now_s + LEAST_QUANTUM_S), began_s + TURN_S)
        most_s = max(began_s + TURN_S, now_s + LEAST_S)
        return Share(self, most_s, most_s)


class Share:
    """A part of a turn. It begins at once."""

    __slots__ = ("_ends_s", "_most_s", "_turns")

    def __init__(self, turns: LoopTurns, ends_s: float, most_s: float) -> None:
        self._turns = turns
        self._ends_s = ends_s
        self._most_s = most_s

    def is_over(self) -> bool:
        """Whether others are to have the loop; asked between two pieces of the work."""
        turns = self._turns
        now_s = turns.now_s()
        if now_s < self._ends_s:
            return False
        if now_s >= self._most_s or turns.watch is None or turns.watch.others_wait():
            return True
        self._ends_s = now_s + QUANTUM_S
        return False

"""How a thread of the application waits, so that signals end the wait. Knows nothing of Kafka.

Python runs the handler of a signal in the main thread: between two instructions, or when the signal interrupts the
system call in which the thread waits. A signal that arrives after the last instruction and before the system call, or
that the kernel delivers to another thread, does neither, and its handler would run only when the wait ends. So each
wait is at most LOOK_S long, after which Python runs the handler, and then the wait is continued.

The handler may raise an exception. One that is raised inside of threading.Condition, which threading.Event and
concurrent.futures.Future use, can leave its lock locked; the thread of the event loop would then wait for that lock
forever. Locks and queues that are written in C are not interrupted between the taking of a lock and what releases it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

LOOK_S = 0.5


def waits(timeout_s: float | None) -> Iterator[float]:
    """How long to wait each time, in seconds: `timeout_s` in pieces, and at least once; endless when None."""
    if timeout_s is None:
        while True:
            yield LOOK_S
    while timeout_s > LOOK_S:
        yield LOOK_S
        timeout_s -= LOOK_S
    yield max(0.0, timeout_s)


class Gate:
    """Threads wait until another one opens it. It opens once."""

    __slots__ = ("_is_open", "_lock")

    def __init__(self) -> None:
        self._is_open = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def open(self) -> None:
        """Ends all waits; for one thread alone, which may call it again."""
        if not self._is_open:
            self._is_open = True
            self._lock.release()

    def wait(self, timeout_s: float | None) -> bool:
        """Waits `timeout_s` seconds at most, forever when None; whether the gate is open."""
        for wait_s in waits(timeout_s):
            if self._is_open:
                break
            if self._lock.acquire(timeout=wait_s):
                self._lock.release()  # for the next one; an interrupt in between leaves that one to look for itself
        return self._is_open

"""The bound on the memory that unsent records take (buffer.memory), shared fairly among those who wait for it.

Only counts: Python's allocator already reuses blocks, so keeping byte buffers of batch.size here would save nothing.
As in Kafka, memory of exactly batch.size goes back to a list of pooled pieces, everything else to the common rest.
Not thread-safe by itself: the accumulator's lock guards it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class MemoryWaiter:
    """A place in the queue for `size` bytes; `granted` once they are reserved for it, and then `notify` was called."""

    __slots__ = ("granted", "notify", "size")

    def __init__(self, size: int, notify: Callable[[], object]) -> None:
        self.size = size
        self.notify = notify
        self.granted = False


class BufferPool:
    """`total` bytes, of which pieces of `piece` bytes are pooled once they have been used."""

    def __init__(self, total: int, piece: int) -> None:
        self.total = total
        self.piece = piece
        self.free_pieces = 0
        self._rest = total
        self._waiters: deque[MemoryWaiter] = deque()

    @property
    def available(self) -> int:
        """Bytes not taken, pooled pieces included."""
        return self._rest + self.free_pieces * self.piece

    @property
    def waiting(self) -> int:
        """How many wait for memory; while any does, batches are sent without lingering."""
        return len(self._waiters)

    def try_allocate(self, size: int) -> bool:
        """Takes `size` bytes, unless there are too few or others have waited longer."""
        return not self._waiters and self._take(size)

    def _take(self, size: int) -> bool:
        if size == self.piece and self.free_pieces:
            self.free_pieces -= 1
            return True
        if size > self.available:
            return False
        while self._rest < size:
            self.free_pieces -= 1
            self._rest += self.piece
        self._rest -= size
        return True

    def deallocate(self, size: int) -> list[Callable[[], object]]:
        """Gives `size` bytes back; returns the waiters to notify, best done without the lock."""
        if size == self.piece:
            self.free_pieces += 1
        else:
            self._rest += size
        return self._serve()

    def _serve(self) -> list[Callable[[], object]]:
        served = []
        while self._waiters and self._take(self._waiters[0].size):
            waiter = self._waiters.popleft()
            waiter.granted = True
            served.append(waiter.notify)
        return served

    def wait(self, size: int, notify: Callable[[], object]) -> MemoryWaiter:
        """Queues for `size` bytes; the memory is the waiter's own when `notify` is called."""
        waiter = MemoryWaiter(size, notify)
        self._waiters.append(waiter)
        for call in self._serve():
            call()
        return waiter

    def withdraw(self, waiter: MemoryWaiter) -> list[Callable[[], object]]:
        """Leaves the queue, or gives back what was granted; returns the waiters to notify."""
        if waiter.granted:
            waiter.granted = False
            return self.deallocate(waiter.size)
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        return self._serve()

"""The bound on the memory that unsent records take (buffer.memory); who waits for memory is served in order.

Only counts bytes: Python's allocator already reuses blocks, so keeping buffers of batch.size here would save nothing.
As in Kafka, memory of exactly batch.size is returned to a list of pooled pieces, all other memory to the unpooled rest.
Not thread-safe by itself: the accumulator's lock guards it. Source: BufferPool.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class MemoryWaiter:
    """A place in the queue for `size` bytes. `notify` is called when they are reserved for it and `granted` is set."""

    __slots__ = ("granted", "notify", "size")

    def __init__(self, size: int, notify: Callable[[], object]) -> None:
        self.size = size
        self.notify = notify
        self.granted = False


class BufferPool:
    """`total` bytes; pieces of exactly `piece` bytes are pooled when they are returned."""

    def __init__(self, total: int, piece: int) -> None:
        self.total = total
        self.piece = piece
        self.free_pieces = 0
        self._rest = total
        self._waiters: deque[MemoryWaiter] = deque()

    @property
    def available(self) -> int:
        """Free bytes, pooled pieces included."""
        return self._rest + self.free_pieces * self.piece

    @property
    def waiting(self) -> int:
        """How many callers wait for memory; while there are any, batches are sent without lingering."""
        return len(self._waiters)

    def try_allocate(self, size: int) -> bool:
        """Takes `size` bytes; False if too few are free or others wait already."""
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
        """Returns `size` bytes to the pool; the result are the waiters to notify, preferably without the lock."""
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
        """Queues for `size` bytes; the memory belongs to the waiter when `notify` is called."""
        waiter = MemoryWaiter(size, notify)
        self._waiters.append(waiter)
        for call in self._serve():
            call()
        return waiter

    def withdraw(self, waiter: MemoryWaiter) -> list[Callable[[], object]]:
        """Leaves the queue, or returns the granted memory to the pool; the result are the waiters to notify."""
        if waiter.granted:
            waiter.granted = False
            return self.deallocate(waiter.size)
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        return self._serve()

"""The content of one file of the disk in memory: what was written, and what of it a power failure leaves."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field


@dataclass(eq=False)
class Inode:
    """A file's content: `written` bytes, then zeroes up to `size`. `durable`: both as of the last sync."""

    written: bytearray = field(default_factory=bytearray)
    size: int = 0
    durable: tuple[bytes, int] = (b"", 0)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(position, data) of writes, (size, None) of truncations, since the last sync."""
    modified_ms: int = 0
    descriptor: int = -1

    def read(self, size: int, position: int) -> bytes:
        size = max(min(size, self.size - position), 0)
        return bytes(self.written[position : position + size]).ljust(size, b"\0")

    def write(self, data: bytes, position: int) -> None:
        if position > len(self.written):
            self.written.extend(bytes(position - len(self.written)))
        self.written[position : position + len(data)] = data
        self.size = max(self.size, position + len(data))
        if self.descriptor >= 0:
            os.pwrite(self.descriptor, data, position)

    def truncate(self, size: int) -> None:
        del self.written[size:]
        self.size = size
        if self.descriptor >= 0:
            os.ftruncate(self.descriptor, size)

    def sync(self) -> None:
        self.durable = bytes(self.written), self.size
        self.unsynced.clear()

    def fileno(self) -> int:
        """A descriptor with the same content, for code that hands it to the operating system."""
        if self.descriptor < 0:
            self.descriptor = os.memfd_create("fake")
            os.pwrite(self.descriptor, self.written, 0)
            os.ftruncate(self.descriptor, self.size)
        return self.descriptor

    def lose(self, rng: random.Random | None) -> None:
        """Back to what was synced, and with `rng` some of what was not."""
        unsynced, self.unsynced = self.unsynced, []
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        self.written, self.size = bytearray(self.durable[0]), self.durable[1]
        if rng is not None:
            self._replay_torn(unsynced, rng)
        self.sync()

    def _replay_torn(self, unsynced: list[tuple[int, bytes | None]], rng: random.Random) -> None:
        for position, data in unsynced:
            fate = rng.random()
            if fate < 0.3:
                if data is None:
                    break  # what is written after a truncation lies in new blocks, which are the file's only after it
                continue
            if data is None:
                self.truncate(position)
            else:
                self.write(data if fate < 0.7 else data[: rng.randrange(len(data) + 1)], position)

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

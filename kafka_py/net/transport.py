"""A non-blocking byte stream over a socket: the seam where TLS takes the place of plain bytes.

All methods raise BlockingIOError when the peer must act first, and OSError when the connection is lost. Knows nothing
of frames. `recv_into`, `send` and `sendmsg` of the plain transport are the socket's own methods: no call in between.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable
from typing import Protocol

from kafka_py.base.slices import FileSlice

Buffer = bytes | bytearray | memoryview

MSG_MORE = getattr(socket, "MSG_MORE", 0)
"""More data follows at once, do not send a small packet: between a response's header and its file slices."""


class Readiness(Protocol):
    """Reports when a transport can be read or written: the event loop, or a transport that holds data of its own."""

    def add_reader(self, fileno: int, call: Callable[[], None], /) -> object: ...

    def remove_reader(self, fileno: int, /) -> object: ...

    def add_writer(self, fileno: int, call: Callable[[], None], /) -> object: ...

    def remove_writer(self, fileno: int, /) -> object: ...


class Transport(Protocol):
    """What a connection needs of its byte stream."""

    fileno: int

    @property
    def readiness(self) -> Readiness | None:
        """What reports when it can be read or written; None for the event loop."""
        ...

    def recv_into(self, buffer: memoryview, /) -> int:
        """Fills the buffer as far as data is there; 0 means that the peer has closed."""
        ...

    def send(self, data: Buffer, flags: int, /) -> int:
        """Bytes taken."""
        ...

    def sendmsg(self, buffers: Iterable[Buffer], ancillary: Iterable[object], flags: int, /) -> int:
        """Bytes taken; there is no ancillary data."""
        ...

    def send_file(self, part: FileSlice, offset: int) -> int:
        """Send from `offset` bytes into the slice on; returns how many bytes left, 0 when the file ends early."""
        ...

    def close(self) -> None: ...


class PlaintextTransport:
    """Bytes as they are; file slices go from the page cache to the socket inside the kernel."""

    __slots__ = ("_socket", "fileno", "readiness", "recv_into", "send", "sendmsg")

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self.readiness: Readiness | None = None
        self._socket = connected
        self.fileno = connected.fileno()
        self.recv_into: Callable[[memoryview], int] = connected.recv_into
        self.send: Callable[[Buffer, int], int] = connected.send
        self.sendmsg: Callable[[Iterable[Buffer], Iterable[object], int], int] = connected.sendmsg  # type: ignore[assignment]

    def send_file(self, part: FileSlice, offset: int) -> int:
        return os.sendfile(self.fileno, part.file.fileno(), part.position + offset, part.size - offset)

    def close(self) -> None:
        self._socket.close()

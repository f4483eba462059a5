"""Connects kazoo's connection thread with the event loop: an inbox for the loop, and a single-threaded kazoo handler.

kazoo gets a handler (its own extension point) with one thread instead of three: responses and watches are not called
back on worker threads but posted to the loop, in the order in which they were received, many per wake-up. The handler
also gives kazoo a buffered socket; kazoo itself would poll and read twice per response. Knows kazoo's thread rules,
nothing of sessions.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from kazoo.handlers.threading import KazooTimeoutError

from kafka_py.zk.secured.tls_link import TlsLink

_log = logging.getLogger(__name__)

_READ_SIZE = 1 << 16

FIRST_ANSWER_S = 1.0
"""Time limit of the first attempt to open a session, for the connection and for the first response. After an attempt
without a response the limit doubles. A ZooKeeper that has just bound its port may accept a connection and never respond
to it, while the next connection gets a response at once; a slow server needs the longer limits."""


class LoopInbox:
    """Calls posted from any thread run on the loop in order; the loop is woken once for all waiting calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._awake = False

    def post(self, call: Callable[..., None], *arguments: Any) -> None:
        """Posts a call, from any thread. Posts to a closed loop are dropped."""
        self._calls.append((call, arguments))
        if not self._awake:
            self._awake = True
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:
                self._calls.clear()

    def _drain(self) -> None:
        # Cleared before reading: a later post wakes the loop again, so that no call is missed.
        self._awake = False
        while self._calls:
            call, arguments = self._calls.popleft()
            try:
                call(*arguments)
            except Exception:
                _log.exception("a call posted to the loop failed")


class BufferedSocket:
    """A connected non-blocking socket with a read buffer.

    was_answered: whether any byte has been received.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._buffer = b""
        self._position = 0
        self.was_answered = False
        self._write_timeout: float | None = None

    def fileno(self) -> int:
        return self._socket.fileno()

    def setblocking(self, _flag: bool) -> None:
        self._socket.setblocking(False)

    def getpeername(self) -> Any:
        return self._socket.getpeername()

    def close(self) -> None:
        self._socket.close()

    def shutdown(self) -> None:
        """Shuts the connection down; from any thread."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def pending(self) -> int:
        """Bytes that can be read without a system call; kazoo checks it before it polls."""
        return len(self._buffer) - self._position

    def recv(self, size: int) -> bytes:
        """Up to `size` bytes, b"" at the end of the stream. Raises BlockingIOError when no data is available."""
        if self._position == len(self._buffer):
            self._buffer = self._received(max(size, _READ_SIZE))
            self.was_answered = True
            self._position = 0
        piece = self._buffer[self._position : self._position + size]
        self._position += len(piece)
        return piece

    def _received(self, size: int) -> bytes:
        return self._socket.recv(size)

    def allow_write(self, timeout_s: float | None) -> None:
        """Sets the time limit of the next `send`."""
        self._write_timeout = timeout_s

    def send(self, data: bytes | memoryview) -> int:
        """Sends; waits only if the kernel's buffer is full. Raises KazooTimeoutError."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            self._wait(select.POLLOUT)
            return self._socket.send(data)

    def _wait(self, events: int) -> None:
        poll = select.poll()
        poll.register(self._socket, events)
        if not poll.poll(None if self._write_timeout is None else self._write_timeout * 1000):
            raise KazooTimeoutError("socket time-out during write") from None


class TlsSocket(BufferedSocket):
    """The same with TLS. on_error: called with an error of TLS, which is raised as well."""

    def __init__(self, sock: ssl.SSLSocket, on_error: Callable[[ssl.SSLError], None]) -> None:
        super().__init__(sock)
        self._secured = sock
        self._on_error = on_error

    def shutdown(self) -> None:
        """Shuts the connection down; from any thread. The session of TLS is left to kazoo's thread."""
        try:
            socket.socket.shutdown(self._secured, socket.SHUT_RDWR)
        except OSError:
            pass

    def pending(self) -> int:
        """Bytes that can be read without a system call, those that are decrypted included."""
        return super().pending() + self._secured.pending()

    def _received(self, size: int) -> bytes:
        try:
            return self._secured.recv(size)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            self._on_error(error)
            raise

    def send(self, data: bytes | memoryview) -> int:
        """Sends; waits only if the kernel's buffer is full. Raises KazooTimeoutError."""
        while True:
            try:
                return self._secured.send(data)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)


class Bell:
    """One end of kazoo's socket pair, to which a byte is sent for every queued request to wake its thread.

    An eventfd instead of a pair of sockets, whose buffer would be full after a few hundred bytes and block the event
    loop.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def pair(cls) -> tuple[Bell, Bell]:
        """Two equal ends, each for reading and writing."""
        fd = os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_CLOEXEC)
        return cls(fd), cls(os.dup(fd))

    def fileno(self) -> int:
        return self._fd

    def send(self, data: bytes) -> int:
        """Wakes the thread; does not block."""
        os.eventfd_write(self._fd, len(data))
        return len(data)

    def recv(self, _size: int) -> bytes:
        """Takes one wake-up; blocks until there is one."""
        os.eventfd_read(self._fd)
        return b"\0"

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class LoopHandler:
    """kazoo's handler interface with a single thread, which reads and writes the connection.

    server_count: servers in the connect string, among which the connection time-out is divided. tls: None for plain
    connections.
    """

    name = "event_loop_handler"
    timeout_exception = KazooTimeoutError
    sleep_func = staticmethod(time.sleep)

    def __init__(self, server_count: int, tls: TlsLink | None = None) -> None:
        self._server_count = server_count
        self._tls = tls
        self._barred = False
        self._first_answer_s = FIRST_ANSWER_S
        self.running = False

    def bar(self) -> None:
        """Forbids new connections: the session has expired, and kazoo would silently open another one."""
        self._barred = True

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False

    def select(
        self, readers: list[Any], writers: list[Any], _errors: list[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """As select.select, for kazoo's two uses: wait to read, or write to the connection."""
        if writers:
            for writer in writers:
                if isinstance(writer, BufferedSocket):
                    writer.allow_write(timeout)
            return [], writers, []
        buffered = [reader for reader in readers if isinstance(reader, BufferedSocket) and reader.pending()]
        if buffered:
            return buffered, [], []
        match readers:
            case [BufferedSocket(was_answered=False)] if timeout is not None:
                ready = _readable(readers, min(timeout, self._first_answer_s))
                self._first_answer_s = FIRST_ANSWER_S if ready else self._first_answer_s * 2
                return ready, [], []
        return _readable(readers, timeout), [], []

    def create_connection(
        self, address: tuple[str, int], timeout: float, hostname: str = "", **_tls: Any
    ) -> BufferedSocket:
        """Connects. hostname: the server's name in the connect string. Raises OSError."""
        if self._barred:
            raise OSError("the session has expired")
        try:
            if self._tls is None:
                return BufferedSocket(self._dial(address, timeout))
            return self._secured(self._tls, hostname or address[0], address, timeout)
        except TimeoutError:
            self._first_answer_s *= 2
            raise

    def _dial(self, address: tuple[str, int], timeout: float) -> socket.socket:
        sock = socket.create_connection(address, min(timeout / self._server_count, self._first_answer_s))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def _secured(self, tls: TlsLink, host: str, address: tuple[str, int], timeout: float) -> TlsSocket:
        sock = tls.connect(lambda: self._dial(address, timeout), host, *address)
        return TlsSocket(sock, lambda error: tls.report(error, host, address[1]))

    def create_socket_pair(self) -> tuple[Bell, Bell]:
        return Bell.pair()

    def event_object(self) -> threading.Event:
        return threading.Event()

    def lock_object(self) -> Any:
        return threading.Lock()

    def rlock_object(self) -> Any:
        return threading.RLock()

    def spawn(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> threading.Thread:
        """Starts kazoo's connection thread."""

        def run() -> None:
            try:
                func(*args, **kwargs)
            except Exception:
                _log.exception("the ZooKeeper connection thread failed")

        thread = threading.Thread(target=run, name="zookeeper-connection", daemon=True)
        thread.start()
        return thread

    def dispatch_callback(self, _callback: Any) -> None:
        """kazoo calls this for its own watches; it has none, ours are kept by the session."""


def _readable(readers: list[Any], timeout_s: float | None) -> list[Any]:
    """The readers that can be read, as soon as there is one; none after the time-out."""
    poll = select.poll()
    by_fd = {reader.fileno(): reader for reader in readers}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _event in poll.poll(None if timeout_s is None else timeout_s * 1000)]

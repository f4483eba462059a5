"""An encrypted byte stream: OpenSSL between two memory buffers, and a socket that sees cipher text only.

OpenSSL never waits for the socket, so that reading never has to wait until something can be written, nor the reverse:
what the socket does not take is kept here, and sent as soon as it takes more. Large buffers are encrypted and sent
256 KiB at a time; slices of files are read into such a buffer first. Over one stream this costs a fifth less than an
`ssl.SSLSocket`, which makes a system call for every 16 KiB.

The owner of a stream asks for readiness here and not of the loop: a stream is readable as well while it holds data
that was received and not taken yet.

A peer chooses how small its records are, and each costs the same work whatever is in it, up to twenty microseconds for
one that changes keys. OpenSSL takes all that it is given at once. So it is given the records of one turn only.
Source: docs/architecture.md; RFC 8446, sections 4.6.3 and 5.1; SslTransportLayer.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import cast

from kafka_py.base.slices import FileSlice
from kafka_py.net.transport import MSG_MORE, Buffer, Readiness

RECEIVE_BYTES = 64 * 1024
"""Cipher text received at a time; the buffer of an open stream keeps the size that it once had."""
CHUNK_BYTES = 256 * 1024
"""What is encrypted before the socket is tried; the socket is full, at most this much is kept."""
TURN_BYTES = 1024 * 1024
"""What one call takes at most, so that no stream holds the event loop."""
RECORDS_A_TURN = 64
"""TLS records, and rests of records, that are decrypted in one call; TURN_BYTES are as many of the largest ones."""
MOST_ANSWER_BYTES = 16 * 1024
"""Answers to changes of keys that wait for a peer which does not read: beyond it the connection ends."""
_RECORD_HEADER_BYTES = 5

MakeTls = Callable[[ssl.MemoryBIO, ssl.MemoryBIO], ssl.SSLObject]
"""(incoming, outgoing) -> one end of a TLS session that has not begun."""


class FileBuffer:
    """The buffer for slices of files that all streams of one event loop share; made when it is first needed."""

    __slots__ = ("_view",)

    def __init__(self) -> None:
        self._view: memoryview | None = None

    def view(self) -> memoryview:
        if self._view is None:
            self._view = memoryview(bytearray(CHUNK_BYTES))
        return self._view


Defer = Callable[[Callable[[], None], bool], object]
"""(call, whether it is the first of its data)"""


class TlsTransport:
    """One stream; usable after its handshake (handshakes.py), which begins with the first call of `step`.

    make: the TLS session; called as late as that, because a peer that connects and sends nothing should cost little.
    defer: has a call made in the next turn of the stream, for data that is here already (LoopTurns.defer); in that of
        the loop unless given.
    """

    __slots__ = (
        "_arrived", "_defer", "_file_buffer", "_holds", "_incoming", "_is_drained", "_is_due", "_is_open",
        "_left_of_record", "_loop", "_make", "_on_readable", "_on_writable_call", "_outgoing", "_receive", "_send",
        "_socket", "_tls", "_unsent", "_watches", "fileno", "is_secured",
    )  # fmt: skip

    def __init__(
        self, connected: socket.socket, make: MakeTls, loop: asyncio.AbstractEventLoop, file_buffer: FileBuffer,
        defer: Defer | None = None,
    ) -> None:  # fmt: skip
        connected.setblocking(False)
        self.fileno = connected.fileno()
        self.is_secured = False
        """Whether the handshake is complete."""
        self._socket = connected
        self._receive = connected.recv
        self._send = connected.send
        self._make = make
        self._loop = loop
        self._defer: Defer = defer or (lambda call, _is_first: loop.call_soon(call))
        self._file_buffer = file_buffer
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._unsent: memoryview | None = None  # cipher text that the socket did not take
        self._arrived = b""  # cipher text that OpenSSL was not given yet, from the beginning of a record on
        self._left_of_record = 0  # bytes of the last record that OpenSSL was given in part
        self._holds = False  # something may be left: by OpenSSL, decrypted or not, of `_arrived`, or of the socket
        self._is_drained = False  # in this turn: the socket had less than it was asked for
        self._is_due = False  # the next turn of what is held is scheduled
        self._on_readable: Callable[[], None] | None = None
        self._on_writable_call: Callable[[], None] | None = None
        self._watches = False  # the loop reports when the socket takes more
        self._is_open = True

    # ---- handshake

    def receive_cipher_text(self) -> bytes:
        """What the socket has, which is kept for OpenSSL as well; empty at its end. Raises BlockingIOError, OSError."""
        data = self._receive(RECEIVE_BYTES)
        self._incoming.write(data)
        return data

    def step(self) -> bool:
        """One step of the handshake with what was received: whether it is complete. Raises ssl.SSLError.

        The only method that may run in a thread, while nothing else is called. What it made is sent by `push`.
        """
        if self._tls is None:
            self._tls = self._make(self._incoming, self._outgoing)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self.is_secured = True
        self._arrived = self._incoming.read()  # OpenSSL takes record by record: what came behind the last message
        self._holds = True
        return True

    def peer_certificate(self) -> bytes | None:
        """The peer's certificate as DER, None without one."""
        return None if self._tls is None else self._tls.getpeercert(binary_form=True)

    def session(self) -> tuple[str, str]:
        """Cipher suite and version, as in `TLS_AES_256_GCM_SHA384` and `TLSv1.3`, after the handshake."""
        assert self._tls is not None
        cipher = self._tls.cipher()
        return cipher[0] if cipher is not None else "", self._tls.version() or ""

    # ---- data in

    def recv_into(self, buffer: memoryview) -> int:
        """Fills the buffer as far as data is there; 0 at the end of the stream. Raises BlockingIOError, OSError.

        Neither OpenSSL nor the socket is asked where the last answer has shown that there is nothing more: an error
        that says so takes longer than the decryption of a small request.
        """
        tls, incoming = self._tls, self._incoming
        assert tls is not None
        read = cast("Callable[[int, memoryview], int]", tls.read)  # the number of bytes where a buffer is given
        size = min(len(buffer), TURN_BYTES)
        filled, records = 0, RECORDS_A_TURN
        self._is_drained = False
        while True:
            try:
                while self._holds:
                    got = read(size - filled, buffer[filled:size])
                    if not got:
                        self._holds = filled > 0  # the end is reported by the next call
                        return filled
                    filled += got
                    self._holds = incoming.pending > 0 or tls.pending() > 0
                    if filled == size:
                        self._holds = self._holds or len(self._arrived) >= _RECORD_HEADER_BYTES
                        return filled
            except ssl.SSLWantReadError:
                self._holds = False
            try:
                if self._outgoing.pending:
                    self._send_answers()
                data = self._next_cipher_text(records, filled)
            except OSError as error:  # a lost connection is reported by the next call, after what came before
                if not filled:
                    raise
                self._holds = self._holds or not isinstance(error, BlockingIOError)
                return filled
            if not data:
                return filled
            records = self._give(data, records)
            self._holds = True

    def _next_cipher_text(self, records: int, filled: int) -> bytes:
        """What OpenSSL was not given yet, or what the socket has; empty at its end. Raises BlockingIOError, OSError.

        records: how many of them OpenSSL may still be given in this turn. filled: the bytes that were decrypted.
        """
        arrived = self._arrived
        if not records:
            self._holds = True
            self._read_held_soon()  # not every call comes from `_read_ready`
            raise BlockingIOError
        if len(arrived) >= _RECORD_HEADER_BYTES:
            return arrived
        if filled and self._is_drained:
            raise BlockingIOError
        received = self._receive(RECEIVE_BYTES)
        self._is_drained = len(received) < RECEIVE_BYTES
        return arrived + received if received else b""

    def _give(self, data: bytes, records: int) -> int:
        """Gives OpenSSL of `data` so many records at most; returns how many more it may be given.

        The rest of one that came in part counts too, or a peer that sends byte by byte could keep a turn from ending.
        """
        at, size = self._left_of_record, len(data)
        if at or size < _RECORD_HEADER_BYTES:
            records -= 1
        while records and at + _RECORD_HEADER_BYTES <= size:
            at += _RECORD_HEADER_BYTES + (data[at + 3] << 8 | data[at + 4])
            records -= 1
        if at >= size:
            self._arrived, self._left_of_record = b"", at - size
            self._incoming.write(data)
        else:  # records of the next turn, or the beginning of a header
            self._arrived, self._left_of_record = data[at:], 0
            self._incoming.write(memoryview(data)[:at])
        return records

    def _send_answers(self) -> None:
        """Sends what OpenSSL answers to a change of keys. Raises OSError when the peer does not read these answers."""
        if not self.push() and self._outgoing.pending > MOST_ANSWER_BYTES:
            raise ConnectionAbortedError("the peer changes its keys again and again and reads no answer")

    # ---- data out

    def send(self, data: Buffer, flags: int = 0) -> int:
        """Bytes taken. Raises BlockingIOError while cipher text is kept, OSError when the connection is lost."""
        if self._unsent is not None and not self.push():
            raise BlockingIOError
        view = memoryview(data)
        taken, size = 0, min(len(view), TURN_BYTES)
        while taken < size:
            taken += self._encrypt(view[taken : min(size, taken + CHUNK_BYTES)])
            if flags & MSG_MORE and taken == len(view) < CHUNK_BYTES:
                break  # it leaves together with what follows
            if not self.push():
                break
        return taken

    def sendmsg(self, buffers: Iterable[Buffer], _ancillary: Iterable[object], flags: int = 0) -> int:
        """As `send`, of several buffers, which share TLS records."""
        parts: list[Buffer] = []
        size = 0
        for part in buffers:
            parts.append(part if size + len(part) <= TURN_BYTES else memoryview(part)[: TURN_BYTES - size])
            size += len(parts[-1])
            if size >= TURN_BYTES:
                break
        return self.send(parts[0] if len(parts) == 1 else b"".join(parts), flags)

    def send_file(self, part: FileSlice, offset: int) -> int:
        """Send from `offset` bytes into the slice on; returns how many bytes were taken, 0 when the file ends early."""
        if self._unsent is not None and not self.push():
            raise BlockingIOError
        buffer = self._file_buffer.view()
        fileno, position = part.file.fileno(), part.position + offset
        taken, size = 0, min(part.size - offset, TURN_BYTES)
        while taken < size:
            wanted = min(size - taken, CHUNK_BYTES)
            got = os.preadv(fileno, [buffer[:wanted]], position + taken)
            if not got:
                break
            taken += self._encrypt(buffer[:got])
            if not self.push():
                break
        return taken

    def _encrypt(self, view: memoryview) -> int:
        """Encrypts all of it, a TLS record at a time; returns its size."""
        tls = self._tls
        assert tls is not None
        size = len(view)
        done = tls.write(view)
        while done < size:
            done += tls.write(view[done:])
        return size

    def push(self) -> bool:
        """Send the cipher text that is there: whether all of it left. The rest follows by itself. Raises OSError."""
        unsent: bytes | memoryview | None = self._unsent
        while True:
            if unsent is None:
                if not self._outgoing.pending:
                    break
                unsent = self._outgoing.read()
            try:
                sent = self._send(unsent)
            except BlockingIOError:
                sent = 0
            if sent == len(unsent):
                unsent = None
                continue
            self._unsent = memoryview(unsent)[sent:]
            self._watch_socket(True)
            return False
        self._unsent = None
        if self._on_writable_call is None:
            self._watch_socket(False)
        return True

    # ---- readiness

    @property
    def readiness(self) -> Readiness:
        return self

    def add_reader(self, fileno: int, call: Callable[[], None]) -> None:
        """As of an event loop; `call` is called for data that is kept here too."""
        self._on_readable = call
        self._loop.add_reader(fileno, self._read_ready)
        self._read_held_soon()

    def remove_reader(self, fileno: int) -> None:
        self._on_readable = None
        self._loop.remove_reader(fileno)

    def add_writer(self, _fileno: int, call: Callable[[], None]) -> None:
        self._on_writable_call = call
        self._watch_socket(True)

    def remove_writer(self, _fileno: int) -> None:
        self._on_writable_call = None
        self._watch_socket(self._unsent is not None)

    def _read_ready(self) -> None:
        self._read_now(is_first=True)

    def _read_now(self, *, is_first: bool) -> None:
        """A turn of the stream; what it leaves has the next one: the first one soon, if the socket was ready."""
        call = self._on_readable
        if call is None:
            return
        was_due, self._is_due = self._is_due, True  # it is not to be one of those that wait while it has its turn
        try:
            call()
        finally:
            self._is_due = was_due
        self._read_held_soon(is_first=is_first)

    def _read_held_soon(self, *, is_first: bool = False) -> None:
        """One turn at a time, or data that keeps coming would have more of them in every turn of the loop."""
        if self._holds and not self._is_due and self._on_readable is not None:
            self._is_due = True
            self._defer(self._read_held, is_first)

    def _read_held(self) -> None:
        """The next turn of data that is here already; others on the loop had theirs."""
        self._is_due = False
        if self._holds:
            self._read_now(is_first=False)

    def _watch_socket(self, wanted: bool) -> None:
        if wanted is not self._watches:
            self._watches = wanted
            if wanted:
                self._loop.add_writer(self.fileno, self._write_ready)
            else:
                self._loop.remove_writer(self.fileno)

    def _write_ready(self) -> None:
        try:
            has_left = self.push()
        except OSError:
            self._watch_socket(False)
            self._unsent = None
            (self._on_writable_call or self._read_ready)()  # who writes, or else who reads, meets the same error
            return
        if has_left and self._on_writable_call is not None:
            self._on_writable_call()

    # ---- end

    def close(self) -> None:
        """Says goodbye (close_notify) as far as the socket takes it, and closes."""
        if not self._is_open:
            return
        self._is_open = False
        if self.is_secured and self._tls is not None:
            try:
                self._tls.unwrap()
            except (ssl.SSLError, OSError):
                pass  # it waits for the peer's, which is not awaited
            try:
                self.push()
            except OSError:
                pass
        self._on_readable = self._on_writable_call = None
        self._holds = False
        self._watch_socket(False)
        self._socket.close()

"""Sends scripts over many connections at a time, and counts what the broker has read. Runs in a process of its own.

What happens is reported in a shared array of counters, and a shared flag makes it pause.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from ctypes import c_bool, c_longlong
from enum import IntEnum
from multiprocessing import get_context
from random import Random
from typing import Any, NamedTuple

from benchmarks.security.fuzzing.scripts import Answers, Script, read_of_login, read_of_requests

AT_ONCE = 6
"""Connections. Each may hold the event loop for a turn between two requests of another client."""
MOST_WAIT_S = 1.0
"""A connection on which nothing happens for so long is closed: what was read of its last script is not known."""
BURSTS = 100
"""So many scripts are sent over one connection, unless it ends before."""
_RESET = struct.pack("ii", 1, 0)


class Counter(IntEnum):
    """read: frames that the broker has certainly read; sent: all that were put on connections. inside: of those read,
    without those before the exchange that is meant. ended: connections that the broker closed. silent: connections that
    waited too long. tls: frames read that are TLS records.
    """

    READ = 0
    SENT = 1
    INSIDE = 2
    CONNECTIONS = 3
    ENDED = 4
    SILENT = 5
    ANSWERS = 6
    TLS = 7


class Order(NamedTuple):
    """What to send.

    make: makes the scripts. opening: sent first on each connection. rate: the most frames per second, 0: no limit.
    """

    make: Callable[[Random, int], list[Script]]
    scripts: int
    opening: bytes
    port: int
    tls_port: int
    seed: int
    at_once: int = AT_ONCE
    rate: float = 0.0


class Generator:
    """The process. Scripts are prepared when it starts; it pauses until `go`."""

    def __init__(self, order: Order) -> None:
        context = get_context("spawn")
        self._counts = context.Array(c_longlong, len(Counter))
        self._goes = context.Value(c_bool, False)
        self._process = context.Process(target=_run, args=(order, self._counts, self._goes), daemon=True)
        self._process.start()

    def go(self, goes: bool) -> None:
        self._goes.value = goes

    def counts(self) -> dict[Counter, int]:
        return {each: self._counts[each] for each in Counter}

    def check_alive(self) -> None:
        if not self._process.is_alive():
            raise ChildProcessError(f"the generator ended with code {self._process.exitcode}")

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()


class _Slot:
    """One connection and what it is sent now."""

    __slots__ = ("answers", "bursts", "deadline_s", "out", "script", "socket")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.bursts = 0
        self.deadline_s = 0.0
        self.out = memoryview(b"")
        self.script: Script
        self.answers = Answers(0)


class _Sender:
    """The connections of the generator."""

    def __init__(self, order: Order, scripts: Sequence[Script], counts: Any) -> None:
        self._order, self._scripts, self._counts = order, scripts, counts
        self._chance = Random(f"send {order.seed}")
        self._poll = select.epoll()
        self._slots: dict[int, _Slot] = {}
        self._serial = 0

    def open(self) -> None:
        script = self._scripts[int(self._chance.random() * len(self._scripts))]
        port = self._order.tls_port if script.is_tls else self._order.port
        connection = socket.create_connection(("127.0.0.1", port), 30)
        connection.setblocking(False)
        slot = self._slots[connection.fileno()] = _Slot(connection)
        self._poll.register(connection.fileno(), select.EPOLLIN)
        self._counts[Counter.CONNECTIONS] += 1
        self._send(slot, script, self._order.opening)

    def _send(self, slot: _Slot, script: Script, before: bytes = b"") -> None:
        self._serial = (self._serial + 1) & 0xFFFFFF
        slot.script, slot.answers = script, Answers(self._serial)
        slot.bursts += 1
        slot.deadline_s = time.monotonic() + MOST_WAIT_S
        data = script.fill(self._serial, self._chance)
        slot.out = memoryview(before + data if before else data)
        self._counts[Counter.SENT] += script.count
        self._push(slot)

    def _push(self, slot: _Slot) -> None:
        try:
            sent = slot.socket.send(slot.out)
        except BlockingIOError:
            sent = 0
        except OSError:  # reset: what was received before is still to be read
            slot.out = memoryview(b"")
            self._poll.modify(slot.socket.fileno(), select.EPOLLIN)
            return
        slot.out = slot.out[sent:]
        if slot.out:
            self._poll.modify(slot.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
            return
        if sent and slot.bursts > 1:
            self._poll.modify(slot.socket.fileno(), select.EPOLLIN)
        if slot.script.ends:
            try:
                slot.socket.shutdown(socket.SHUT_WR)
            except OSError:
                return

    def turn(self, *, goes: bool) -> None:
        """One look at the connections. goes: whether new scripts are sent."""
        while goes and len(self._slots) < self._order.at_once:
            self.open()
        for fd, events in self._poll.poll(0.05):
            slot = self._slots[fd]
            if events & select.EPOLLOUT:
                self._push(slot)
            if events & ~select.EPOLLOUT:
                self._receive(slot, goes=goes)

    def sweep(self) -> None:
        """Closes connections that have waited for too long."""
        now_s = time.monotonic()
        for slot in [each for each in self._slots.values() if each.deadline_s < now_s]:
            self._counts[Counter.SILENT] += 1
            self._end(slot, is_over=False)

    def _receive(self, slot: _Slot, *, goes: bool) -> None:
        try:
            data = slot.socket.recv(262_144)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._counts[Counter.ENDED] += 1
            self._end(slot, is_over=True)
            return
        slot.answers.take(data)
        slot.deadline_s = time.monotonic() + MOST_WAIT_S
        if not slot.script.ends and slot.answers.last_index == slot.script.count - 1:
            if goes and slot.bursts < BURSTS:
                self._count(slot, is_over=False)
                self._send(slot, self._scripts[int(self._chance.random() * len(self._scripts))])
            else:
                self._end(slot, is_over=False)

    def _end(self, slot: _Slot, *, is_over: bool) -> None:
        """Counts, and closes this end; unread answers are thrown away."""
        self._count(slot, is_over=is_over)
        fd = slot.socket.fileno()
        self._poll.unregister(fd)
        del self._slots[fd]
        if not is_over:
            slot.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        slot.socket.close()

    def _count(self, slot: _Slot, *, is_over: bool) -> None:
        script, counts = slot.script, self._counts
        read_of = read_of_requests if self._order.opening else read_of_login
        read = read_of(script, slot.answers, is_over=is_over)
        counts[Counter.READ] += read
        counts[Counter.INSIDE] += max(read - script.outside, 0)
        counts[Counter.ANSWERS] += slot.answers.count
        if script.is_tls:
            counts[Counter.TLS] += read

    @property
    def sent(self) -> int:
        return int(self._counts[Counter.SENT])

    @property
    def is_idle(self) -> bool:
        return not self._slots


def _run(order: Order, counts: Any, goes: Any) -> None:
    """What the process does until it is ended.

    A hostile client has a machine of its own: this one gets only the processor time that nobody else wants.
    """
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    sender = _Sender(order, order.make(Random(f"make {order.seed}"), order.scripts), counts.get_obj())
    swept_s = began_s = time.monotonic()
    while True:
        is_early = order.rate > 0 and sender.sent > order.rate * (time.monotonic() - began_s)
        if (goes.value and not is_early) or not sender.is_idle:
            sender.turn(goes=goes.value and not is_early)
        else:
            time.sleep(0.005)
        if (now_s := time.monotonic()) - swept_s > 0.2:
            swept_s = now_s
            sender.sweep()

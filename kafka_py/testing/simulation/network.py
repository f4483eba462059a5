"""A network in memory: connections between nodes that take time, hold back what a partition swallows, and break.

Each connection is two pairs of local sockets with a link between them that passes bytes on after a delay; so the
code under test keeps its sockets, and the bytes arrive in the same order in every run. Delays are drawn per chunk, so
data on different connections may arrive in another order. Implements the protocol of kafka_py/net/network.py.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import os
import random
import socket
import struct
import zlib
from collections import deque

from kafka_py.testing.simulation.nodes import NodeLoop, SimulatedNode

CHUNK_BYTES = 1 << 18
CUT_LOOK_S = 0.05
USUAL_DELAY_MS = (0.05, 2.0)
_ARRIVAL = struct.Struct("dq")
_OUTSIDE = contextvars.Context()
"""Links belong to no node: they live on when one dies, to tell the other end."""


class _Direction:
    """Bytes from one socket to another: each chunk leaves after its delay, never before the one ahead of it."""

    def __init__(self, link: SimulatedLink, source: socket.socket, target: socket.socket) -> None:
        self._link = link
        self._source = source
        self._target = target
        self._chunks: deque[tuple[float, bytes]] = deque()
        """(when it arrives, bytes); empty bytes are the end."""
        self._waiting: asyncio.TimerHandle | None = None
        self._blocked = False
        self._ended = False

    def start(self) -> None:
        self._link.loop.add_reader(self._source.fileno(), self._take)

    def _take(self) -> None:
        try:
            data = self._source.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._link.loop.remove_reader(self._source.fileno())
        arrives = self._link.loop.time() + self._link.network.delay_s()
        if self._chunks:
            arrives = max(arrives, self._chunks[-1][0])
        self._chunks.append((arrives, data))
        self.pass_on()

    def pass_on(self) -> None:
        """Delivers what has arrived, and comes back for what has not."""
        if self._blocked or self._ended or self._link.closed or not self._link.is_open:
            return
        loop = self._link.loop
        while self._chunks and self._chunks[0][0] <= loop.time():
            arrives, data = self._chunks.popleft()
            if not data:
                self._ended = True
                self._link.half_closed()
                return
            try:
                sent = self._target.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._link.close()
                return
            self._link.network.note_delivered(self._link.number, memoryview(data)[:sent])
            if sent < len(data):
                self._chunks.appendleft((arrives, data[sent:]))
                self._blocked = True
                loop.add_writer(self._target.fileno(), self._unblock)
                return
        if self._chunks and self._waiting is None:
            self._waiting = loop.call_at(self._chunks[0][0], self._due)

    def _due(self) -> None:
        self._waiting = None
        self.pass_on()

    def _unblock(self) -> None:
        self._link.loop.remove_writer(self._target.fileno())
        self._blocked = False
        self.pass_on()

    def stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._link.loop.remove_reader(self._source.fileno())
        self._link.loop.remove_writer(self._target.fileno())


class SimulatedLink:
    """One connection between two nodes; its far ends are theirs, the near ends are ours."""

    def __init__(self, network: SimulatedNetwork, number: int, client: str, server: str) -> None:
        self.network = network
        self.number = number
        self.loop = network.loop
        self.ends = frozenset((client, server))
        self.closed = False
        self.client_socket, client_near = socket.socketpair()
        self.server_socket, server_near = socket.socketpair()
        self._near = client_near, server_near
        for each in (self.client_socket, self.server_socket, *self._near):
            each.setblocking(False)
        self._owners: dict[str, socket.socket] = {client: self.client_socket}
        self._there = _Direction(self, client_near, server_near)
        self._back = _Direction(self, server_near, client_near)
        self._server = server

    def accept(self) -> None:
        """The server has taken its end."""
        self._owners[self._server] = self.server_socket

    def start(self) -> None:
        self._there.start()
        self._back.start()

    @property
    def is_open(self) -> bool:
        return not self.network.is_cut(self.ends)

    def pass_on(self) -> None:
        self._there.pass_on()
        self._back.pass_on()

    def half_closed(self) -> None:
        """One side has ended: so does the other, as all that was on its way has come."""
        self.close()

    def close(self) -> None:
        """Both nodes see the end of the stream."""
        if self.closed:
            return
        self.closed = True
        for direction in (self._there, self._back):
            direction.stop()
        for near in self._near:
            near.close()
        self.network.links.discard(self)

    def node_died(self, name: str) -> None:
        """Closes the dead node's end for it."""
        owned = self._owners.get(name)
        if owned is not None:
            owned.close()


class _SimulatedListener:
    """A node's listening socket: an eventfd that counts the connections to accept."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC | os.EFD_SEMAPHORE)
        self._waiting: deque[tuple[SimulatedLink, tuple[str, int]]] = deque()
        self.closed = False

    def offer(self, link: SimulatedLink, peer: tuple[str, int]) -> None:
        self._waiting.append((link, peer))
        os.eventfd_write(self._event, 1)

    def fileno(self) -> int:
        return self._event

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        os.eventfd_read(self._event)
        link, peer = self._waiting.popleft()
        link.accept()
        return link.server_socket, peer

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self._event)
            for link, _peer in self._waiting:
                link.close()


class SimulatedNetwork:
    """All hosts: a node listens under its name as host.

    delay_ms: bounds of the delay of a chunk of bytes.
    """

    def __init__(self, loop: NodeLoop, rng: random.Random, delay_ms: tuple[float, float] = USUAL_DELAY_MS) -> None:
        self.loop = loop
        self.links: set[SimulatedLink] = set()
        self.delivered = 0
        """How many chunks of bytes have arrived."""
        self.digest = 0
        """Of these chunks: over which link and when each arrived, in their order."""
        self._rng = rng
        self.delay_ms = delay_ms
        self._listening: dict[tuple[str, int], _SimulatedListener] = {}
        self._cuts: set[frozenset[str]] = set()
        self._ports = iter(range(10_000, 1 << 30))

    def note_delivered(self, link: int, data: memoryview) -> None:
        """A chunk, or a part of one, has arrived."""
        self.delivered += 1
        self.digest = zlib.crc32(data, zlib.crc32(_ARRIVAL.pack(self.loop.time(), link), self.digest))

    def delay_s(self) -> float:
        return self._rng.uniform(*self.delay_ms) / 1000

    def of(self, node: SimulatedNode) -> NodeNetwork:
        """The network as the node sees it."""
        return NodeNetwork(self, node.name)

    # ---- what a test does to it

    def cut(self, one: str, other: str) -> None:
        """Nothing passes between the two; what was sent waits, as TCP would send it again."""
        self._cuts.add(frozenset((one, other)))

    def mend(self, one: str, other: str) -> None:
        self._cuts.discard(frozenset((one, other)))
        for link in self._sorted():
            if link.ends == {one, other}:
                _OUTSIDE.copy().run(link.pass_on)

    def mend_all(self) -> None:
        for pair in sorted(self._cuts, key=sorted):
            self.mend(*sorted(pair))

    def is_cut(self, ends: frozenset[str]) -> bool:
        return ends in self._cuts

    def reset(self, one: str, other: str) -> None:
        """Breaks the connections between the two; new ones can be made."""
        for link in self._sorted():
            if link.ends == {one, other}:
                link.close()

    def node_died(self, name: str) -> None:
        """Its sockets are closed by the system."""
        for address in [each for each in self._listening if each[0] == name]:
            self._listening.pop(address).close()
        for link in self._sorted():
            if name in link.ends:
                link.node_died(name)

    def lose_sent(self, name: str) -> None:
        """What a failed node has sent and no other has received is lost: no machine is left to retransmit it."""
        for link in self._sorted():
            if name in link.ends:
                link.close()

    def _sorted(self) -> list[SimulatedLink]:
        return sorted(self.links, key=lambda link: link.number)

    # ---- what nodes do

    def listen(self, name: str, port: int) -> _SimulatedListener:
        port = port or next(self._ports)
        if (name, port) in self._listening and not self._listening[name, port].closed:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._listening[name, port] = listening = _SimulatedListener((name, port))
        return listening

    async def connect(self, client: str, host: str, port: int) -> socket.socket:
        """Raises OSError without a listener; waits while the connection is cut."""
        pair = frozenset((client, host))
        await asyncio.sleep(self.delay_s())
        while self.is_cut(pair):  # noqa: ASYNC110  # virtual time: looking again costs nothing
            await asyncio.sleep(CUT_LOOK_S)
        listening = self._listening.get((host, port))
        if listening is None or listening.closed:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        number = next(self._ports)
        link = SimulatedLink(self, number, client, host)
        self.links.add(link)
        _OUTSIDE.copy().run(link.start)
        listening.offer(link, (client, number))
        return link.client_socket


class NodeNetwork:
    """One node's view; see kafka_py.net.network.Network."""

    def __init__(self, network: SimulatedNetwork, name: str) -> None:
        self._network = network
        self._name = name

    def listen(self, host: str, port: int) -> _SimulatedListener:
        return self._network.listen(self._name, port)

    async def connect(
        self, host: str, port: int, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> socket.socket:
        return await self._network.connect(self._name, host, port)

    def accepted(self, connected: socket.socket, send_buffer_bytes: int, receive_buffer_bytes: int) -> tuple[str, int]:
        return self._name, 0

"""One client of the broker: its requests in, its responses out in request order.

A request is passed on as soon as it is complete, also while earlier ones are unanswered; each has a slot, and a
response waits until those of all earlier slots are sent. The outstanding requests of a connection are bounded in
number and in bytes: beyond that nothing is read until responses are sent. Knows nothing of what requests mean.
Source: docs/reference/protocol.md, section 1; docs/architecture.md, "Concurrency".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from kafka_py.net.client_software import UNKNOWN_SOFTWARE, ClientSoftware
from kafka_py.net.connection_bounds import MOST_REQUEST_BYTES, MOST_REQUESTS, MOST_RESPONSE_BYTES, TURN_REQUESTS
from kafka_py.net.connection_services import ConnectionServices, Stage
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.frames_in import FrameReceiver, PeerClosed
from kafka_py.net.frames_out import BlockedTime, Flushed, FrameSender, Part
from kafka_py.net.long_polls import EndPoll, end_oldest
from kafka_py.net.metrics import SocketMetrics
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.net.transport import Transport

_log = logging.getLogger(__name__)

OnRequest = Callable[["Connection", int, bytearray], None]
"""(connection, slot, frame): called for each request; responds through `connection.respond(slot, ...)`."""


class Connection:
    """One accepted socket. All times are the loop's; everything happens on it."""

    __slots__ = (
        "_backlog", "_began_s", "_busy_until_s", "_early", "_flushing_soon", "_head", "_in_turn", "_long_polls",
        "_next_slot", "_notes", "_reads", "_ready", "_receiver", "_resuming", "_sender",
        "_services", "_transport", "_waiting", "_waiting_bytes", "_writes", "batch_trust", "blocked", "budgets",
        "client_software", "closed", "fileno", "id", "is_active", "last_active_ms", "listener_name", "metrics", "mutes",
        "on_request", "peer_host", "peer_port", "principal", "read_s", "security_protocol", "stage",
    )  # fmt: skip

    def __init__(
        self, services: ConnectionServices, transport: Transport, on_request: OnRequest, metrics: SocketMetrics, *,
        id: str, listener_name: str, security_protocol: SecurityProtocol, peer_host: str, peer_port: int, now_ms: float,
    ) -> None:  # fmt: skip
        self.id = id
        self.listener_name, self.security_protocol = listener_name, security_protocol
        self.peer_host, self.peer_port = peer_host, peer_port
        self.principal: Principal = ANONYMOUS
        self.on_request = on_request
        """Receives the frames; during authentication that is the authenticator."""
        self.metrics = metrics
        self.is_active = True  # traffic since the last sweep of idle connections
        self.last_active_ms = now_ms
        self.stage: Stage | None = None  # what it has to pass before its requests are served
        self._services = services
        self._transport = transport
        self._ready = transport.readiness or services.loop
        self.fileno = transport.fileno  # also after the socket was closed
        buffer, limit = services.receive_buffer, services.max_request_bytes
        self._receiver = FrameReceiver(transport.recv_into, buffer, limit, services.pool, services.size_fault)
        self._sender = FrameSender(transport, services.cold_reads, self.end_turn)
        self._next_slot = 0  # of the next request
        self._head = 0  # of the oldest request without an answer
        self._early: dict[int, tuple[Sequence[Part], object]] = {}  # responses and notes that wait for earlier ones
        self._long_polls: dict[int, EndPoll] = {}  # by slot
        self._notes: list[object] = []  # of responses that are being sent
        self._began_s = 0.0  # when the first of them began to be sent
        self.blocked: BlockedTime | None = None  # None until a response had to wait for the peer
        self._waiting: dict[int, int] = {}  # slot -> size of requests that were not answered at once
        self._waiting_bytes = 0
        self._backlog: list[bytearray] = []  # requests that were read, but exceed the bounds or this turn
        self._busy_until_s = 0.0
        self.read_s = 0.0
        """When the requests that are being handled were read, by the clock of the services."""
        self.client_software = UNKNOWN_SOFTWARE
        self.batch_trust: object = None
        """What the produce handler notes about the batches of this connection; None before the first."""
        self.budgets: Any = None  # what quotas note about it
        self.closed = self._in_turn = self._flushing_soon = self._resuming = self._reads = self._writes = False
        self.mutes = 0

    def __repr__(self) -> str:
        return f"<Connection {self.id}>"

    # ---- in

    def start(self) -> None:
        """Begin to read: what has arrived already, at once."""
        self._read(True)
        self._on_readable()

    def _read(self, wanted: bool) -> None:
        if wanted is self._reads:
            return
        self._reads = wanted
        if wanted:
            self._ready.add_reader(self.fileno, self._on_readable)
        else:
            self._ready.remove_reader(self.fileno)

    def _on_readable(self) -> None:
        receiver = self._receiver
        try:
            frames = receiver.receive()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(error)
            return
        self.is_active = True
        self.metrics.bytes_received += receiver.received_bytes
        self.read_s = read_s = self._services.now_s()
        self._busy_until_s = self._services.turns.arrived(len(frames), read_s, self._busy_until_s)
        self._take(frames)

    def on_reset(self) -> None:
        """The peer has reset the connection: handle what it sent before, if the bounds allow, and close.
        Called until it is closed; deferred requests have their turns first.
        """
        if self._reads:
            self._on_readable()
        elif not self._resuming:
            self.close("the peer reset the connection")

    def _take(self, frames: list[bytearray]) -> None:
        """Handle requests, then send their responses. A request that fails closes the connection."""
        self._in_turn = True
        share = self._services.turns.share_of_one() if len(frames) > 1 else None  # one needs no clock
        try:
            for number, frame in enumerate(frames):
                slot = self._next_slot
                is_over = number and share is not None and (number == TURN_REQUESTS or share.is_over())
                if is_over or ((self._waiting or self.mutes) and self._is_over_bounds()):
                    self._backlog = frames[number:]
                    self._services.queued += self._counted
                    break
                self._next_slot = slot + 1
                self.on_request(self, slot, frame)
                if self.closed:
                    return
                if self._head <= slot:
                    self._waiting[slot] = size = len(frame)
                    self._waiting_bytes += size
        except Exception:
            _log.exception("Closing connection %s: its request failed", self.id)
            self.close("a request failed")
            return
        finally:
            self._in_turn = False
        if self._receiver.failure is not None and not self._backlog:
            # The rest of the stream is malformed. Responses to earlier requests that are ready are still sent.
            reason = str(self._receiver.failure)
            if self.stage is None or not self.stage.fail_malformed(reason):
                _log.warning("Closing connection %s: %s", self.id, reason)
                self.close(reason)
        self.end_turn()

    def _resume(self) -> None:
        """Resume with the requests that were deferred; nothing was read since."""
        self._resuming = False
        if not self.closed:
            self._services.queued -= self._counted
            frames, self._backlog = self._backlog, []
            self._take(frames)

    # ---- out

    def respond(self, slot: int, parts: Sequence[Part] | None, note: object = None) -> None:
        """Respond to the request of `slot`: at once, or when all earlier ones are answered.

        parts: the response with its size prefix; None for a request that has none (acks=0).
        note: passed to `on_sent` when all responses given so far are sent, unless the connection closes first.
        Raises ValueError when the slot was answered before. On a closed connection nothing happens.
        """
        if slot != self._head or self.closed:
            self._respond_early(slot, parts, note)
            return
        if parts:
            self._sender.parts += parts
        if note is not None:
            self._notes.append(note)
        self._head = slot + 1
        if self._long_polls:
            self._long_polls.pop(slot, None)
        if self._waiting:
            self._waiting_bytes -= self._waiting.pop(slot, 0)
        if self._early:
            self._release_early()
        if not self._in_turn and not self._flushing_soon:
            self._flushing_soon = True
            self._services.flush_soon(self)

    def _respond_early(self, slot: int, parts: Sequence[Part] | None, note: object) -> None:
        if self.closed:
            return
        if slot < self._head or slot >= self._next_slot or slot in self._early:
            raise ValueError(f"{self!r} has no unanswered request in slot {slot}")
        self._early[slot] = parts or (), note
        if self._long_polls:
            self._long_polls.pop(slot, None)
            end_oldest(self._long_polls, self._head, self._services.loop)

    def long_poll(self, slot: int, end: EndPoll) -> None:
        """The request of `slot` waits for an event, and could be answered without it.

        end: has it answered at once; called when the response to a later request is ready, so that a client which sends
            further requests behind its long poll need not wait until the poll times out.
        """
        if slot >= self._head and not self.closed:
            self._long_polls[slot] = end
            if self._early:
                end_oldest(self._long_polls, self._head, self._services.loop)

    def _release_early(self) -> None:
        """Releases the responses that no longer wait for earlier ones."""
        early = self._early
        while self._head in early:
            slot = self._head
            parts, note = early.pop(slot)
            self._sender.parts += parts
            if note is not None:
                self._notes.append(note)
            self._waiting_bytes -= self._waiting.pop(slot, 0)
            self._head = slot + 1
        if self._early and self._long_polls:
            end_oldest(self._long_polls, self._head, self._services.loop)

    def end_turn(self) -> None:
        """Send what is ready, then continue or stop reading as the bounds say."""
        self._flushing_soon = False
        if self.closed:
            return
        before = self._sender.sent_bytes
        flushed = Flushed.DONE
        if self._sender.parts:
            self._began_s = self._began_s or self._services.now_s()
            try:
                flushed = self._sender.flush()
            except OSError as error:
                self._end(error)
                return
            sent = self._sender.sent_bytes - before
            if sent:
                self.is_active = True
                self.metrics.bytes_sent += sent
        if self._notes and flushed is Flushed.DONE:
            notes, self._notes = self._notes, []
            ended_s = self._services.now_s()
            self._services.on_sent(notes, self._began_s or ended_s, ended_s)
            self._began_s = 0.0
        if self._writes is not (flushed is Flushed.BLOCKED):
            self._watch_writable(not self._writes)
        settled = not (self._waiting or self._backlog or self._receiver.is_starved)
        if not settled or not self._reads or flushed is not Flushed.DONE:
            self._settle()

    def _watch_writable(self, wanted: bool) -> None:
        self._writes = wanted
        self.blocked = self.blocked or BlockedTime(self._services.now_s)
        if wanted:
            self.blocked.begin()
            self._ready.add_writer(self.fileno, self._on_writable)
        else:
            self.blocked.end()
            self._ready.remove_writer(self.fileno)

    def _on_writable(self) -> None:
        assert self.blocked is not None
        self.blocked.end()
        self.end_turn()
        if self._writes:
            self.blocked.begin()

    # ---- bounds

    def _settle(self) -> None:
        """Stop reading above the bounds, resume deferred requests below them."""
        services = self._services
        is_starved = self._receiver.is_starved
        if is_starved:
            services.pool.wait(self._on_pool_room)
        may_take = self._may_take_more()
        is_crowded = services.queued >= services.max_queued and self._next_slot > self._head
        self._read(may_take and not (self._backlog or is_starved or is_crowded))
        if may_take and self._backlog and not self._resuming:
            self._resuming = True
            services.turns.defer(self._resume)

    def _is_over_bounds(self) -> bool:
        """Whether no further request may be handled. Never while all are answered and it is not muted."""
        full = self._next_slot - self._head >= MOST_REQUESTS or self._waiting_bytes >= MOST_REQUEST_BYTES
        return full or self.mutes > 0

    def _may_take_more(self) -> bool:
        if self._is_over_bounds():
            return False
        return not self._sender.parts or self._sender.held_bytes < MOST_RESPONSE_BYTES

    def _on_pool_room(self) -> None:
        if self.closed:
            return
        self._receiver.resume()
        self._settle()

    def limit_frames(self, max_bytes: int | None) -> None:
        """How large requests may be from the next one on; None: as large as those of other connections."""
        self._receiver.max_bytes = self._services.max_request_bytes if max_bytes is None else max_bytes

    def mute(self) -> None:
        """Handle no further requests until `unmute`; calls nest. For quotas, logins and changes of the cluster."""
        self._services.queued -= self._counted
        self.mutes += 1
        self._read(False)

    def unmute(self) -> None:
        self.mutes -= 1
        self._services.queued += self._counted
        if not self._in_turn and not self._flushing_soon and not self.closed:
            self._flushing_soon = True
            self._services.flush_soon(self)

    @property
    def _counted(self) -> int:
        """How many of its requests the services count as queued: none while it is muted, which must delay no other."""
        return 0 if self.mutes else len(self._backlog)

    # ---- end

    @property
    def unanswered(self) -> int:
        """Requests whose responses are not sent yet."""
        return self._next_slot - self._head

    def describe_client(self, name: str, version: str) -> None:
        """The client has named its software; only the first time counts."""
        if self.client_software is UNKNOWN_SOFTWARE and not self.closed:
            self.client_software = ClientSoftware(name, version)
            self._services.on_described(self)

    @property
    def queued_requests(self) -> int:
        """Requests that were read and are deferred."""
        return len(self._backlog)

    @property
    def queued_responses(self) -> int:
        """Responses that are not sent yet: they wait for earlier ones, or for the peer."""
        return len(self._early) + len(self._notes)

    @property
    def received_requests(self) -> int:
        """All that were ever handed on."""
        return self._next_slot

    @property
    def sent_responses(self) -> int:
        """All whose turn to leave has come."""
        return self._head

    def _end(self, error: OSError) -> None:
        """The peer has closed the stream, which is not logged."""
        quiet = isinstance(error, (PeerClosed, ConnectionError, TimeoutError))
        _log.log(logging.DEBUG if quiet else logging.WARNING, "Connection %s ended: %s", self.id, error)
        self._shut()

    def close(self, reason: str) -> None:
        """End it from this side; what is ready to leave gets one chance."""
        if self.closed:
            return
        _log.debug("Closing connection %s: %s", self.id, reason)
        if self._sender.parts:
            try:
                self._sender.flush()
            except OSError:
                pass  # it was to be closed anyway
        self._shut()

    def _shut(self) -> None:
        if self.closed:
            return
        self.closed = True
        services = self._services
        self._read(False)
        if self._writes:
            self._watch_writable(False)
        services.pool.stop_waiting(self._on_pool_room)
        services.queued -= self._counted
        self._receiver.close()
        self._sender.close()
        self._early.clear()
        self._long_polls.clear()
        self._notes.clear()
        self._waiting.clear()
        self._backlog.clear()
        self._transport.close()
        self.metrics.closed += 1
        services.on_close(self)

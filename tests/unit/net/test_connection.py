"""Requests in, responses out in request order, within bounds; on a fake loop and transport."""

import gc
import itertools
import struct
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.base.meters import MetricRegistry
from kafka_py.net import connection as connection_module
from kafka_py.net.connection import Connection
from kafka_py.net.connection_services import ConnectionServices
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.event_loop.loop import LoopWatch
from kafka_py.net.event_loop.turns import (
    BUSY_S,
    FEW,
    HELD_S,
    LEAST_QUANTUM_S,
    LEAST_S,
    QUANTUM_S,
    SINGLE_S,
    TURN_S,
    LoopTurns,
)
from kafka_py.net.frames_in import MemoryPool
from kafka_py.net.metrics import SocketMetrics
from kafka_py.testing.clock import ManualClock


class Loop:
    """Readers, writers and callbacks, run when the test says."""

    def __init__(self) -> None:
        self.readers: dict[int, Callable[[], None]] = {}
        self.writers: dict[int, Callable[[], None]] = {}
        self.soon: list[Callable[[], None]] = []

    def add_reader(self, fd: int, callback: Callable[[], None]) -> None:
        self.readers[fd] = callback

    def remove_reader(self, fd: int) -> None:
        del self.readers[fd]

    def add_writer(self, fd: int, callback: Callable[[], None]) -> None:
        self.writers[fd] = callback

    def remove_writer(self, fd: int) -> None:
        del self.writers[fd]

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def run_soon(self) -> None:
        while self.soon:
            self.soon.pop(0)()


class Wire:
    """A transport: `incoming` is what the peer sent; `takes` how much the socket accepts (None: everything)."""

    fileno = 7
    readiness = None

    def __init__(self) -> None:
        self.incoming: list[bytes | OSError] = []
        self.takes: int | None = None
        self.sends: list[bytes] = []
        self.is_closed = False

    def recv_into(self, buffer: memoryview) -> int:
        if not self.incoming:
            raise BlockingIOError
        piece = self.incoming.pop(0)
        if isinstance(piece, OSError):
            raise piece
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        if count < len(piece):
            self.incoming.insert(0, piece[count:])
        return count

    def send(self, data: Any, _flags: int) -> int:
        if self.takes == 0:
            raise BlockingIOError
        count = len(data) if self.takes is None else min(len(data), self.takes)
        if self.takes is not None:
            self.takes -= count
        self.sends.append(bytes(data[:count]))
        return count

    def sendmsg(self, buffers: Any, _ancillary: Any, flags: int) -> int:
        return self.send(b"".join(buffers), flags)

    def close(self) -> None:
        self.is_closed = True

    @property
    def sent(self) -> bytes:
        return b"".join(self.sends)


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


class World:
    """One connection whose requests are kept for the test to answer."""

    def __init__(self, *, max_queued: int = 500, pool: MemoryPool | None = None) -> None:
        self.loop = Loop()
        self.ended: list[Connection] = []
        loop: Any = self.loop
        no_reads: Any = None
        self.watch = LoopWatch(0.0)
        self.watch.woke_s = 0.0
        self.services = ConnectionServices(
            loop, LoopTurns(loop, lambda: 0.0, self.watch), no_reads, self.ended.append, max_request_bytes=1_000_000,
            max_queued=max_queued, pool=pool or MemoryPool(),
        )  # fmt: skip
        self.registry = MetricRegistry(ManualClock())
        self.metrics = SocketMetrics(self.registry, listener="PLAINTEXT", networkProcessor="0")
        self.requests: list[tuple[int, bytes]] = []
        self.wire = Wire()
        self.connection = self.connect(self.wire)

    def keep_time(self, now_s: Callable[[], float]) -> None:
        self.services.now_s = self.services.turns.now_s = now_s
        self.watch.woke_s = now_s()

    def connect(self, wire: Wire) -> Connection:
        transport: Any = wire
        connection = Connection(
            self.services, transport, self.on_request, self.metrics, id="c", listener_name="PLAINTEXT",
            security_protocol=SecurityProtocol.PLAINTEXT, peer_host="h", peer_port=1, now_ms=0.0,
        )  # fmt: skip
        connection.start()
        return connection

    def on_request(self, connection: Connection, slot: int, frame: bytearray) -> None:
        body = bytes(frame)
        if body.startswith(b"now"):
            connection.respond(slot, [framed(body)])
        elif body.startswith(b"none"):
            connection.respond(slot, None)
        elif body.startswith(b"fail"):
            raise RuntimeError("a bug")
        elif body.startswith(b"close"):
            connection.close("it asked for it")
        else:
            self.requests.append((slot, body))

    def receive(self, *pieces: bytes | OSError) -> None:
        self.wire.incoming += pieces
        while self.wire.incoming and self.is_reading:
            self.loop.readers[7]()

    @property
    def is_reading(self) -> bool:
        return 7 in self.loop.readers


@pytest.fixture
def world() -> World:
    return World()


def test_pipelined_requests_are_answered_in_one_send(world: World) -> None:
    world.receive(framed(b"now1", b"now2", b"none", b"now3"))
    assert world.wire.sends == [framed(b"now1", b"now2", b"now3")]
    assert world.is_reading
    assert world.connection.unanswered == 0


def test_a_request_that_arrived_before_the_connection_is_read_is_answered_at_once(world: World) -> None:
    wire = Wire()
    wire.fileno = 8
    wire.incoming.append(framed(b"now"))
    world.connect(wire)
    assert wire.sends == [framed(b"now")]
    assert 8 in world.loop.readers


def test_a_connection_that_the_peer_closed_before_it_is_read_ends_at_once(world: World) -> None:
    wire = Wire()
    wire.fileno = 8
    wire.incoming.append(b"")
    connection = world.connect(wire)
    assert world.ended == [connection]
    assert wire.is_closed
    assert 8 not in world.loop.readers


def test_answers_leave_in_request_order_while_requests_overlap(world: World) -> None:
    world.receive(framed(b"parked", b"now", b"later", b"now2"))
    assert [body for _, body in world.requests] == [b"parked", b"later"]
    assert world.wire.sends == []
    world.connection.respond(2, [b"LATER"])
    world.loop.run_soon()
    assert world.wire.sends == []
    world.connection.respond(0, [b"PARKED"])
    world.loop.run_soon()
    assert world.wire.sends == [b"PARKED" + framed(b"now") + b"LATER" + framed(b"now2")]
    assert world.connection.unanswered == 0


def test_answers_that_come_in_one_turn_of_the_loop_leave_together(world: World) -> None:
    world.receive(framed(b"a", b"b", b"c"))
    for slot in range(3):
        world.connection.respond(slot, [b"%d" % slot])
    assert world.wire.sends == []
    world.loop.run_soon()
    assert world.wire.sends == [b"012"]


def test_a_request_without_response_lets_the_next_answers_pass(world: World) -> None:
    world.receive(framed(b"acks0", b"now"))
    world.connection.respond(0, None)
    world.loop.run_soon()
    assert world.wire.sent == framed(b"now")


def test_a_slot_is_answered_once(world: World) -> None:
    world.receive(framed(b"a", b"b"))
    world.connection.respond(1, [b"x"])
    for slot in (1, 2, -1):
        with pytest.raises(ValueError, match="no unanswered request"):
            world.connection.respond(slot, [b"x"])
    world.connection.respond(0, [b"x"])
    with pytest.raises(ValueError, match="no unanswered request"):
        world.connection.respond(0, [b"x"])


def test_a_failing_request_ends_its_connection_with_one_log_line(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.receive(framed(b"now", b"fail", b"now"))
    assert world.wire.is_closed
    assert world.wire.sent == framed(b"now")
    assert world.ended == [world.connection]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("error", [ConnectionResetError(104, "reset"), BrokenPipeError(32, "pipe"), TimeoutError()])
def test_a_peer_that_goes_away_is_no_news(world: World, error: OSError, caplog: pytest.LogCaptureFixture) -> None:
    world.receive(error)
    assert world.connection.closed
    assert caplog.records == []


def test_the_end_of_the_stream_ends_the_connection(world: World) -> None:
    world.receive(framed(b"parked"), b"")
    assert world.connection.closed
    assert not world.is_reading
    world.connection.respond(0, [b"too late"])
    world.loop.run_soon()
    assert world.wire.sends == []
    assert world.services.queued == 0


def test_a_closing_handler_stops_the_rest_of_the_batch(world: World) -> None:
    world.receive(framed(b"now", b"close", b"now"))
    assert world.wire.sent == framed(b"now")
    assert world.ended == [world.connection]
    world.connection.close("again")
    assert world.ended == [world.connection]


@pytest.mark.parametrize("size", [-1, 1_000_001])
def test_a_bad_size_ends_the_connection_after_what_came_before(world: World, size: int) -> None:
    world.receive(framed(b"now") + struct.pack(">i", size))
    assert world.wire.sent == framed(b"now")
    assert world.connection.closed


def test_what_the_socket_does_not_take_waits_for_it(world: World) -> None:
    world.wire.takes = 3
    world.receive(framed(b"now1"))
    assert 7 in world.loop.writers
    world.wire.takes = None
    world.loop.writers[7]()
    assert world.wire.sent == framed(b"now1")
    assert 7 not in world.loop.writers


def test_too_many_unanswered_requests_stop_the_reading(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_REQUESTS", 3)
    world.receive(framed(*[b"r%d" % number for number in range(8)]))
    assert len(world.requests) == 3
    assert not world.is_reading
    answered = 0
    while answered < 8:
        slot, body = world.requests[answered]
        world.connection.respond(slot, [body])
        world.loop.run_soon()
        answered += 1
        assert len(world.requests) == min(answered + 3, 8)
    assert world.is_reading
    assert world.wire.sent == b"r0r1r2r3r4r5r6r7"
    assert world.services.queued == 0


def test_many_requests_at_once_are_taken_in_turns_that_let_others_in_between(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 3)
    world.receive(framed(*[b"now%d" % number for number in range(8)]))
    assert world.wire.sends == [framed(b"now0", b"now1", b"now2")]
    assert not world.is_reading  # what comes next must not overtake the rest
    world.loop.soon.pop(0)()
    assert world.wire.sends[1:] == [framed(b"now3", b"now4", b"now5")]
    world.loop.run_soon()
    assert world.wire.sends[2:] == [framed(b"now6", b"now7")]
    assert world.is_reading
    assert world.connection.unanswered == world.services.queued == 0


def test_requests_that_take_long_let_others_in_between(world: World) -> None:
    now_s = 0.0
    world.keep_time(lambda: now_s)
    handled = world.on_request

    def slow(connection: Connection, slot: int, frame: bytearray) -> None:
        nonlocal now_s
        now_s += 0.75 * TURN_S
        handled(connection, slot, frame)

    world.connection.on_request = slow
    world.wire.incoming.append(framed(*[b"park"] * 5))
    turns = []
    world.connection._on_readable()
    while True:
        turns.append(len(world.requests))
        if not world.connection.queued_requests:
            break
        world.watch.woke_s = now_s
        world.loop.soon.pop(0)()
    assert turns == [2, 4, 5]


class Busy:
    """Connections that have sent many requests at once, each of which takes `request_s`. served: by connection."""

    def __init__(self, world: World, count: int, requests: int = 60, request_s: float = 0.000_06) -> None:
        self._world = world
        self._request_s = request_s
        self.now_s = 0.0
        world.keep_time(lambda: self.now_s)
        self.served = [0] * count
        self.turns_s: list[float] = []
        self.connections = []
        for number in range(count):
            wire = Wire()
            wire.fileno = 10 + number
            connection = world.connect(wire)
            connection.on_request = lambda *_, number=number: self._serve(number)
            wire.incoming.append(framed(*[b"park"] * requests))
            self.connections.append(connection)

    def _serve(self, number: int) -> None:
        self.now_s += self._request_s
        self.served[number] += 1

    def turn(self, *, reads: bool = False) -> None:
        """One turn of the loop: what is readable, then what was put off."""
        self._world.watch.woke_s = began_s = self.now_s
        due, self._world.loop.soon = self._world.loop.soon, []
        for connection in self.connections if reads else ():
            connection._on_readable()
        for call in due:
            call()
        self.turns_s.append(self.now_s - began_s)


@pytest.mark.parametrize("single_s", [0.0, 1000.0])
@pytest.mark.parametrize("count", [6, 100])
def test_connections_that_have_much_to_do_share_one_turn(world: World, count: int, single_s: float) -> None:
    """Who has little to do waits for that one turn, however many the others are, and a short one if there is one."""
    busy = Busy(world, count)
    world.services.turns.single_until_s = single_s
    busy.turn(reads=True)
    least_s = LEAST_QUANTUM_S if single_s else LEAST_S
    assert busy.turns_s[0] <= HELD_S + least_s + count * 0.000_06
    assert max(busy.served) <= (QUANTUM_S if single_s else TURN_S) / 0.000_06 + 1
    assert min(busy.served[:6]) >= least_s / 0.000_06
    assert min(busy.served) >= 1
    for _ in range(2):
        busy.turn()
    most_s = QUANTUM_S if single_s else TURN_S
    assert all(most_s <= each <= most_s + 0.000_06 + least_s for each in busy.turns_s[1:])
    while any(each.queued_requests for each in busy.connections):
        busy.turn()
    assert busy.served == [60] * count


def test_those_that_had_waited_longest_come_first(world: World) -> None:
    busy = Busy(world, 20, requests=50, request_s=TURN_S / 2)
    busy.turn(reads=True)
    assert busy.served == [2] + [1] * 19  # the first one has a whole turn
    for _ in range(10):  # two in each turn, which have equal parts of it
        busy.turn()
    assert busy.served == [3] + [2] * 19


def test_a_connection_alone_goes_on_while_nobody_waits(world: World) -> None:
    busy = Busy(world, 1)
    world.services.turns.single_until_s = 1000.0
    looks: list[float] = []

    def others_wait() -> bool:
        looks.append(busy.now_s)
        return len(looks) == 3

    world.watch.others_wait = others_wait
    busy.turn(reads=True)
    assert looks == pytest.approx([QUANTUM_S * (each + 1) for each in range(3)], abs=3 * 0.000_06)
    assert len(looks) == 3 and busy.turns_s[0] < 4 * (QUANTUM_S + 0.000_06)
    world.watch.others_wait = lambda: False
    busy.turn()
    assert TURN_S <= busy.turns_s[1] <= TURN_S + 0.000_06 + LEAST_QUANTUM_S


def test_one_that_resumes_and_is_closed_or_reset_keeps_no_other_from_its_turn(world: World) -> None:
    busy = Busy(world, 3)
    busy.turn(reads=True)
    busy.connections[0].close("a test")
    busy.connections[1].on_reset()
    world.loop.run_soon()
    assert [each.queued_requests for each in busy.connections] == [0] * 3
    assert busy.served[1:] == [60] * 2


def test_requests_that_are_deferred_come_after_what_becomes_ready(world: World) -> None:
    last: list[Callable[[], None]] = []
    world.services.turns.put_off = last.append
    busy = Busy(world, 2)
    busy.turn(reads=True)
    assert len(last) == 1
    busy.turn()
    assert busy.served[1] == 5  # not by call_soon
    while last:
        world.watch.woke_s = busy.now_s
        last.pop(0)()
    assert busy.served == [60] * 2


def test_single_requests_make_turns_short_for_a_while(world: World) -> None:
    turns, now_s = world.services.turns, 100.0
    world.keep_time(lambda: now_s)
    world.receive(framed(b"now1", b"now2"))
    assert not turns.single_until_s
    world.receive(framed(b"now1"))
    assert turns.single_until_s == pytest.approx(100.0 + SINGLE_S)


def test_a_client_that_sends_many_at_once_is_not_one_that_sends_single_requests(world: World) -> None:
    turns, now_s = world.services.turns, 100.0
    world.keep_time(lambda: now_s)
    world.receive(framed(*[b"now1"] * FEW))
    world.receive(framed(b"now1"))
    now_s += BUSY_S
    world.receive(framed(b"now1"))
    assert not turns.single_until_s
    now_s = 100.1 + BUSY_S
    world.receive(framed(b"now1"))
    assert turns.single_until_s == pytest.approx(now_s + SINGLE_S)


def test_rubbish_behind_many_requests_ends_the_connection_after_the_last_of_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 1)
    world.receive(framed(b"now1", b"now2", b"now3") + struct.pack(">i", -1))
    assert not world.connection.closed
    world.loop.run_soon()
    assert world.connection.closed
    assert world.wire.sent == framed(b"now1", b"now2", b"now3")


def test_a_connection_that_ends_between_two_turns_takes_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 1)
    world.receive(framed(b"a", b"b"))
    world.connection.close("the broker stops")
    world.loop.run_soon()
    assert [body for _, body in world.requests] == [b"a"]


def test_a_reset_between_two_turns_loses_nothing_that_was_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 1)
    world.receive(framed(b"none1", b"a", b"none2", b"b"))
    world.wire.incoming.append(ConnectionResetError())
    while not world.connection.closed:  # as long as its descriptor fails
        world.connection.on_reset()
        assert len(world.loop.soon) <= 1  # it is deferred once
        world.loop.run_soon()
    assert [body for _, body in world.requests] == [b"a", b"b"]


def test_a_reset_takes_no_more_requests_in_a_turn_than_its_time_allows(world: World) -> None:
    busy = Busy(world, 1)
    busy.turn(reads=True)
    served = busy.served[0]
    busy.connections[0].on_reset()
    assert busy.served[0] == served


def test_too_many_unanswered_bytes_stop_the_reading(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_REQUEST_BYTES", 1000)
    world.receive(framed(b"a" * 600, b"b" * 600, b"c" * 600))
    assert len(world.requests) == 2
    assert not world.is_reading
    world.connection.respond(0, [b"A"])
    world.loop.run_soon()
    assert len(world.requests) == 3
    world.connection.respond(2, [b"C"])
    world.loop.run_soon()
    assert not world.is_reading  # an answer that cannot leave yet still counts
    world.connection.respond(1, [b"B"])
    world.loop.run_soon()
    assert world.is_reading
    assert world.wire.sent == b"ABC"


def test_answers_that_are_not_fetched_stop_the_reading(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_RESPONSE_BYTES", 1000)
    world.wire.takes = 0
    world.receive(framed(b"now" + b"x" * 2000))
    assert not world.is_reading
    world.wire.takes = None
    world.loop.writers[7]()
    assert world.is_reading


def test_when_too_many_wait_for_their_turn_each_connection_may_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 1)
    world = World(max_queued=2)
    wire = Wire()
    wire.fileno = 8
    other = world.connect(wire)
    wire.incoming.append(framed(b"parked"))
    other._on_readable()
    assert 8 in world.loop.readers  # what is parked does not count
    world.receive(framed(b"now", b"parked too", b"now"))
    assert world.services.queued == 2
    other.end_turn()
    assert 8 not in world.loop.readers
    world.loop.run_soon()
    assert (len(world.requests), world.services.queued) == (2, 0)
    other.end_turn()
    assert 8 in world.loop.readers


def test_a_connection_without_requests_is_read_however_many_of_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """No response of its own would have it read again."""
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 1)
    world = World(max_queued=2)
    wire = Wire()
    wire.fileno = 8
    other = world.connect(wire)
    other._read(True)
    world.receive(framed(b"now", b"now", b"now"))
    assert world.services.queued == 2
    other.mute()
    other.unmute()
    other.end_turn()
    assert 8 in world.loop.readers


def test_what_waits_for_its_turn_is_not_counted_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 1)
    world = World()
    world.receive(framed(b"now", b"now", b"now"))
    assert world.services.queued == 2
    world.connection.close("a test")
    world.loop.run_soon()
    assert world.services.queued == 0


def test_what_waits_on_a_muted_connection_does_not_count_against_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "TURN_REQUESTS", 1)
    world = World()
    throttled = world.connection
    world.receive(framed(b"now", b"now", b"now"))
    assert world.services.queued == 2
    throttled.mute()
    throttled.mute()
    assert world.services.queued == 0
    world.loop.run_soon()  # its next turn was due already
    assert (world.services.queued, throttled.queued_requests) == (0, 2)
    throttled.unmute()
    assert world.services.queued == 0
    throttled.unmute()
    assert world.services.queued == 2
    world.loop.run_soon()
    assert (world.services.queued, throttled.queued_requests) == (0, 0)
    throttled.mute()
    world.receive(framed(b"now", b"now", b"now"))
    throttled.close("a test")
    throttled.unmute()
    assert world.services.queued == 0


def test_a_muted_connection_is_not_read_until_it_is_unmuted(world: World) -> None:
    world.connection.mute()
    assert not world.is_reading
    world.connection.mute()
    world.connection.unmute()
    world.loop.run_soon()
    assert not world.is_reading
    world.connection.unmute()
    world.loop.run_soon()
    assert world.is_reading


def test_requests_that_were_read_before_muting_wait(world: World) -> None:
    original = world.connection.on_request

    def mute_after(connection: Connection, slot: int, frame: bytearray) -> None:
        original(connection, slot, frame)
        connection.mute()

    world.connection.on_request = mute_after
    world.receive(framed(b"now1", b"now2"))
    assert world.wire.sent == framed(b"now1")
    world.connection.unmute()
    world.loop.run_soon()
    assert world.wire.sent == framed(b"now1", b"now2")


def test_a_large_request_waits_for_room_in_the_pool() -> None:
    pool = MemoryPool(1000)
    world = World(pool=pool)
    assert pool.take(1000)
    body = b"now" + b"x" * 500_000
    stream = framed(b"now", body, b"now")
    world.receive(stream)
    assert world.wire.sent == framed(b"now")
    assert not world.is_reading
    pool.give_back(1000)
    assert world.is_reading
    world.receive()
    assert world.wire.sent == framed(b"now", body, b"now")
    assert pool.used_bytes == 0


def test_a_connection_that_closes_leaves_the_queue_for_the_pool() -> None:
    pool = MemoryPool(1000)
    world = World(pool=pool)
    pool.take(1000)
    world.receive(framed(b"x" * 500_000))
    world.connection.close("gone")
    assert not pool._waiting
    pool.give_back(1000)
    assert pool.used_bytes == 0


def test_bytes_are_counted(world: World) -> None:
    world.receive(framed(b"now1"))
    assert (world.metrics.bytes_received, world.metrics.bytes_sent) == (8, 8)


# ---- word that answers have left


def noted_world() -> tuple[World, list[tuple[list[object], float, float]]]:
    world, sent = World(), []
    world.keep_time(itertools.count(1.0, 0.0001).__next__)
    world.services.on_sent = lambda notes, began_s, ended_s: sent.append((notes, began_s, ended_s))
    return world, sent


def test_notes_come_back_when_their_answers_have_left() -> None:
    world, sent = noted_world()
    world.receive(framed(b"later0", b"later1"))
    world.connection.respond(0, [b"A"], "first")
    world.connection.respond(1, [b"B"], "second")
    assert sent == []
    world.loop.run_soon()
    ((notes, began_s, ended_s),) = sent
    assert notes == ["first", "second"]
    assert 0 < began_s <= ended_s


def test_a_note_waits_for_older_answers() -> None:
    world, sent = noted_world()
    world.receive(framed(b"later0", b"later1"))
    world.connection.respond(1, [b"B"], "second")
    world.loop.run_soon()
    assert sent == []
    assert world.connection.queued_responses == 1
    world.connection.respond(0, [b"A"])
    world.loop.run_soon()
    assert [notes for notes, _, _ in sent] == [["second"]]


def test_a_note_waits_for_a_slow_peer_and_its_time_counts_from_the_first_try() -> None:
    world, sent = noted_world()
    world.receive(framed(b"later0"))
    world.wire.takes = 1  # the rest does not fit
    world.connection.respond(0, [b"ABC"], "slow")
    world.loop.run_soon()
    assert sent == []
    world.wire.takes = None
    world.loop.writers[7]()
    ((notes, began_s, ended_s),) = sent
    assert notes == ["slow"]
    assert began_s < ended_s


@pytest.mark.parametrize("is_woken_by_the_peer", [True, False])
def test_the_time_that_the_peer_is_waited_for_is_known(is_woken_by_the_peer: bool) -> None:
    world, now = World(), [1000.0]
    world.keep_time(lambda: now[0])
    waits: list[float] = []
    world.services.on_sent = lambda *_: waits.append(connection.blocked.take_s() if connection.blocked else -1.0)
    connection = world.connect(world.wire)
    assert connection.blocked is None
    world.receive(framed(b"later0"))
    world.wire.takes = 1
    connection.respond(0, [b"ABC"], "slow")
    world.loop.run_soon()
    now[0] += 5.0
    world.wire.takes = None
    if is_woken_by_the_peer:
        world.loop.writers[7]()
    else:
        connection.end_turn()  # another response is ready
    assert waits == [5.0]
    assert connection.blocked is not None
    assert connection.blocked.take_s() == 0.0


def test_a_request_without_response_is_settled_as_well() -> None:
    world, sent = noted_world()
    world.receive(framed(b"later0"))
    world.connection.respond(0, None, "acks=0")
    world.loop.run_soon()
    assert [notes for notes, _, _ in sent] == [["acks=0"]]


def test_the_notes_of_a_connection_that_ends_are_forgotten() -> None:
    world, sent = noted_world()
    world.receive(framed(b"later0", b"later1"))
    world.connection.respond(1, [b"B"], "second")
    world.connection.close("test")
    assert sent == []
    assert world.connection.queued_responses == 0


def test_a_client_describes_itself_once() -> None:
    world = World()
    described: list[Connection] = []
    world.services.on_described = described.append
    world.connection.describe_client("me", "1.0")
    world.connection.describe_client("somebody", "else")
    assert world.connection.client_software == ("me", "1.0")
    assert described == [world.connection]


def test_a_long_poll_that_holds_up_a_later_answer_is_ended(world: World) -> None:
    world.receive(framed(b"poll"))
    [(slot, _)] = world.requests
    ended: list[int] = []

    def end() -> None:
        ended.append(slot)
        world.connection.respond(slot, [framed(b"nothing")])

    world.connection.long_poll(slot, end)
    world.loop.run_soon()
    assert ended == []  # it may wait for as long as nothing waits behind it
    world.receive(framed(b"now"))
    world.loop.run_soon()
    assert ended == [slot]
    assert b"".join(world.wire.sends) == framed(b"nothing", b"now")


def test_a_long_poll_behind_another_request_is_ended_when_its_turn_has_come(world: World) -> None:
    world.receive(framed(b"slow", b"poll"))
    (slow, _), (poll, _) = world.requests
    world.connection.long_poll(poll, lambda: world.connection.respond(poll, [framed(b"nothing")]))
    world.receive(framed(b"now"))
    world.loop.run_soon()
    assert world.wire.sends == []
    world.connection.respond(slow, [framed(b"slow")])
    world.loop.run_soon()
    assert b"".join(world.wire.sends) == framed(b"slow", b"nothing", b"now")


def test_a_long_poll_that_was_answered_is_not_ended_again(world: World) -> None:
    world.receive(framed(b"slow", b"poll", b"other"))
    (slow, _), (poll, _), (other, _) = world.requests
    world.connection.long_poll(poll, lambda: pytest.fail("it has its answer"))
    world.connection.respond(poll, [framed(b"data")])
    world.connection.respond(slow, [framed(b"slow")])
    world.receive(framed(b"now"))
    world.loop.run_soon()
    world.connection.respond(other, [framed(b"other")])
    world.loop.run_soon()
    assert b"".join(world.wire.sends) == framed(b"slow", b"data", b"other", b"now")


def test_a_closed_connection_is_freed_with_its_last_reference(world: World) -> None:
    gc.disable()
    try:
        wire = Wire()
        connection = world.connect(wire)
        transport = weakref.ref(wire)
        connection.close("over")
        world.ended.clear()
        del connection, wire
        assert transport() is None
    finally:
        gc.enable()


def test_a_connection_without_unanswered_requests_is_read_however_many_others_have_queued() -> None:
    """Else it might never be: what is queued may wait for its request."""
    world = World(max_queued=1)
    world.services.queued = 1
    world.connection.mute()
    assert not world.is_reading
    world.connection.unmute()
    world.loop.run_soon()
    assert world.is_reading
    world.receive(framed(b"slow"))
    world.connection.mute()
    world.connection.unmute()
    world.loop.run_soon()
    assert not world.is_reading

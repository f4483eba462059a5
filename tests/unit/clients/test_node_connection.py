"""One connection: it leaves a broker alone that asks for it, and counts what goes through."""

import asyncio
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.connections import Connections
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.metadata import Node
from kafka_py.clients.metrics import PRODUCER, ClientMetrics
from kafka_py.clients.node_connection import Counts, NodeConnection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataResponse

NODE = Node(1, "h", 9092)
HEARTBEAT = HeartbeatRequest(group_id="", generation_id=0, member_id="")


class Clock:
    now = 0.0

    def wall_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.now / 1000


class Wire:
    """An open connection that notes what is sent, and answers when told."""

    def __init__(self) -> None:
        self.closed = False
        self.session: Any = None
        self.versions = {ApiKey.METADATA: (0, 8), ApiKey.HEARTBEAT: (0, 4)}
        self.sent: list[Any] = []
        self.answers: list[asyncio.Future[Any]] = []
        self.last_request_size = 0
        self.bytes_received = 0
        self.unsent_bytes = 0
        self.on_end: Any = None
        self._news = asyncio.Event()

    async def wait_sent(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.sent) < count:
                self._news.clear()
                await self._news.wait()

    @property
    def in_flight(self) -> int:
        return sum(not answer.done() for answer in self.answers)

    def send_nowait(self, request: Any, version: int) -> asyncio.Future[Any]:
        self.sent.append(request)
        self._news.set()
        self.last_request_size = 100
        answer = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        if self.closed:
            answer.set_exception(ConnectionLost("it is closed"))
        return answer

    def send_and_forget(self, request: Any, version: int) -> None:
        self.sent.append(request)
        self._news.set()

    def answer(self, index: int, throttle_time_ms: int = 0) -> None:
        self.bytes_received += 50
        self.answers[index].set_result(MetadataResponse(throttle_time_ms=throttle_time_ms, brokers=[], topics=[]))

    def end(self, reason: str) -> None:
        """As when the broker closes it."""
        self.close(reason)
        self.on_end(reason)

    def close(self, reason: str = "") -> None:
        self.closed = True
        for answer in self.answers:
            if not answer.done():
                answer.set_exception(ConnectionLost(reason))


async def muted(for_ms: int, version: int | None = None) -> tuple[NodeConnection, Wire]:
    """A connection whose first answer asked for a pause."""
    wire: Any = Wire()
    connection = NodeConnection(NODE, wire, 30_000, SystemClock())
    first = connection.send(MetadataRequest(), version=version)
    asyncio.get_running_loop().call_soon(wire.answer, 0, for_ms)
    await first
    return connection, wire


def test_requests_wait_in_order_for_as_long_as_the_broker_asked() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        connection, wire = await muted(50)
        assert 0 < connection.muted_for_ms <= 50
        second, third = connection.send(MetadataRequest()), connection.send(HEARTBEAT)
        connection.send_and_forget(HEARTBEAT)
        assert len(wire.sent) == 1
        assert connection.in_flight == 3
        await wire.wait_sent(4)
        assert loop.time() - began >= 0.05
        assert [type(request).__name__ for request in wire.sent[1:]] == ["MetadataRequest"] + ["HeartbeatRequest"] * 2
        wire.answer(1)
        assert (await second).throttle_time_ms == 0
        assert not third.done()
        connection.send(MetadataRequest())
        assert len(wire.sent) == 5

    asyncio.run(scenario())


def test_requests_that_are_held_back_fail_when_the_broker_closes_the_connection() -> None:
    """They do not wait until the throttle time is over, which may last for hours: others can be tried at once."""

    async def scenario() -> None:
        connection, wire = await muted(3_600_000)
        held = [connection.send(HEARTBEAT), connection.send(MetadataRequest())]
        connection.send_and_forget(HEARTBEAT)
        wire.end("the broker has closed it")
        async with asyncio.timeout(5):
            for each in held:
                with pytest.raises(ConnectionLost, match="the broker has closed it"):
                    await each
        assert connection.in_flight == 0
        assert len(wire.sent) == 1
        with pytest.raises(ConnectionLost):  # nor do later ones
            await asyncio.wait_for(connection.send(HEARTBEAT), 5)

    asyncio.run(scenario())


def test_a_request_is_held_back_no_longer_than_it_may_take() -> None:
    async def scenario() -> None:
        connection, _ = await muted(3_600_000)
        short, long = connection.send(HEARTBEAT, timeout_ms=20), connection.send(MetadataRequest())
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionLost, match="throttle time"):
                await short
        assert connection.is_open
        assert not long.done()
        assert connection.in_flight == 1
        connection.close()
        with pytest.raises(ConnectionLost):
            await long

    asyncio.run(scenario())


def test_requests_without_a_response_are_all_held_back_and_sent() -> None:
    async def scenario() -> None:
        connection, wire = await muted(20)
        for _ in range(3):
            connection.send_and_forget(HEARTBEAT)
        assert len(wire.sent) == 1
        await wire.wait_sent(4)

    asyncio.run(scenario())


@pytest.mark.parametrize("is_closed", [False, True])
def test_who_no_longer_waits_for_a_held_request_is_told_nothing(is_closed: bool) -> None:
    async def scenario() -> None:
        faults = list[dict[str, Any]]()
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        connection, _ = await muted(3_600_000)
        left = connection.send(HEARTBEAT, timeout_ms=60_000 if is_closed else 10)
        stayed = connection.send(MetadataRequest(), timeout_ms=20)
        left.cancel()
        if is_closed:
            connection.close()
        with pytest.raises(ConnectionLost):
            await asyncio.wait_for(stayed, 5)
        assert not faults

    asyncio.run(scenario())


def test_a_request_that_a_renewal_holds_for_too_long_says_so_and_those_behind_it_still_go() -> None:
    async def scenario() -> None:
        wire: Any = Wire()
        connection = NodeConnection(NODE, wire, 30_000, SystemClock())
        over = asyncio.Event()
        renewal: Any = asyncio.create_task(over.wait())
        connection._on_renewal(renewal)
        short, long = connection.send(HEARTBEAT, timeout_ms=20), connection.send(MetadataRequest())
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionLost, match="renewal of the session"):
                await short
        assert not wire.sent
        assert connection.in_flight == 1
        over.set()
        await wire.wait_sent(1)
        wire.answer(0)
        await long
        assert wire.sent == [MetadataRequest()]

    asyncio.run(scenario())


def test_a_held_request_that_cannot_be_encoded_fails_and_those_behind_it_are_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        connection, wire = await muted(20)
        send_nowait, send_and_forget = wire.send_nowait, wire.send_and_forget

        def encoding(request: Any, version: int) -> Any:
            if not isinstance(request, MetadataRequest):
                raise ValueError("cannot be encoded")
            return send_nowait(request, version)

        wire.send_nowait, wire.send_and_forget = encoding, encoding
        broken, sound = connection.send(HEARTBEAT), None
        connection.send_and_forget(HEARTBEAT)
        sound = connection.send(MetadataRequest())
        async with asyncio.timeout(5):
            with pytest.raises(ValueError, match="encoded"):
                await broken
            await wire.wait_sent(2)
            wire.answer(1)
            await sound
        wire.send_and_forget = send_and_forget

    asyncio.run(scenario())
    [logged] = caplog.records
    assert "without a response could not be sent" in logged.getMessage()


def test_a_request_that_was_held_back_may_take_its_whole_time_afterwards() -> None:
    async def scenario() -> None:
        connection, wire = await muted(30)
        held = connection.send(MetadataRequest(), timeout_ms=10_000)
        [expiry] = [each.expiry for each in connection._held.values()]
        assert expiry is not None
        await wire.wait_sent(2)
        assert expiry.cancelled()
        wire.answer(1)
        await held

    asyncio.run(scenario())


def test_a_shorter_throttle_time_does_not_end_a_longer_one() -> None:
    async def scenario() -> None:
        wire: Any = Wire()
        connection = NodeConnection(NODE, wire, 30_000, SystemClock())
        answers = [connection.send(MetadataRequest()) for _ in range(2)]
        wire.answer(0, 60_000)
        wire.answer(1, 10)
        await asyncio.gather(*answers)
        assert connection.muted_for_ms > 50_000

    asyncio.run(scenario())


def test_a_request_does_not_overtake_those_that_are_held_back() -> None:
    async def scenario() -> None:
        clock: Any = Clock()
        wire: Any = Wire()
        connection = NodeConnection(NODE, wire, 30_000, clock)
        first = connection.send(MetadataRequest())
        wire.answer(0, 20)
        await asyncio.sleep(0)  # until the response was looked at
        assert first.done()
        connection.send(HEARTBEAT)
        clock.now += 30  # the throttle time is over, but its timer was not run yet
        connection.send(MetadataRequest())
        assert len(wire.sent) == 1
        await wire.wait_sent(3)
        assert [type(request) for request in wire.sent[1:]] == [HeartbeatRequest, MetadataRequest]

    asyncio.run(scenario())


def test_an_answer_of_an_old_version_was_held_back_already() -> None:
    async def scenario() -> None:
        connection, wire = await muted(60_000, version=5)
        assert connection.muted_for_ms == 0
        connection.send(MetadataRequest())
        assert len(wire.sent) == 2

    asyncio.run(scenario())


def test_closing_fails_what_waits() -> None:
    async def scenario() -> None:
        connection, wire = await muted(60_000)
        waiting = connection.send(MetadataRequest())
        connection.close()
        with pytest.raises(ConnectionLost):
            await waiting
        assert len(wire.sent) == 1

    asyncio.run(scenario())


def test_who_no_longer_waits_is_not_asked_for() -> None:
    async def scenario() -> None:
        connection, wire = await muted(20)
        left, stayed = connection.send(MetadataRequest()), connection.send(HEARTBEAT)
        left.cancel()
        await wire.wait_sent(2)
        assert isinstance(wire.sent[1], HeartbeatRequest)
        wire.close("gone")
        with pytest.raises(ConnectionLost, match="gone"):
            await stayed

    asyncio.run(scenario())


def test_traffic_is_counted_for_the_client_and_for_the_broker() -> None:
    async def scenario() -> None:
        options = ClientOptions.parse({"bootstrap.servers": "h:1"})
        metrics = ClientMetrics(options, "me", Clock(), PRODUCER)
        connections = Connections(options, "me", ClientEnvironment(Clock(), Chance(1)), metrics)
        counts = Counts(PRODUCER.whole(metrics, owner=connections), PRODUCER.node(metrics, "node-1"))
        wire: Any = Wire()
        connection = NodeConnection(NODE, wire, 30_000, Clock(), counts)
        for index in range(2):
            answer = connection.send(MetadataRequest())
            asyncio.get_running_loop().call_soon(wire.answer, index)
            await answer
        for find in (counts.whole, counts.node):
            assert (find.requests, find.bytes_sent, find.responses, find.bytes_received) == (2, 200, 2, 100)
        values = metrics.values()
        assert values.find("request-total", "producer-node-metrics", node_id="node-1") == 2
        assert values.find("request-size-max", "producer-metrics") == 100
        assert values.find("request-latency-max", node_id="node-1") >= 0

    asyncio.run(scenario())


class Renewable:
    """What a connection knows of its session."""

    on_renewal: Any = None


def test_requests_wait_while_the_session_is_renewed() -> None:
    async def scenario() -> None:
        wire: Any = Wire()
        wire.session = Renewable()
        connection = NodeConnection(NODE, wire, 30_000, SystemClock())
        first = connection.send(MetadataRequest())
        gate = asyncio.Event()
        renewal = asyncio.get_running_loop().create_task(gate.wait())
        wire.session.on_renewal(renewal)
        second = connection.send(MetadataRequest())
        connection.send_and_forget(HEARTBEAT)
        wire.answer(0)
        assert (await first).throttle_time_ms == 0
        assert (len(wire.sent), connection.muted_for_ms) == (1, 0)
        gate.set()
        await wire.wait_sent(3)
        wire.answer(1)
        await second
        connection.send(MetadataRequest())
        assert len(wire.sent) == 4

    asyncio.run(scenario())


def test_requests_that_waited_fail_when_the_session_is_not_renewed() -> None:
    async def scenario() -> None:
        wire: Any = Wire()
        wire.session = Renewable()
        connection = NodeConnection(NODE, wire, 30_000, SystemClock())

        async def refused() -> None:
            wire.close("refused")

        wire.session.on_renewal(asyncio.get_running_loop().create_task(refused()))
        waiting = connection.send(MetadataRequest())
        connection.send_and_forget(HEARTBEAT)
        async with asyncio.timeout(10):
            with pytest.raises(ConnectionLost):
                await waiting
        assert (wire.sent, connection.in_flight) == ([], 0)

    asyncio.run(scenario())

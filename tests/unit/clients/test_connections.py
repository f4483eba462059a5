"""One connection per broker: shared attempts, back-off, versions, time-outs, idleness; without any socket."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.connections import Connections
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.metadata import Node
from kafka_py.clients.node_connection import NodeConnection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.fetch import FetchRequest
from kafka_py.wire.messages.metadata import MetadataRequest

NODE = Node(1, "h", 9092)


class Clock:
    now = 1000.0

    def wall_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.now / 1000


class Wire:
    """An open connection that notes what is sent and answers when told."""

    def __init__(self) -> None:
        self.closed = False
        self.session: Any = None
        self.versions = {ApiKey.METADATA: (0, 5), ApiKey.FETCH: (20, 30)}
        self.sent: list[tuple[Any, int]] = []
        self.answers: list[asyncio.Future[Any]] = []

    @property
    def in_flight(self) -> int:
        return sum(not answer.done() for answer in self.answers)

    def send_nowait(self, request: Any, version: int) -> asyncio.Future[Any]:
        self.sent.append((request, version))
        answer = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        return answer

    def close(self, reason: str = "") -> None:
        self.closed = True
        for answer in self.answers:
            if not answer.done():
                answer.set_exception(ConnectionLost(reason))


class World:
    """Connections whose attempts are counted, and fail while `refusing`."""

    def __init__(self, **settings: Any) -> None:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.clock = Clock()
        self.attempts: list[float] = []
        self.refusing = False
        self.wires: list[Wire] = []
        options = ClientOptions.parse({"bootstrap.servers": "h:9092", **names})
        environment = ClientEnvironment(self.clock, Chance(1), connect=self._connect)
        self.connections = Connections(options, "me", environment)

    async def _connect(self, node: Node, timeout_ms: float) -> Any:
        self.attempts.append(timeout_ms)
        await asyncio.sleep(0)
        if self.refusing:
            raise ConnectionLost("refused")
        self.wires.append(Wire())
        return self.wires[-1]


def run(scenario: Callable[[World], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main() -> None:
        await scenario(World(**settings))

    asyncio.run(main())


def test_callers_share_one_attempt() -> None:
    async def scenario(world: World) -> None:
        first, second = await asyncio.gather(world.connections.open(NODE), world.connections.open(NODE))
        assert first is second
        assert len(world.attempts) == 1
        assert world.connections.current(1) is first

    run(scenario)


def test_a_failure_is_a_network_error_and_the_back_off_doubles_up_to_its_limit() -> None:
    async def scenario(world: World) -> None:
        world.refusing = True
        delays = []
        for _ in range(6):
            with pytest.raises(KafkaError, match=r"Connection to node 1 \(h:9092\) failed: refused") as caught:
                await world.connections.open(NODE)
            assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
            delays.append(world.connections.delay_ms(1))
            world.clock.now += 10_000
        for delay, expected in zip(delays, (100, 200, 400, 800, 1000, 1000), strict=True):
            assert 0.8 * expected <= delay <= 1.2 * expected

    run(scenario, reconnect_backoff_ms=100, reconnect_backoff_max_ms=1000)


def test_the_time_for_connecting_grows_with_failures() -> None:
    async def scenario(world: World) -> None:
        world.refusing = True
        for _ in range(3):
            with pytest.raises(KafkaError):
                await world.connections.open(NODE)
            world.clock.now += 10_000
        for timeout, expected in zip(world.attempts, (1000, 2000, 3000), strict=True):
            assert 0.8 * expected <= timeout <= 1.2 * expected

    run(scenario, socket_connection_setup_timeout_ms=1000, socket_connection_setup_timeout_max_ms=3000)


def test_a_broker_at_another_address_is_connected_to_anew() -> None:
    async def scenario(world: World) -> None:
        first = await world.connections.open(NODE)
        world.clock.now += 10_000
        second = await world.connections.open(Node(1, "h", 9999))
        assert second is not first
        assert not first.is_open

    run(scenario)


def test_versions_are_the_newest_that_both_sides_know() -> None:
    async def scenario(world: World) -> None:
        connection = await world.connections.open(NODE)
        assert connection.version_for(MetadataRequest) == 5
        with pytest.raises(KafkaError, match="supports no known version of Fetch") as caught:
            connection.version_for(FetchRequest)
        assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION

    run(scenario)


def test_a_request_without_answer_costs_the_connection() -> None:
    async def scenario(world: World) -> None:
        connection = await world.connections.open(NODE)
        with pytest.raises(ConnectionLost, match=r"request\.timeout\.ms"):
            await connection.send(MetadataRequest(topics=[]), timeout_ms=1)
        assert world.connections.current(1) is None

    run(scenario)


def test_an_answer_in_time_leaves_the_connection_alone() -> None:
    async def scenario(world: World) -> None:
        connection = await world.connections.open(NODE)
        answer = connection.send(MetadataRequest(topics=[]), timeout_ms=1)
        world.wires[0].answers[0].set_result("fine")
        assert await answer == "fine"
        await asyncio.sleep(0.003)
        assert connection.is_open

    run(scenario)


def test_idle_connections_are_closed_but_not_busy_ones() -> None:
    async def scenario(world: World) -> None:
        idle: NodeConnection = await world.connections.open(NODE)
        busy = await world.connections.open(Node(2, "h", 9093))
        busy.send(MetadataRequest(topics=[]))
        idle.last_used -= 1000
        busy.last_used -= 1000
        world.connections.close_idle()
        assert not idle.is_open
        assert busy.is_open
        await world.connections.close()

    run(scenario, connections_max_idle_ms=5000)


def test_brokers_that_left_the_cluster_are_disconnected() -> None:
    async def scenario(world: World) -> None:
        connection = await world.connections.open(NODE)
        world.connections.forget_others({2: Node(2, "h", 9093)})
        assert not connection.is_open

    run(scenario)


def test_after_close_nothing_is_opened() -> None:
    async def scenario(world: World) -> None:
        connection = await world.connections.open(NODE)
        await world.connections.close()
        assert not connection.is_open
        with pytest.raises(KafkaError, match="closed"):
            await world.connections.open(NODE)

    run(scenario)

"""Metadata kept fresh, and requests to the right broker; over connections that are plain objects."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import ClientTimeout, IllegalState
from kafka_py.clients.metadata import Node
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.wire.apis import APIS
from kafka_py.wire.messages.describe_cluster import DescribeClusterRequest
from kafka_py.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


class Wire:
    """A connection that is answered by the world at once."""

    def __init__(self, world: "World", node: Node) -> None:
        self.closed = False
        self.session: Any = None
        self.in_flight = 0
        self.versions = {key: (0, api.max_version) for key, api in APIS.items()}
        self._world = world
        self._node = node

    def send_nowait(self, request: Any, version: int) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            future.set_result(self._world.answer(self._node, request))
        except ConnectionLost as error:
            self.closed = True
            future.set_exception(error)
        return future

    def close(self, reason: str = "") -> None:
        self.closed = True


class World:
    """Two brokers at ports 1 and 2, of which some are down."""

    def __init__(self, **settings: Any) -> None:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.down: set[int] = set()
        self.asked: list[tuple[int, Any]] = []
        self.refused = 0
        self.was_asked = asyncio.Event()
        self.leader = 1
        self.topics: list[str] = ["t"]
        options = ClientOptions.parse(
            {"bootstrap.servers": "h:1,h:2", "retry.backoff.ms": 1, "reconnect.backoff.ms": 1, **names}
        )
        environment = ClientEnvironment(connect=self._connect)
        self.cluster = Cluster(options, "me", environment, wanted=lambda: self.topics)

    async def wait_until_asked(self, count: int) -> None:
        while len(self.asked) < count:
            self.was_asked.clear()
            await self.was_asked.wait()

    async def _connect(self, node: Node, timeout_ms: float) -> Any:
        if node.port in self.down:
            self.refused += 1
            raise ConnectionLost("refused")
        return Wire(self, node)

    def answer(self, node: Node, request: Any) -> Any:
        if node.port in self.down:
            raise ConnectionLost("gone")
        self.asked.append((node.port, request))
        self.was_asked.set()
        if not hasattr(request, "topics"):
            return f"from {node.port}"
        partition = MetadataResponsePartition(
            error_code=0, partition_index=0, leader_id=self.leader, leader_epoch=0, replica_nodes=[], isr_nodes=[]
        )
        names = [each.name for each in request.topics]
        topics = [MetadataResponseTopic(error_code=0, name=name, partitions=[partition]) for name in names]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=port, host="h", port=port) for port in (1, 2)],
            controller_id=2,
            topics=topics,
        )


def run(scenario: Callable[[World], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main() -> None:
        world = World(**settings)
        world.cluster.start()
        try:
            async with asyncio.timeout(10):
                await scenario(world)
        finally:
            await world.cluster.close()

    asyncio.run(main())


REQUEST = DescribeClusterRequest(include_cluster_authorized_operations=False)


def test_the_picture_comes_by_itself_and_names_leaders() -> None:
    async def scenario(world: World) -> None:
        view = await world.cluster.refresh(1000)
        assert set(view.nodes) == {1, 2}
        assert world.cluster.leader_of(TopicPartition("t", 0)).id == 1
        with pytest.raises(KafkaError) as caught:
            world.cluster.leader_of(TopicPartition("t", 1))
        assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        world.leader = 9
        await world.cluster.refresh(1000)
        with pytest.raises(KafkaError) as caught:
            world.cluster.leader_of(TopicPartition("t", 0))
        assert caught.value.code is ErrorCode.LEADER_NOT_AVAILABLE

    run(scenario)


def test_those_who_wait_for_a_refresh_share_it() -> None:
    async def scenario(world: World) -> None:
        await world.cluster.refresh(1000)
        before = len(world.asked)
        await asyncio.gather(*(world.cluster.refresh(1000) for _ in range(20)))
        assert len(world.asked) - before <= 2

    run(scenario)


def test_a_refresh_that_fails_is_tried_again_until_it_works() -> None:
    async def scenario(world: World) -> None:
        world.down = {1, 2}
        waiting = asyncio.ensure_future(world.cluster.refresh(5000))
        while world.refused < 4:  # noqa: ASYNC110  # each turn lets the cluster try again
            await asyncio.sleep(0)
        assert not waiting.done()
        world.down = {1}
        await waiting

    run(scenario, reconnect_backoff_max_ms=2)


def test_a_refresh_that_never_works_names_the_reason() -> None:
    async def scenario(world: World) -> None:
        world.down = {1, 2}
        with pytest.raises(ClientTimeout, match="failed: refused"):
            await world.cluster.refresh(30)

    run(scenario, reconnect_backoff_max_ms=2)


def test_metadata_is_asked_for_again_when_it_is_old() -> None:
    async def scenario(world: World) -> None:
        await world.cluster.refresh(1000)
        before = len(world.asked)
        await world.wait_until_asked(before + 3)

    run(scenario, metadata_max_age_ms=5)


def test_a_request_for_any_broker_goes_to_the_next_one_when_the_first_is_down() -> None:
    async def scenario(world: World) -> None:
        await world.cluster.refresh(1000)
        world.down = {1}
        for _ in range(5):
            assert await world.cluster.send_any(REQUEST) == "from 2"
        world.down = {1, 2}
        with pytest.raises(KafkaError) as caught:
            await world.cluster.send_any(REQUEST)
        assert caught.value.code is ErrorCode.NETWORK_EXCEPTION

    run(scenario, reconnect_backoff_max_ms=2)


def test_a_request_for_one_broker_goes_to_that_one() -> None:
    async def scenario(world: World) -> None:
        await world.cluster.refresh(1000)
        assert await world.cluster.send(2, REQUEST) == "from 2"
        with pytest.raises(KafkaError, match="broker 7 is not part of the cluster"):
            await world.cluster.send(7, REQUEST)
        world.down = {2}
        before = len(world.asked)
        with pytest.raises(KafkaError, match="NETWORK_EXCEPTION"):
            await world.cluster.send(2, REQUEST)
        await world.wait_until_asked(before + 1)  # the failure has metadata asked for

    run(scenario, reconnect_backoff_max_ms=2)


def test_listeners_hear_of_every_view() -> None:
    async def scenario(world: World) -> None:
        views: list[Any] = []
        world.cluster.on_update(views.append)
        await world.cluster.refresh(1000)
        assert views[-1] is world.cluster.view

    run(scenario)


def test_closing_ends_the_wait_of_others() -> None:
    async def scenario(world: World) -> None:
        world.down = {1, 2}
        waiting = asyncio.ensure_future(world.cluster.refresh(5000))
        await asyncio.sleep(0)
        await world.cluster.close()
        with pytest.raises(IllegalState, match="closed"):
            await waiting

    run(scenario)


def test_a_listener_that_fails_harms_neither_the_others_nor_the_next_refresh(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(world: World) -> None:
        seen: list[object] = []

        def fail(_view: object) -> None:
            raise ZeroDivisionError

        world.cluster.on_update(fail)
        world.cluster.on_update(seen.append)
        for count in (1, 2, 3):
            await world.cluster.refresh(1000)
            assert len(seen) >= count
        assert world.cluster.supervisor.failures["metadata listener"] >= 3

    run(scenario)
    assert any(record.exc_info for record in caplog.records)


def test_metadata_is_still_kept_fresh_after_an_error_that_nobody_foresaw() -> None:
    async def scenario(world: World) -> None:
        wanted = world.topics
        world.topics = 7  # type: ignore[assignment]  # cannot be iterated
        with pytest.raises(ClientTimeout, match="not iterable"):
            await world.cluster.refresh(50)
        world.topics = wanted
        await world.cluster.refresh(5000)

    run(scenario)

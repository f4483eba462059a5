"""Brokers that do not accept a client at work: which calls fail with it, and which are not concerned."""

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AsyncConsumer, AsyncProducer
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import AuthenticationError, TransactionFailed
from kafka_py.clients.metadata import Node
from kafka_py.net.connection_failures import AuthenticationFailed, ConnectionLost
from kafka_py.testing.fakes.fake_cluster import CUT_AFTER
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class World:
    """Two brokers that lead a partition each, or more. refusing, down: node ids that refuse logins, or connections.

    seed: of the client's choice among brokers.
    """

    def __init__(self, brokers: int = 2, seed: int = 1) -> None:
        self.cluster = MemoryCluster(brokers)
        self.cluster.create_topic("t", 2)
        self.seed = seed
        self.wires = MemoryWires(self.cluster)
        self.refused = 0
        self.refusing: set[int] = set()
        self.down: set[int] = set()
        self.settings = {"bootstrap.servers": "h:9092", "retry.backoff.ms": 10, "reconnect.backoff.ms": 10}

    def environment(self) -> ClientEnvironment:
        return ClientEnvironment(virtual_clock(), Chance(self.seed), connect=self._connect)

    async def _connect(self, node: Node, timeout_ms: float) -> Any:
        if node.id in self.refusing or (node.id < 0 and self.refusing):
            self.refused += 1
            raise AuthenticationFailed("a wrong password")
        if node.id in self.down:
            raise ConnectionLost("refused")
        return await self.wires.connect(node, timeout_ms)

    def cut(self, *node_ids: int) -> None:
        """Closes the connections to these brokers."""
        for wire in self.wires.open:
            if wire._node_id in node_ids:
                wire.close()


def play(run: Coroutine[Any, Any, None]) -> None:
    run_virtual(run)


def test_only_what_waits_for_the_broker_that_refuses_fails() -> None:
    """And at once, long before delivery.timeout.ms."""
    world = World()

    async def run() -> None:
        async with AsyncProducer({**world.settings, "linger.ms": 100}, environment=world.environment()) as producer:
            await (await producer.send("t", b"v", partition=0))
            world.refusing = {1}
            refused = await producer.send("t", b"v", partition=1)
            await asyncio.sleep(0.08)
            sent = await producer.send("t", b"v", partition=0)  # waits for linger.ms when the other is refused
            async with asyncio.timeout(5):
                with pytest.raises(AuthenticationError, match="a wrong password"):
                    await refused
                await sent

    play(run())


def test_what_waits_for_an_unreachable_leader_fails_where_the_others_refuse() -> None:
    world = World()

    async def run() -> None:
        async with AsyncProducer({**world.settings, "linger.ms": 100}, environment=world.environment()) as producer:
            await producer.partitions_for("t")
            world.refusing, world.down = {0}, {1}
            world.cut(0, 1)
            waiting = await producer.send("t", b"v", partition=1)
            async with asyncio.timeout(20):
                with pytest.raises(AuthenticationError, match="a wrong password"):
                    await waiting

    play(run())


@pytest.mark.parametrize("seed", range(4))
def test_what_waits_for_a_leader_that_restarts_does_not_fail_where_one_of_the_others_refuses(seed: int) -> None:
    """As in a change of certificates that goes wrong for one broker: the third one has the metadata."""
    world = World(brokers=3, seed=seed)

    async def run() -> None:
        async with AsyncProducer(world.settings, environment=world.environment()) as producer:
            await producer.partitions_for("t")
            world.refusing, world.down = {1}, {0}
            world.cut(0, 1, 2)
            waiting = await producer.send("t", b"v", partition=0)
            await asyncio.sleep(3)
            world.down = set()
            async with asyncio.timeout(5):
                await waiting

    play(run())


def test_a_consumer_is_not_told_of_one_broker_that_refuses_where_another_has_the_metadata() -> None:
    for seed in range(4):
        world = World(brokers=3, seed=seed)

        async def run(world: World = world) -> None:
            async with AsyncConsumer(world.settings, environment=world.environment()) as consumer:
                await consumer.assign([A])
                await consumer.seek(A, 0)
                await consumer.poll(0.1)
                world.refusing, world.down = {1}, {0}
                world.cut(0, 1, 2)
                assert not await consumer.poll(3.0)

        play(run())


def test_a_refusal_is_over_when_another_call_has_connected() -> None:
    world = World(brokers=1)

    async def run() -> None:
        settings = {**world.settings, "retry.backoff.ms": 1000}
        async with AsyncConsumer(settings, environment=world.environment()) as consumer:
            await consumer.assign([A])
            await consumer.seek(A, 0)
            await consumer.poll(0.1)
            world.refusing = {0}
            world.cut(0)
            await asyncio.sleep(1.5)
            world.refusing = set()
            assert await consumer.end_offsets([A]) == {A: 0}  # while the fetcher waits before it tries again
            await asyncio.sleep(3)
            assert not await consumer.poll(1.0)

    play(run())


def test_a_consumer_is_told_of_the_one_leader_that_refuses_and_not_after_it_has_accepted() -> None:
    world = World()

    async def run() -> None:
        settings = {**world.settings, "auto.offset.reset": "earliest"}
        async with AsyncConsumer(settings, environment=world.environment()) as consumer:
            await consumer.assign([A, B])
            await consumer.poll(1.0)
            world.refusing = {1}
            world.cut(1)
            with pytest.raises(AuthenticationError, match="a wrong password"):
                await consumer.poll(5.0)
            await asyncio.sleep(2)  # another refusal waits for the next poll, and is over before it
            world.refusing = set()
            await asyncio.sleep(3)
            assert not await consumer.poll(1.0)

    play(run())


def test_a_consumer_without_a_leader_is_told_when_no_metadata_can_be_had() -> None:
    world = World()

    async def run() -> None:
        async with AsyncConsumer(world.settings, environment=world.environment()) as consumer:
            missing = TopicPartition("missing", 0)
            await consumer.assign([missing])
            await consumer.seek(missing, 0)
            await consumer.poll(0.5)
            world.refusing = {0, 1}
            world.cut(0, 1)
            with pytest.raises(AuthenticationError, match="a wrong password"):
                await consumer.poll(5.0)
            await asyncio.sleep(2)
            world.refusing = set()
            await asyncio.sleep(3)
            assert not await consumer.poll(1.0)

    play(run())


def test_a_refusal_is_not_tried_at_every_broker() -> None:
    """Each try is a failed login, and brokers or directories may lock the account after some of them."""
    world = World()
    world.refusing = {0, 1}

    async def run() -> None:
        settings = {**world.settings, "bootstrap.servers": "h:9092,h:9093,h:9094"}
        async with AsyncProducer(settings, environment=world.environment()) as producer:
            with pytest.raises(AuthenticationError, match="a wrong password"):
                await producer.send("t", b"v")
            assert world.refused == 1

    play(run())


def test_a_join_that_was_refused_leaves_no_error_that_nobody_took(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.refusing = {0, 1}

    async def run() -> None:
        async with AsyncConsumer({**world.settings, "group.id": "g"}, environment=world.environment()) as consumer:
            await consumer.subscribe(["t"])
            with pytest.raises(AuthenticationError, match="a wrong password"):
                await consumer.poll(5.0)
            await consumer.poll(0)  # begins to join again, if the join is what has failed
            await asyncio.sleep(3)
        gc.collect()

    play(run())
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_no_sequence_of_a_batch_that_may_be_stored_is_used_again_after_a_refusal() -> None:
    """Where brokers give no next epoch: its leader would take the next transaction's batch for a duplicate."""
    world = World()
    world.cluster.versions = {ApiKey.INIT_PRODUCER_ID: 2}

    async def run() -> None:
        settings = {**world.settings, "transactional.id": "tx"}
        async with AsyncProducer(settings, environment=world.environment()) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await (await producer.send("t", b"first", partition=1))
            world.cluster.fail(ApiKey.PRODUCE, CUT_AFTER)
            world.refusing = {1}
            with pytest.raises(AuthenticationError, match="a wrong password"):
                await (await producer.send("t", b"stored", partition=1))
            assert world.cluster.log("t", 1).values() == [b"first", b"stored"]
            world.refusing = set()
            with pytest.raises(TransactionFailed, match="close the producer"):
                await producer.abort_transaction()

    play(run())

"""What fetches do about errors: once per partition to the application, and where the next fetch goes."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AsyncConsumer, OffsetAndMetadata
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import OffsetOutOfRange
from kafka_py.clients.metadata import Node
from kafka_py.clients.node_connection import NodeConnection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.fakes.fake_answers import answer_fetch
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class World:
    """Two brokers that lead a partition each; ten records in both."""

    def __init__(self, **settings: object) -> None:
        self.cluster = MemoryCluster(2)
        self.cluster.create_topic("t", 2)
        for each in (A, B):
            builder = BatchBuilder()
            for number in range(10):
                builder.append(number, None, b"x", ())
            self.cluster.partitions[each].append(builder.build())
        self.wires = MemoryWires(self.cluster)
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.settings = {"bootstrap.servers": "h:9092", "auto.offset.reset": "none", "retry.backoff.ms": 10, **names}

    def consumer(self) -> AsyncConsumer:
        return AsyncConsumer(self.settings, environment=self.wires.environment(virtual_clock()))

    def fetches(self, node_id: int) -> int:
        return sum(node == node_id and isinstance(each, FetchRequest) for node, each in self.cluster.requests)


async def _quiet(consumer: AsyncConsumer) -> list[KafkaError]:
    """The errors of polls for five seconds."""
    errors = []
    loop = asyncio.get_running_loop()
    end_s = loop.time() + 5
    while loop.time() < end_s:
        try:
            await consumer.poll(0.5)
        except KafkaError as error:
            errors.append(error)
    return errors


def _play(run: Coroutine[Any, Any, None]) -> None:
    run_virtual(run)


def test_an_error_waits_once_however_long_the_application_works() -> None:
    world = World()

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.assign([A])
            await consumer.seek(A, 99)
            await asyncio.sleep(5)
            fetched = world.fetches(0)
            with pytest.raises(OffsetOutOfRange):
                await consumer.poll(1.0)
            assert fetched <= 2
            await consumer.seek(A, 3)
            assert [each.offset for each in await consumer.poll(1.0)] == list(range(3, 10))
            assert await _quiet(consumer) == []

    _play(run())


def test_an_error_that_a_seek_has_mended_is_not_raised() -> None:
    world = World()

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.assign([A, B])
            await consumer.seek(A, 99)
            await consumer.seek(B, 0)
            await asyncio.sleep(1)
            await consumer.seek(A, 0)
            assert len(await consumer.poll(1.0)) + len(await consumer.poll(1.0)) == 20
            assert await _quiet(consumer) == []

    _play(run())


def test_an_error_that_remains_is_raised_by_poll_after_poll_as_the_position_stays() -> None:
    world = World()

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.assign([A])
            await consumer.seek(A, 99)
            for _ in range(3):
                with pytest.raises(OffsetOutOfRange):
                    await consumer.poll(1.0)

    _play(run())


@pytest.mark.parametrize("trouble", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR, "unreachable"])
def test_a_follower_that_fails_is_not_preferred_any_longer(trouble: Any) -> None:
    """Else the fetches would fail until metadata.max.age.ms has passed (KIP-392)."""
    world = World(auto_offset_reset="earliest", reconnect_backoff_ms=10)
    answers: list[int] = []

    def fetch(request: FetchRequest) -> Any:
        node_id = next(node for node, each in reversed(world.cluster.requests) if each is request)
        answer = answer_fetch(world.cluster, node_id, request, ErrorCode.NONE if node_id == 0 else trouble)
        answers.append(node_id)
        if answers == [0]:
            for each in answer.responses[0].partition_responses:
                each.preferred_read_replica, each.record_set = 1, None
        return answer

    async def connect(node: Node, timeout_ms: float) -> Any:
        if trouble == "unreachable" and node.id == 1:
            raise ConnectionLost("refused")
        return await world.wires.connect(node, timeout_ms)

    async def run() -> None:
        environment = ClientEnvironment(virtual_clock(), connect=connect)
        async with AsyncConsumer(world.settings, environment=environment) as consumer:
            await consumer.assign([A])
            world.cluster.answers[ApiKey.FETCH] = fetch
            seen = [record.offset for record in await consumer.poll(20)]
            assert seen == list(range(10))

    _play(run())
    assert answers[:2] == ([0, 0] if trouble == "unreachable" else [0, 1])


def test_a_seek_with_a_leader_epoch_is_validated_even_under_an_epoch_validated_before() -> None:
    """KIP-320: the new position's epoch may have ended before that offset."""
    world = World(auto_offset_reset="earliest")
    world.cluster.partitions[A].leader_epoch = 5

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.assign([A])
            await consumer.seek(A, OffsetAndMetadata(3, "", 2))
            assert await consumer.poll(1.0)
            before = world.cluster.count(OffsetForLeaderEpochRequest)
            await consumer.seek(A, OffsetAndMetadata(4, "", 3))
            assert await consumer.poll(1.0)
            assert (before, world.cluster.count(OffsetForLeaderEpochRequest)) == (1, 2)

    _play(run())


def test_an_answer_of_the_former_leader_after_one_of_the_new_leader_is_not_handed_out_again() -> None:
    world = World(auto_offset_reset="earliest", metadata_max_age_ms=1_000)
    late: list[Any] = []

    def fetch(request: FetchRequest) -> Any:
        node_id = next(node for node, each in reversed(world.cluster.requests) if each is request)
        answer = answer_fetch(world.cluster, node_id, request, ErrorCode.NONE)
        if node_id == 0 and not late:
            late.append(answer)
            world.cluster.move_leader("t", 0, 1)
            return None
        return answer

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.assign([A])
            world.cluster.answers[ApiKey.FETCH] = fetch
            assert [record.offset for record in await consumer.poll(20)] == list(range(10))
            wire = next(each for each in world.wires.open if each._node_id == 0 and each._waiting)
            world.cluster.answers[ApiKey.FETCH] = lambda _: late[0]
            wire._answer(ApiKey.FETCH, None, wire._waiting[0])
            del world.cluster.answers[ApiKey.FETCH]
            assert list(await consumer.poll(2)) == []

    _play(run())


def test_a_fetch_that_could_not_be_sent_is_not_taken_for_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker's session (KIP-227) does not know the offsets of that request: the next one names them all."""
    world = World(auto_offset_reset="earliest")
    known: dict[TopicPartition, FetchPartition] = {}
    send, sent = NodeConnection.send, []

    def fetch(request: FetchRequest) -> Any:
        node_id = next(node for node, each in reversed(world.cluster.requests) if each is request)
        if request.session_epoch == 0:
            known.clear()
        known.update({TopicPartition(topic.topic, each.partition): each for topic in request.topics
                      for each in topic.partitions})  # fmt: skip
        topics = [FetchTopic(topic=tp.topic, partitions=[each]) for tp, each in known.items()]
        asked = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, topics=topics)
        answer = answer_fetch(world.cluster, node_id, asked, ErrorCode.NONE)
        answer.session_id = 7
        return answer

    def fails_once(connection: NodeConnection, request: Any, **options: Any) -> Any:
        sent.append(isinstance(request, FetchRequest))
        if sent.count(True) == 2 and sent[-1]:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "not this one")
        return send(connection, request, **options)

    async def run() -> None:
        monkeypatch.setattr(NodeConnection, "send", fails_once)
        async with world.consumer() as consumer:
            await consumer.assign([A])
            world.cluster.answers[ApiKey.FETCH] = fetch
            seen: list[int] = []
            refused = 0
            for _ in range(20):
                try:
                    seen += [record.offset for record in await consumer.poll(0.5)]
                except KafkaError:
                    refused += 1
            assert refused == 1
            assert seen == list(range(10))
            assert known[A].fetch_offset == 10

    _play(run())


def test_a_retry_does_not_wait_for_a_later_time_of_another_partition() -> None:
    """One timer serves all partitions: a back-off ends long before a preferred replica (KIP-392) expires."""
    world = World(auto_offset_reset="earliest", fetch_max_wait_ms=60_000)
    refused_at_s: list[float] = []

    def fetch(request: FetchRequest) -> Any:
        node_id = next(node for node, each in reversed(world.cluster.requests) if each is request)
        partitions = [each for topic in request.topics for each in topic.partitions]
        if any(each.partition == A.partition for each in partitions) and node_id == 0:
            answer = answer_fetch(world.cluster, node_id, request, ErrorCode.NONE)
            for each in answer.responses[0].partition_responses:
                each.preferred_read_replica, each.record_set = 1, None
            return answer
        if any(each.partition == A.partition for each in partitions):
            return None  # the follower holds this fetch, as it has no records to return yet
        refused_at_s.append(asyncio.get_running_loop().time())
        return answer_fetch(world.cluster, node_id, request, ErrorCode.UNKNOWN_SERVER_ERROR)

    async def run() -> None:
        async with world.consumer() as consumer:
            world.cluster.move_leader("t", 1, 0)
            world.cluster.answers[ApiKey.FETCH] = fetch
            await consumer.assign([A])
            await consumer.poll(1)
            await consumer.assign([A, B])
            await consumer.poll(1)
            assert len(refused_at_s) > 10

    _play(run())

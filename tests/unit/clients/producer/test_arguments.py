"""One wrong argument concerns one record: it is refused at once, all others are answered, and flush and close end."""

import asyncio
import random
import time
from array import array
from collections.abc import Callable
from typing import Any, cast

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AsyncProducer, ProducerInterceptor, RecordFuture
from kafka_py.clients.producer.batches import ProducerBatch
from kafka_py.records.batch import decode_records
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

BAD: dict[str, dict[str, Any]] = {
    "a float timestamp": {"timestamp": 1e12},
    "a timestamp beyond 64 bits": {"timestamp": 1 << 63},
    "a negative timestamp": {"timestamp": -1},
    "a timestamp that is true": {"timestamp": True},
    "a header that is text": {"headers": [("a", "b")]},
    "a header without name": {"headers": [(None, b"b")]},
    "a header name that has no UTF-8": {"headers": [("\ud800", b"b")]},
    "a header of three": {"headers": [("a", b"b", b"c")]},
    "headers in a dict": {"headers": {"a": b"b"}},
    "headers that can be read once": {"headers": (each for each in [("a", b"b")])},
    "a text for a value": {"value": "text"},
    "a number for a key": {"key": 7},
    "a text for a key": {"key": "text"},
    "a negative partition": {"partition": -1},
    "a partition by name": {"partition": "0"},
    "a fraction of a partition": {"partition": 0.5},
    "no topic": {"topic": None},
    "a topic that is a list": {"topic": ["t"]},
}
GOOD: list[dict[str, Any]] = [
    {"value": b"v"},
    {"value": bytearray(b"v"), "key": bytearray(b"k")},
    {"value": memoryview(b"v"), "key": memoryview(b"k")},
    {"value": memoryview(array("i", [1, 2]))},
    {"value": None, "key": b"k"},
    {"value": b"", "timestamp": 0},
    {"value": b"v", "timestamp": (1 << 63) - 1},
    {"value": b"v", "timestamp": time.time_ns() // 1_000_000, "headers": [("a", b"b"), ("c", None)]},
    {"value": b"v", "headers": ((("a", bytearray(b"b"))),)[:0]},
    {"value": b"v", "headers": [("a", memoryview(b"b"))], "partition": 1},
]


class World:
    """A cluster with topics t and u of two partitions, and a producer for it."""

    def __init__(self, **settings: object) -> None:
        self.cluster = MemoryCluster()
        self.cluster.create_topic("t", 2)
        self.cluster.create_topic("u", 2)
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.settings = {"bootstrap.servers": "h:9092", "retry.backoff.ms": 5, **names}
        self.wires = MemoryWires(self.cluster)

    def producer(self) -> AsyncProducer:
        return AsyncProducer(self.settings, environment=self.wires.environment(virtual_clock()))

    def stored(self) -> list[Any]:
        return [
            record
            for partition in self.cluster.partitions.values()
            for batch in partition.batches
            for record in decode_records(batch)
        ]


@pytest.mark.parametrize("bad", BAD)
def test_a_wrong_argument_is_refused_and_nothing_else_is_concerned(bad: str) -> None:
    world = World()

    async def run() -> None:
        async with world.producer() as producer:
            for _ in range(2):  # before the topic is known, and after
                before = await producer.send("u", b"innocent")
                with pytest.raises((TypeError, ValueError)):
                    await producer.send(**{"topic": "t", "value": b"v", **BAD[bad]})
                after = await producer.send("t", b"innocent")
                await producer.flush()
                assert before.done()
                assert after.done()

    run_virtual(run())
    assert len(world.stored()) == 4


def test_bytes_may_come_in_three_types_and_as_they_are_at_the_call() -> None:
    world = World(linger_ms=100)

    async def run() -> None:
        async with world.producer() as producer:
            value = bytearray(b"now")
            headers = [("h", cast(bytes, bytearray(b"x")))]
            await producer.send("t", value, key=memoryview(b"k"), headers=headers, partition=0)
            value[:] = b"xxx"

    run_virtual(run())
    [record] = world.stored()
    assert (record.value, record.key, record.headers) == (b"now", b"k", (("h", b"x"),))


async def _send_at_random(world: World, draw: random.Random, count: int) -> tuple[int, int]:
    """(records acknowledged, records refused); every future is answered in the end."""
    futures: list[RecordFuture] = []
    refused = 0
    async with world.producer() as producer:
        for _ in range(count):
            bad = draw.random() < 0.3
            record = draw.choice(list(BAD.values())) if bad else draw.choice(GOOD)
            try:
                futures.append(await producer.send(**{"topic": draw.choice("tu"), "value": b"v", **record}))
                assert not bad
            except (TypeError, ValueError):
                assert bad
                refused += 1
            if draw.random() < 0.02:
                await producer.flush()
                assert all(future.done() for future in futures)
        memory = producer._core.accumulator.pool
    assert memory.available == memory.total
    assert all(future.exception(0) is None for future in futures)
    return len(futures), refused


@pytest.mark.parametrize("settings", [{}, {"enable_idempotence": True}, {"compression_type": "gzip", "linger_ms": 3}])
def test_under_random_wrong_arguments_every_record_is_answered(settings: dict[str, object]) -> None:
    world = World(batch_size=300, **settings)
    acknowledged, refused = run_virtual(_send_at_random(world, random.Random(1), 3_000))
    assert len(world.stored()) == acknowledged > 1_000
    assert refused > 500


def _failing(now_and_then: Callable[[], bool], work: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if now_and_then():
            raise RuntimeError("not foreseen")
        return work(*arguments)

    return call


@pytest.mark.parametrize("settings", [{}, {"enable_idempotence": True}, {"acks": "0"}])
def test_a_batch_that_cannot_be_encoded_fails_and_the_others_are_sent(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong within one batch, the sender goes on, memory comes back, flush and close end."""
    world, draw = World(batch_size=200, **settings), random.Random(1)
    monkeypatch.setattr(ProducerBatch, "encode", _failing(lambda: draw.random() < 0.2, ProducerBatch.encode))

    async def run() -> tuple[int, int]:
        async with world.producer() as producer:
            futures = [await producer.send(draw.choice("tu"), b"v" * 50) for _ in range(500)]
            await producer.flush()
            errors = [future.exception(0) for future in futures]
            assert producer._core.accumulator.pool.available == producer._core.accumulator.pool.total
        assert {error.code for error in errors if error is not None} == {ErrorCode.UNKNOWN_SERVER_ERROR}
        return sum(error is None for error in errors), sum(error is not None for error in errors)

    good, bad = run_virtual(run())
    assert bad > 10
    assert len(world.stored()) == good > 100


def test_an_answer_that_makes_no_sense_fails_its_batches_and_no_more() -> None:
    world = World()
    world.settings["retries"] = 0

    async def run() -> None:
        async with world.producer() as producer:
            await producer.partitions_for("t")
            malformed = ProduceResponse(responses=[cast(Any, None)], throttle_time_ms=0)
            world.cluster.answers[ApiKey.PRODUCE] = lambda _: malformed
            lost = await producer.send("t", b"v")
            with pytest.raises(KafkaError):
                await asyncio.wait_for(_result(lost), 5)
            del world.cluster.answers[ApiKey.PRODUCE]
            assert (await _result(await producer.send("t", b"v"))).offset == 0

    run_virtual(run())


async def _result(future: RecordFuture) -> Any:
    return await future


class Refused(ProducerInterceptor):
    def __init__(self) -> None:
        self.errors: list[Exception | None] = []

    def on_acknowledgement(self, metadata: Any, error: Exception | None) -> None:
        self.errors.append(error)


def test_interceptors_are_notified_of_a_record_that_was_refused() -> None:
    interceptor = Refused()
    world = World(interceptor_classes=[interceptor])

    async def run() -> None:
        async with world.producer() as producer:
            with pytest.raises(TypeError):
                await producer.send("t", 7)

    run_virtual(run())
    assert [type(error) for error in interceptor.errors] == [TypeError]


def test_a_callback_that_would_end_the_thread_does_not() -> None:
    world = World()

    def leave(*_: object) -> None:
        raise SystemExit

    async def run() -> None:
        async with world.producer() as producer:
            first = await producer.send("t", b"v", partition=0, callback=leave)
            second = await producer.send("t", b"v", partition=0)
            await producer.flush()
            assert first.done()
            assert second.done()

    run_virtual(run())


def test_a_partition_that_a_topic_no_longer_has_is_not_sent_to() -> None:
    """A topic deleted and created again with fewer partitions."""
    world = World(max_block_ms=500, delivery_timeout_ms=2_000, request_timeout_ms=1_000)

    async def run() -> None:
        async with world.producer() as producer:
            assert (await (await producer.send("t", b"v", partition=1))).offset == 0
            del world.cluster.partitions[TopicPartition("t", 1)]
            await producer._core.cluster.refresh()
            with pytest.raises(KafkaError, match="has 1 partitions"):
                await producer.send("t", b"v", partition=1)
            assert (await (await producer.send("t", b"v"))).partition == 0

    run_virtual(run())


def test_a_batch_in_flight_fails_at_its_delivery_timeout() -> None:
    world = World(delivery_timeout_ms=40_000, request_timeout_ms=30_000, linger_ms=10_000)

    async def run() -> float:
        async with world.producer() as producer:
            await producer.partitions_for("t")
            world.cluster.answers[ApiKey.PRODUCE] = lambda _: None
            clock = virtual_clock()
            began_ms = clock.monotonic_ms()
            with pytest.raises(KafkaError, match="was sent"):
                await (await producer.send("t", b"v"))
            passed_ms = clock.monotonic_ms() - began_ms
            await producer.close(0)
            return passed_ms

    assert run_virtual(run()) == pytest.approx(40_000, abs=1_100)


def test_compressed_batches_reserve_what_they_may_grow_to() -> None:
    world = World(compression_type="gzip", batch_size=1_000, buffer_memory=100_000, linger_ms=60_000)

    async def run() -> None:
        async with world.producer() as producer:
            await producer.partitions_for("t")
            core = producer._core.accumulator
            core.topics["t"].ratio = 0.1  # as learnt from batches before
            for _ in range(10):
                await producer.send("t", b"x" * 400, partition=0)
            [batch] = core.incomplete
            assert batch.size > 4_000
            assert core.pool.total - core.pool.available >= batch.size
            await producer.flush()

    run_virtual(run())


def test_an_answer_that_comes_after_the_delivery_timeout_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    world = World(delivery_timeout_ms=40_000, request_timeout_ms=30_000, linger_ms=10_000, max_block_ms=90_000)
    world.wires = MemoryWires(world.cluster, lambda: 20.0)
    sent: list[float] = []

    def refuse_the_first(request: Any) -> ProduceResponse:
        sent.append(virtual_clock().monotonic_ms())
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER if len(sent) == 1 else ErrorCode.NONE
        answers = [
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    PartitionProduceResponse(index=each.index, error_code=code, base_offset=0)
                    for each in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
        return ProduceResponse(responses=answers)

    async def run() -> None:
        async with world.producer() as producer:
            await producer.partitions_for("t")
            world.cluster.answers[ApiKey.PRODUCE] = refuse_the_first
            future = await producer.send("t", b"v")
            with pytest.raises(KafkaError, match="was sent"):
                await future
            assert len(sent) == 1
            await asyncio.sleep(30)
            assert len(sent) == 2  # the answer has come
            assert future.done()
            pool = producer._core.accumulator.pool
            assert pool.available == pool.total

    run_virtual(run())
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def test_the_memory_of_a_split_batch_is_given_back_once() -> None:
    world = World(linger_ms=5)

    def too_large(request: Any) -> ProduceResponse:
        del world.cluster.answers[ApiKey.PRODUCE]
        [topic] = request.topic_data
        [data] = topic.partition_data
        refused = PartitionProduceResponse(index=data.index, error_code=ErrorCode.MESSAGE_TOO_LARGE, base_offset=-1)
        return ProduceResponse(responses=[TopicProduceResponse(name=topic.name, partition_responses=[refused])])

    async def run() -> None:
        async with world.producer() as producer:
            await producer.partitions_for("t")
            world.cluster.answers[ApiKey.PRODUCE] = too_large
            futures = [await producer.send("t", b"%d" % number, partition=0) for number in range(10)]
            assert [(await future).offset for future in futures] == list(range(10))
            pool = producer._core.accumulator.pool
            assert pool.available == pool.total

    run_virtual(run())

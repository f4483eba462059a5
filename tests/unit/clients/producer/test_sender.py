"""The sender's rounds: when it looks again, and in which order batches of one partition leave."""

import asyncio
import random
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.clients import AsyncProducer
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.metadata import ClusterView, Node, PartitionInfo, TopicInfo
from kafka_py.clients.metrics import PRODUCER, ClientMetrics
from kafka_py.clients.producer.accumulator import Accumulator
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.metrics import ProducerMetrics
from kafka_py.clients.producer.sender import Sender
from kafka_py.testing.fakes.fake_answers import answer_produce
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.produce import ProduceRequest

VIEW = ClusterView(
    {0: Node(0, "h", 1)}, {"t": TopicInfo("t", ZERO_UUID, False, (PartitionInfo("t", 0, 0, 0, (0,), (0,), ()),))}
)
A = TopicPartition("t", 0)
KINDS: list[dict[str, Any]] = [
    {"enable.idempotence": True, "acks": "all"},
    {"enable.idempotence": False, "max.in.flight.requests.per.connection": 1},
    {"enable.idempotence": False},
]


class Unreachable:
    """A cluster whose only broker takes no connection."""

    def __init__(self, clock):
        self.clock = clock
        self.supervisor = Supervisor(clock)

    def on_update(self, _listener):
        pass

    def on_refused(self, _listener):
        pass

    def lacks_connection(self, _node_id):
        return True

    def request_refresh(self):
        pass

    def current_connection(self, _node_id):
        return None

    async def connection(self, _node_id):
        await asyncio.Event().wait()


@pytest.mark.parametrize("began_s", [0.1 * number + 1e-7 * number**3 for number in range(1, 40)])
def test_a_batch_expires_at_the_end_of_its_time_without_a_busy_loop(began_s):
    async def send():
        clock = virtual_clock()
        options = ProducerOptions.parse(
            {"bootstrap.servers": "h:1", "delivery.timeout.ms": "6000", "request.timeout.ms": "3000"}
        )
        accumulator = Accumulator(options, clock, random.Random(1), lambda: None)
        accumulator.take_view(VIEW)
        cluster = Unreachable(clock)
        metrics = ProducerMetrics(ClientMetrics(options, "c", clock, PRODUCER), owner=cluster)
        sender = Sender(options, cluster, accumulator, metrics)
        await asyncio.sleep(began_s)
        sent = accumulator.append("t", None, b"v", 0, None, None, None)
        turns = asyncio.get_running_loop().turns
        sender.step()
        with pytest.raises(KafkaError) as refused:
            await sent
        assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
        assert asyncio.get_running_loop().turns - turns < 100
        assert clock.monotonic_ms() - began_s * 1000 == pytest.approx(6000, abs=1)

    run_virtual(send())



@pytest.mark.parametrize("kind", KINDS)
def test_a_new_leader_gets_nothing_before_the_former_has_answered(kind: dict[str, Any]) -> None:
    """Else the second batch could be in the log before the first, which the former leader may refuse."""
    cluster = MemoryCluster(2)
    cluster.create_topic("t", 1)
    held: list[Any] = []

    def produce(request: ProduceRequest) -> Any:
        node_id = next(node for node, each in reversed(cluster.requests) if each is request)
        if node_id == 0:
            held.append(request)
            return None
        return answer_produce(cluster, node_id, request, ErrorCode.NONE)

    def asked_of(node_id: int) -> int:
        return sum(node == node_id and isinstance(each, ProduceRequest) for node, each in cluster.requests)

    async def run() -> None:
        cluster.answers[ApiKey.PRODUCE] = produce
        wires = MemoryWires(cluster)
        settings = {"bootstrap.servers": "h:9092", "metadata.max.age.ms": 500, "retry.backoff.ms": 10, **kind}
        async with AsyncProducer(settings, environment=wires.environment(virtual_clock())) as producer:
            await producer.partitions_for("t")
            first = await producer.send("t", b"first", partition=0)
            await asyncio.sleep(0.1)
            assert len(held) == 1
            cluster.move_leader("t", 0, 1)
            await asyncio.sleep(2)
            assert producer._core.cluster.leader_of(A).id == 1
            second = await producer.send("t", b"second", partition=0)
            await asyncio.sleep(5)
            assert asked_of(1) == 0
            cluster.answers[ApiKey.PRODUCE] = lambda request: answer_produce(
                cluster, 0 if request is held[0] else 1, request, ErrorCode.NONE
            )
            wire = next(each for each in wires.open if each._node_id == 0 and each._waiting)
            wire._answer(ApiKey.PRODUCE, held[0], wire._waiting[0])
            assert [(await first).offset, (await second).offset] == [0, 1]
        assert cluster.partitions[A].values() == [b"first", b"second"]

    run_virtual(run())


def test_what_is_sent_during_a_flush_is_not_added_to_the_batches_that_it_ends() -> None:
    """A flush waits for what was sent before it, so nothing may join that, and nothing of it lingers."""
    cluster = MemoryCluster()
    cluster.create_topic("t", 1)
    wires = MemoryWires(cluster)

    async def run() -> None:
        reachable = asyncio.Event()

        async def connect(node: Node, timeout_ms: float) -> Any:
            if producer._core.accumulator.topics:
                await reachable.wait()
            return await wires.connect(node, timeout_ms)

        settings = {"bootstrap.servers": "h:9092", "linger.ms": 60_000, "request.timeout.ms": 90_000}
        async with AsyncProducer(settings, environment=ClientEnvironment(virtual_clock(), connect=connect)) as producer:
            await producer.partitions_for("t")
            await producer.send("t", b"before", partition=0)
            await producer.send("t", b"before", partition=0)
            flushing = asyncio.create_task(producer.flush())
            await asyncio.sleep(1)
            await producer.send("t", b"during", partition=0)
            reachable.set()
            begun_s = asyncio.get_running_loop().time()
            await flushing
            assert asyncio.get_running_loop().time() - begun_s < 1
            await producer.flush()

    run_virtual(run())
    batches = [
        batch for _, request in cluster.requests if isinstance(request, ProduceRequest)
        for topic in request.topic_data for batch in topic.partition_data
    ]  # fmt: skip
    assert len(batches) == 2
    assert cluster.partitions[A].values() == [b"before", b"before", b"during"]

"""The sender's rounds: it waits for what is due, however the sums of times are rounded."""

import asyncio
import random

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID
from kafka_py.base.supervision import Supervisor
from kafka_py.clients.metadata import ClusterView, Node, PartitionInfo, TopicInfo
from kafka_py.clients.metrics import PRODUCER, ClientMetrics
from kafka_py.clients.producer.accumulator import Accumulator
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.metrics import ProducerMetrics
from kafka_py.clients.producer.sender import Sender
from kafka_py.testing.virtual_time import run_virtual, virtual_clock

VIEW = ClusterView(
    {0: Node(0, "h", 1)}, {"t": TopicInfo("t", ZERO_UUID, False, (PartitionInfo("t", 0, 0, 0, (0,), (0,), ()),))}
)


class Unreachable:
    """A cluster whose only broker takes no connection."""

    def __init__(self, clock):
        self.clock = clock
        self.supervisor = Supervisor(clock)

    def on_update(self, _listener):
        pass

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

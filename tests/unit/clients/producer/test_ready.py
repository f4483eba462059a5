"""Which lanes may be sent from: each in one place, served in turn, and looked at only when something happened."""

import asyncio
import math
from typing import Any

from kafka_py.clients import AsyncProducer
from kafka_py.clients.producer.lanes import Lane
from kafka_py.clients.producer.ready import ReadyLanes
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.messages.produce import ProduceRequest


def lanes(count: int, leader: int = 0) -> list[Lane]:
    made = [Lane("t", number) for number in range(count)]
    for lane in made:
        lane.leader = leader
    return made


def test_a_lane_that_is_ready_again_waits_behind_all_others() -> None:
    ready, (a, b, c) = ReadyLanes(), lanes(3)
    for lane in (a, b, c):
        ready.put_ready(lane)
    ready.put_ready(b)  # it keeps its turn
    served = []
    for _ in range(4):
        lane = ready.first(0)
        served.append(lane)
        ready.forget(lane)
        ready.put_ready(lane)
    assert served == [a, b, c, a]


def test_waiting_lanes_are_due_in_order_and_once() -> None:
    ready, (a, b, c) = ReadyLanes(), lanes(3)
    for lane, moment in ((a, 30.0), (b, 10.0), (c, 20.0)):
        ready.put_waiting(lane, moment)
    ready.put_waiting(a, 5.0)
    ready.put_ready(c)
    assert ready.next_ms == 5.0
    assert ready.due(15.0) == [a, b]
    assert ready.due(100.0) == []
    assert ready.next_ms == math.inf
    assert ready.nodes() == [0]


def test_a_lane_that_waits_for_its_broker_is_named_once_that_is_idle() -> None:
    ready, (a, b) = ReadyLanes(), lanes(2)
    ready.put_waiting(a, 30.0, eager=True)
    ready.put_waiting(b, 30.0)
    assert list(ready.idle(0)) == [a]
    ready.put_leaderless(a)
    assert ready.has_leaderless
    assert list(ready.idle(0)) == []
    assert ready.due(30.0) == [b]


def _partitions(request: ProduceRequest) -> list[int]:
    return [each.index for topic in request.topic_data for each in topic.partition_data]


def test_partitions_of_one_broker_are_served_in_turn() -> None:
    """Requests that hold three batches each, one request at a time: no partition is served twice before another."""
    cluster = MemoryCluster()
    cluster.create_topic("t", 9)
    settings = {
        "bootstrap.servers": "h:9092", "max.request.size": 3_100, "batch.size": 1_000, "linger.ms": 5,
        "max.in.flight.requests.per.connection": 1,
    }  # fmt: skip

    async def run() -> list[int]:
        wires = MemoryWires(cluster, delay_s=lambda: 0.01)
        async with AsyncProducer(settings, environment=wires.environment(virtual_clock())) as producer:
            await producer.partitions_for("t")
            for _ in range(3):
                for number in range(9):
                    await producer.send("t", b"x" * 900, partition=number)
            await producer.flush()
        return [each for _, request in cluster.requests if isinstance(request, ProduceRequest)
                for each in _partitions(request)]  # fmt: skip

    sent = run_virtual(run())
    assert sorted(sent) == sorted(3 * list(range(9)))
    for begin in range(0, 27, 9):
        assert sorted(sent[begin : begin + 9]) == list(range(9))


def test_a_step_looks_only_at_lanes_to_which_something_happened() -> None:
    cluster = MemoryCluster()
    cluster.create_topic("t", 500)
    looked: list[Lane] = []

    async def run() -> None:
        settings = {"bootstrap.servers": "h:9092", "linger.ms": 60_000}
        wires = MemoryWires(cluster)
        async with AsyncProducer(settings, environment=wires.environment(virtual_clock())) as producer:
            await producer.partitions_for("t")
            for number in range(500):
                await producer.send("t", b"x", partition=number)
            await asyncio.sleep(0)
            sender: Any = producer._core.sender
            place = sender._place
            sender._place = lambda lane, now_ms: (looked.append(lane), place(lane, now_ms))
            await producer.send("t", b"x" * 16_000, partition=7)
            await producer.send("t", b"x" * 16_000, partition=7)
            await asyncio.sleep(1)
            assert {lane.partition for lane in looked} == {7}
            sender._place = place

    run_virtual(run())

"""Markers on their way to the leaders: one request in flight per broker, sent again until they are written."""

import asyncio
import logging

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.coordinator.transactions.marker_channels import MOST_MARKERS, MarkerChannels
from kafka_py.coordinator.transactions.marker_queues import ROUTED_AT_ONCE, UNREACHABLE
from kafka_py.coordinator.transactions.markers import MarkerOutcome, TransactionMarkers
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
COMPLETE, FENCED = MarkerOutcome.COMPLETE, MarkerOutcome.FENCED


def respond(request, error=ErrorCode.NONE):
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=int(error))
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


class Brokers:
    """Brokers that respond by a script: an error for all markers, an exception to raise, or None for no response."""

    def __init__(self, leaders, *script):
        self.leaders = leaders
        self.script = list(script)
        self.sent = []  # (broker, number of markers)
        self.open = []
        self.clock = virtual_clock()
        self.supervisor = Supervisor(self.clock)
        self.registry = MetricRegistry(self.clock)
        self.outcomes = []
        self.channels = MarkerChannels(
            leaders.get, self.connect, version=1, request_timeout_ms=30_000, clock=self.clock, registry=self.registry,
            supervisor=self.supervisor,
        )  # fmt: skip

    async def connect(self, broker):
        connection = Scripted(self, broker)
        self.open.append(connection)
        return connection

    def send(self, name, *partitions, partition=0):
        markers = TransactionMarkers(name, hash(name) & 0xFFFF, 0, 0, True, partitions)
        self.channels.send(partition, markers, lambda outcome: self.outcomes.append((name, outcome)))


class Scripted:
    def __init__(self, world, broker):
        self.world = world
        self.broker = broker
        self.in_flight = 0

    async def send(self, request, version):
        assert version == 1 and self.in_flight == 0
        self.in_flight += 1
        try:
            count = sum(len(topic.partition_indexes) for marker in request.markers for topic in marker.topics)
            self.world.sent.append((self.broker, count))
            step = self.world.script.pop(0) if self.world.script else ErrorCode.NONE
            if step is None:
                await asyncio.sleep(10_000)
            if isinstance(step, BaseException):
                raise step
            await asyncio.sleep(0.01)
            return respond(request, step)
        finally:
            self.in_flight -= 1

    def close(self):
        self.world.open.remove(self)


def test_markers_go_to_each_leader_and_the_transaction_hears_of_them_once():
    async def run():
        world = Brokers({A: 1, B: 2})
        world.send("x", A, B)
        await asyncio.sleep(1)
        assert sorted(world.sent) == [(1, 1), (2, 1)]
        assert world.outcomes == [("x", COMPLETE)]
        assert len(world.open) == 2
        world.channels.close()
        assert world.open == []

    run_virtual(run())


def test_what_comes_while_a_request_is_in_flight_leaves_together_with_the_next():
    async def run():
        world = Brokers({A: 1})
        world.send("x", A)
        await asyncio.sleep(0.005)
        for name in "abc":
            world.send(name, A)
        await asyncio.sleep(1)
        assert world.sent == [(1, 1), (1, 3)]
        assert [name for name, _ in world.outcomes] == ["x", "a", "b", "c"]
        world.channels.close()

    run_virtual(run())


def test_a_request_has_no_more_markers_than_its_receiver_takes_in_one_go():
    async def run():
        partitions = [TopicPartition("t", number) for number in range(MOST_MARKERS + 10)]
        world = Brokers(dict.fromkeys(partitions, 1))
        world.send("x", *partitions)
        await asyncio.sleep(1)
        assert world.sent == [(1, MOST_MARKERS), (1, 10)]
        assert world.outcomes == [("x", COMPLETE)]
        world.channels.close()

    run_virtual(run())


def test_a_lost_connection_has_the_markers_sent_to_the_leader_of_then(caplog):
    caplog.set_level(logging.WARNING, "kafka_py.coordinator.transactions.marker_channels")

    async def run():
        world = Brokers({A: 1}, ConnectionResetError("gone"), ConnectionResetError("gone"))
        world.send("x", A)
        await asyncio.sleep(0.03)
        assert world.sent == [(1, 1), (1, 1)] and world.open == []
        world.leaders[A] = 2
        await asyncio.sleep(1)
        assert world.sent == [(1, 1), (1, 1), (2, 1)]
        assert world.outcomes == [("x", COMPLETE)]
        world.channels.close()

    run_virtual(run())
    assert caplog.text.count("Broker 1 did not respond to the markers of 1 transactions") == 1


def test_no_response_in_time_counts_as_lost():
    async def run():
        world = Brokers({A: 1}, None)
        world.send("x", A)
        await asyncio.sleep(29.9)
        assert world.outcomes == []
        await asyncio.sleep(1)
        assert world.sent == [(1, 1), (1, 1)]
        assert world.outcomes == [("x", COMPLETE)]
        world.channels.close()

    run_virtual(run())


def test_markers_wait_for_a_leader_and_are_counted():
    async def run():
        world = Brokers({A: UNREACHABLE})
        name = "kafka.coordinator.transaction:type=TransactionMarkerChannelManager,name=UnknownDestinationQueueSize"
        world.send("x", A)
        waiting = {reading.mbean: reading.attributes["Value"] for reading in world.registry.read()}
        assert waiting[name] == 1
        await asyncio.sleep(5)
        assert world.sent == []
        world.leaders[A] = 1
        await asyncio.sleep(1)
        assert world.outcomes == [("x", COMPLETE)]
        world.channels.close()
        assert not list(world.registry.read())

    run_virtual(run())


def test_errors_that_pass_are_tried_again_ever_more_slowly():
    async def run():
        world = Brokers({A: 1}, *[ErrorCode.NOT_ENOUGH_REPLICAS] * 30)
        world.send("x", A)
        await asyncio.sleep(0.15)
        assert 3 <= len(world.sent) <= 4
        await asyncio.sleep(5)
        assert 10 <= len(world.sent) <= 16
        await asyncio.sleep(60)
        assert world.outcomes == [("x", COMPLETE)]
        world.channels.close()

    run_virtual(run())


def test_a_fenced_transaction_harms_no_other():
    async def run():
        world = Brokers({A: 1, B: 2}, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
        world.send("x", A, B)
        world.send("y", B)
        await asyncio.sleep(1)
        assert sorted(world.outcomes) == [("x", FENCED), ("y", COMPLETE)]
        world.channels.close()

    run_virtual(run())


def test_an_error_that_no_leader_should_give_is_logged_once(caplog):
    async def run():
        world = Brokers({A: 1}, *[ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 3)
        world.send("x", A)
        await asyncio.sleep(2)
        assert world.outcomes == [("x", COMPLETE)]
        world.channels.close()

    run_virtual(run())
    assert caplog.text.count("with CLUSTER_AUTHORIZATION_FAILED") == 1
    assert "transactional id x" in caplog.text


def test_a_forgotten_partition_sends_nothing_more():
    async def run():
        world = Brokers({A: 1, B: UNREACHABLE})
        world.send("x", A, B)
        world.send("y", B, partition=1)
        await asyncio.sleep(0.005)
        world.channels.forget(0)
        world.leaders[B] = 2
        await asyncio.sleep(1)
        assert world.sent == [(1, 1), (2, 1)]
        assert world.outcomes == [("y", COMPLETE)]
        world.channels.close()

    run_virtual(run())


def test_a_transaction_whose_end_fails_ends_no_channel():
    async def run():
        world = Brokers({A: 1})

        def fail(_outcome):
            raise RuntimeError("cannot be stored")

        world.channels.send(0, TransactionMarkers("x", 1, 0, 0, True, (A,)), fail)
        world.send("y", A)
        await asyncio.sleep(1)
        assert world.outcomes == [("y", COMPLETE)]
        assert sum(world.supervisor.failures.values()) == 1
        world.channels.close()

    run_virtual(run())


def test_an_unforeseen_failure_to_send_is_reported_and_the_markers_are_sent_again():
    async def run():
        world = Brokers({A: 1}, ValueError("cannot be encoded"), asyncio.CancelledError())
        world.send("x", A)
        await asyncio.sleep(5)
        assert world.outcomes == [("x", COMPLETE)]
        assert sum(world.supervisor.failures.values()) == 2
        world.channels.close()

    run_virtual(run())


def test_a_response_that_cannot_be_applied_to_one_transaction_ends_the_others(monkeypatch):
    async def run():
        world = Brokers({A: 1})
        queues = world.channels._queues
        answered, failing = queues.answered, ["b"]

        def fail_once(share, errors):
            if share.pending.markers.transactional_id in failing:
                failing.clear()
                raise RuntimeError("out of order")
            return answered(share, errors)

        monkeypatch.setattr(queues, "answered", fail_once)
        world.send("x", A)
        await asyncio.sleep(0.005)
        for name in "abc":
            world.send(name, A)
        await asyncio.sleep(0.02)
        assert [name for name, _ in world.outcomes] == ["x", "a", "c"]
        await asyncio.sleep(1)
        assert world.outcomes[3:] == [("b", COMPLETE)]
        assert world.sent == [(1, 1), (1, 3), (1, 1)]
        assert sum(world.supervisor.failures.values()) == 1
        world.channels.close()

    run_virtual(run())


def test_a_partition_whose_leader_cannot_be_looked_up_delays_no_other_transaction():
    class Leaders(dict):
        def get(self, topic_partition):
            if self[topic_partition] is None:
                raise RuntimeError("out of order")
            return self[topic_partition]

    async def run():
        world = Brokers(Leaders({A: UNREACHABLE, B: None}))
        world.send("x", B)
        world.send("y", A)
        await asyncio.sleep(1)
        world.leaders[A] = 1
        await asyncio.sleep(1)
        assert world.outcomes == [("y", COMPLETE)]
        world.leaders[B] = 1
        await asyncio.sleep(1)
        assert world.outcomes == [("y", COMPLETE), ("x", COMPLETE)]
        world.channels.close()

    run_virtual(run())


def test_the_leaders_of_very_many_partitions_are_looked_up_in_turns(monkeypatch):
    partitions = [TopicPartition("t", number) for number in range(20_000)]

    async def run():
        world = Brokers(dict.fromkeys(partitions, UNREACHABLE))
        queues = world.channels._queues
        route, routed = queues.route, []

        def note(pending, some):
            routed.append(len(some))
            return route(pending, some)

        monkeypatch.setattr(queues, "route", note)
        world.send("x", *partitions)
        assert routed == []
        await asyncio.sleep(0)
        assert sum(routed) == len(partitions)
        for topic_partition in partitions:
            world.leaders[topic_partition] = 1
        await asyncio.sleep(2)
        assert sum(routed) == 2 * len(partitions) and max(routed) == ROUTED_AT_ONCE
        assert sum(count for _, count in world.sent) == len(partitions)
        assert world.outcomes == [("x", COMPLETE)]
        world.channels.close()

    run_virtual(run())


def test_after_the_end_nothing_is_opened_again():
    async def run():
        world = Brokers({A: 1, B: 2}, None)
        world.send("x", A)
        await asyncio.sleep(1)
        world.channels.close()
        world.send("y", B)
        await asyncio.sleep(1)
        assert world.sent == [(1, 1)]
        assert world.open == []

    run_virtual(run())

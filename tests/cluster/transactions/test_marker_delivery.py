"""Markers from a coordinator's broker to the leaders, itself among them; to the others over real connections."""

import time
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.broker.own_markers import OwnMarkers
from kafka_py.broker.wiring.marker_wiring import make_marker_channels
from kafka_py.coordinator.transactions.marker_channels import MarkerChannels
from kafka_py.coordinator.transactions.markers import MarkerOutcome, TransactionMarkers
from kafka_py.log.model.answers import Origin
from kafka_py.net.client import NO_SECURITY
from kafka_py.net.network import TcpNetwork
from kafka_py.testing.local_broker import LISTENER, LocalBroker, batch, in_folder
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.apis import APIS, ApiKey

Scenario = Callable[[LocalBroker, LocalBroker, MarkerChannels], Coroutine[Any, Any, None]]


def on_two_brokers(scenario: Scenario) -> Callable[[], None]:
    """A test of two brokers, each of which leads partitions of topic t, and the channels of the first."""

    async def run(folder: str) -> None:
        zookeeper = FakeZookeeper()
        brokers = [
            LocalBroker(f"{folder}/{number}", zookeeper, {"broker.id": str(number)})
            for number in (0, 1)
        ]
        for broker in brokers:
            await broker.start()
        first, second = brokers
        await first.until(lambda: first.server.node.metadata.is_live(1))
        await first.create_topic("__transaction_state")
        await first.create_topic("t", 4)
        await first.until(lambda: len(led(first)) + len(led(second)) == 4)
        channels = channels_of(first)
        try:
            await scenario(first, second, channels)
        finally:
            channels.close()
            for broker in reversed(brokers):
                await broker.stop()

    return in_folder(run, scenario)


def channels_of(broker: LocalBroker) -> MarkerChannels:
    node = broker.server.node
    env: Any = SimpleNamespace(
        broker_id=node.broker_id, live=node.live_config, clock=SYSTEM_CLOCK, network=TcpNetwork(),
        listening=SimpleNamespace(inter_broker_listener=LISTENER), security_to=lambda _listener: NO_SECURITY,
        registry=MetricRegistry(SYSTEM_CLOCK), supervisor=Supervisor(SYSTEM_CLOCK),
    )  # fmt: skip
    return make_marker_channels(env, node.metadata, lambda: OwnMarkers(node))


def led(broker: LocalBroker) -> dict[TopicPartition, Any]:
    """The logs of topic t that the broker leads."""
    return {
        topic_partition: partition.log
        for topic_partition, partition in broker.server.node.hosted.partitions.items()
        if topic_partition.topic == "t" and partition.is_leader
    }


def begin(*brokers: LocalBroker, producer_id: int = 7) -> tuple[TopicPartition, ...]:
    """An open transaction in every partition of the brokers."""
    fields: Any = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    now_ms = int(time.time() * 1000)
    for broker in brokers:
        for topic_partition in led(broker):
            partition = broker.server.node.hosted.partitions[topic_partition]
            partition.append(memoryview(bytearray(batch(b"a", timestamp=now_ms, **fields))), 1, now_ms, Origin.CLIENT)
            partition.maybe_raise_high_watermark(0)
    return tuple(topic_partition for broker in brokers for topic_partition in led(broker))


def markers(partitions: tuple[TopicPartition, ...], *, producer_id: int = 7, epoch: int = 0) -> TransactionMarkers:
    return TransactionMarkers("tx", producer_id, 0, epoch, False, partitions)


@on_two_brokers
async def test_every_leader_writes_its_markers_and_the_transaction_is_complete(
    first: LocalBroker, second: LocalBroker, channels: MarkerChannels
) -> None:
    """S3-101."""
    partitions = begin(first, second)
    assert len(led(first)) == len(led(second)) == 2
    outcomes: list[MarkerOutcome] = []
    channels.send(0, markers((*partitions, TopicPartition("gone", 3))), outcomes.append)
    await first.until(lambda: outcomes)
    assert outcomes == [MarkerOutcome.COMPLETE]
    for log in (*led(first).values(), *led(second).values()):
        assert (log.log_end_offset, log.last_stable_offset) == (2, 2)
    counted = first.server.node.request_metrics.of(APIS[ApiKey.WRITE_TXN_MARKERS])
    assert [table.requests for table in counted.versions.values()] == [1], "its own markers are counted as a request"


@on_two_brokers
async def test_markers_for_a_broker_that_is_down_are_written_when_it_is_back(
    first: LocalBroker, second: LocalBroker, channels: MarkerChannels
) -> None:
    partitions = begin(first, second)
    await second.stop()
    outcomes: list[MarkerOutcome] = []
    channels.send(0, markers(partitions), outcomes.append)
    await first.until(lambda: all(log.last_stable_offset == 2 for log in led(first).values()))
    assert not outcomes
    await second.start()
    await first.until(lambda: outcomes)
    assert outcomes == [MarkerOutcome.COMPLETE]
    assert [log.last_stable_offset for log in led(second).values()] == [2, 2]


@on_two_brokers
async def test_a_coordinator_that_was_replaced_is_fenced(
    first: LocalBroker, second: LocalBroker, channels: MarkerChannels
) -> None:
    partitions = begin(first, second)
    outcomes: list[MarkerOutcome] = []
    channels.send(0, markers(partitions, epoch=5), outcomes.append)
    await first.until(lambda: outcomes)
    channels.send(0, markers(partitions, epoch=4), outcomes.append)
    await first.until(lambda: len(outcomes) == 2)
    assert outcomes == [MarkerOutcome.COMPLETE, MarkerOutcome.FENCED]

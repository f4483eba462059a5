"""docs/examples/bootstrap_only.py: metadata of another cluster, served from a lone listener (W6.20, W6.21)."""

import asyncio
import contextlib
import importlib.util
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import ROOT, Process, python_environment
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.messages.fetch import FetchRequest
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

EXAMPLE = ROOT / "docs" / "examples" / "bootstrap_only.py"
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap_only", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def serving(make: Callable[[], Any]) -> Iterator[tuple[Any, str]]:
    """A server on a loop in another thread, and where it listens; it is gone afterwards."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> tuple[Any, str]:
        made = make()
        server = await made if asyncio.iscoroutine(made) else made
        return server, f"127.0.0.1:{await server.start('127.0.0.1', 0)}"

    try:
        server, address = asyncio.run_coroutine_threadsafe(start(), loop).result(TIMEOUT_S)
        yield server, address
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(TIMEOUT_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def snapshot_of_the_book(example: ModuleType) -> Any:
    partitions = [
        MetadataResponsePartition(error_code=0, partition_index=number, leader_id=0, replica_nodes=[0], isr_nodes=[0])
        for number in range(4)
    ]
    metadata = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=0, host="localhost", port=9093)],
        controller_id=0,
        cluster_id="64PniqfkRHa4ASfUisNXrw",
        topics=[MetadataResponseTopic(error_code=0, name="topic-demo", partitions=partitions)],
    )
    spoken = [ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=9)]
    return example.Snapshot(metadata, ApiVersionsResponse(error_code=0, api_keys=spoken))


@pytest.mark.parametrize("version", [1, 5, 9, 11])
def test_metadata_of_another_cluster_is_answered_w6_20(example: ModuleType, version: int) -> None:
    with (
        serving(lambda: example.BootstrapServer(snapshot_of_the_book(example))) as (_, address),
        WireClient(address) as client,
    ):
        answer = client.ask(MetadataRequest(topics=None), version)
        assert [(node.node_id, node.host, node.port) for node in answer.brokers] == [(0, "localhost", 9093)]
        assert answer.controller_id == 0
        assert version < 2 or answer.cluster_id == "64PniqfkRHa4ASfUisNXrw"
        [topic] = answer.topics
        assert (topic.name, topic.is_internal, topic.error_code) == ("topic-demo", False, 0)
        assert [partition.partition_index for partition in topic.partitions] == [0, 1, 2, 3]
        for partition in topic.partitions:
            assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (0, [0], [0])
            assert partition.offline_replicas == []


def test_topics_are_asked_for_by_name_and_unknown_ones_are_not_made(example: ModuleType) -> None:
    asked = [MetadataRequestTopic(name="nowhere"), MetadataRequestTopic(name="topic-demo")]
    with (
        serving(lambda: example.BootstrapServer(snapshot_of_the_book(example))) as (_, address),
        WireClient(address) as client,
    ):
        topics = client.ask(MetadataRequest(topics=asked), 5).topics
        assert [(topic.name, topic.error_code, len(topic.partitions)) for topic in topics] == [
            ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0),
            ("topic-demo", ErrorCode.NONE, 4),
        ]
        assert client.ask(MetadataRequest(topics=[]), 5).topics == []
        assert [row.api_key for row in client.ask(ApiVersionsRequest(), 3).api_keys] == [ApiKey.METADATA]


def test_it_hangs_up_on_what_only_a_broker_has(example: ModuleType) -> None:
    with serving(lambda: example.BootstrapServer(snapshot_of_the_book(example))) as (_, address):
        with WireClient(address) as client, pytest.raises(ConnectionError):
            client.ask(FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, topics=[]), 4)
        with WireClient(address) as client:
            assert client.ask(ApiVersionsRequest(), 0).error_code == 0


def test_clients_that_bootstrap_there_use_the_other_cluster_w6_21(
    example: ModuleType, module_broker: BrokerProcess
) -> None:
    """Producer by cluster 1, consumer by cluster 2: all is written to and read from 2; 1 may go meanwhile."""
    module_broker.create_topic("topic-demo", 4)
    partitions = [TopicPartition("topic-demo", number) for number in range(4)]
    consumer = Consumer({"bootstrap.servers": module_broker.bootstrap, "auto.offset.reset": "earliest"})

    async def lone_server() -> Any:
        return example.BootstrapServer(await example.take_snapshot("127.0.0.1", module_broker.port))

    with consumer:
        consumer.assign(partitions)
        with serving(lone_server) as (server, address):
            producer = Producer({"bootstrap.servers": address})
            for number in range(100):
                producer.send("topic-demo", b"%d" % number)
            producer.flush(TIMEOUT_S)
            assert read(consumer, 100) == list(range(100))
            assert set(server.answered) == {ApiKey.API_VERSIONS, ApiKey.METADATA}
        for number in range(100, 200):
            producer.send("topic-demo", b"%d" % number)
        producer.close(TIMEOUT_S)
        assert read(consumer, 100) == list(range(100, 200))


def read(consumer: Consumer, count: int) -> list[int]:
    """The numbers in the next `count` records, sorted."""
    numbers: list[int] = []
    while len(numbers) < count:
        records = consumer.poll(TIMEOUT_S)
        assert records
        numbers += [int(record.value) for record in records]
    return sorted(numbers)


def test_the_program_serves_other_peoples_clients(module_broker: BrokerProcess, tmp_path: Path) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    kafka = pytest.importorskip("kafka")
    module_broker.create_topic("others")
    command = [sys.executable, "-P", str(EXAMPLE), module_broker.bootstrap, "--listen", "127.0.0.1:0"]
    with Process(command, tmp_path / "log", environment=python_environment()) as server:
        server.wait_for_output("may bootstrap from ")
        address = server.output().split()[-1]
        producer = confluent_kafka.Producer({"bootstrap.servers": address})
        producer.produce("others", b"1")
        assert producer.flush(TIMEOUT_S) == 0
        python = kafka.KafkaProducer(bootstrap_servers=address)
        assert python.send("others", b"2").get(TIMEOUT_S).offset == 1
        python.close()
        server.signal(signal.SIGINT)
        server.wait()
        producer.produce("others", b"3")
        assert producer.flush(TIMEOUT_S) == 0
    with Consumer({"bootstrap.servers": module_broker.bootstrap, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition("others", 0)])
        assert read(consumer, 3) == [1, 2, 3]

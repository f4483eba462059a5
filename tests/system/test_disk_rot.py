"""A byte of a leader's segment changes while its broker runs, as disks do it.

What is before it is read, nothing wrong after it is taken for right, other topics and the broker carry on, and the copy
of the other broker serves all of it once that one leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.records.batch import CorruptBatch, decode_records, iter_headers, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import ask_metadata
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC, OTHER = "damaged", "healthy"
BATCHES = 60
CONFIGS = {"segment.bytes": "2000", "index.interval.bytes": "200", "segment.index.bytes": "1000"}
READY_S = 60.0

Damage = Callable[[bytearray, int], None]


def a_value(data: bytearray, position: int) -> None:
    data[position + 70] ^= 1


def a_size_that_is_too_small(data: bytearray, position: int) -> None:
    data[position + 8 : position + 12] = (3).to_bytes(4, "big")


def a_size_beyond_the_file(data: bytearray, position: int) -> None:
    data[position + 8 : position + 12] = (1 << 30).to_bytes(4, "big")


@pytest.fixture
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    settings = {"zookeeper.session.timeout.ms": "2000", "auto.leader.rebalance.enable": "false"}
    with kafka_cluster_factory(brokers=2, settings=settings) as made:
        yield made


def write(bootstrap: str, topic: str) -> None:
    with WireClient(bootstrap) as client:
        for number in range(BATCHES):
            builder = BatchBuilder()
            builder.append(1000 + number, b"key", b"%d:" % number + bytes(60))
            data = [PartitionProduceData(index=0, records=builder.build())]
            topics = [TopicProduceData(name=topic, partition_data=data)]
            answer = client.ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics), 7)
            assert answer.responses[0].partition_responses[0].error_code == 0


def fetched(client: WireClient, topic: str, offset: int) -> tuple[int, bytes]:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )  # fmt: skip
    [row] = client.ask(request, 10).responses[0].partition_responses
    return row.error_code, bytes(row.record_set or b"")


def readable(bootstrap: str, topic: str) -> int:
    """How many records a reader gets who verifies checksums, from the beginning up to the first trouble."""
    offset = 0
    with WireClient(bootstrap) as client:
        while True:
            error, data = fetched(client, topic, offset)
            before = offset
            try:
                for position, header in iter_headers(data):
                    verify_crc(data, position, header)
                    for record in decode_records(data, position):
                        assert record.value is not None
                        assert record.value.startswith(b"%d:" % (record.offset % BATCHES))
                    offset = header.last_offset + 1
            except CorruptBatch:
                return offset
            if offset == before:
                assert error in (ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR)
                return offset


def leader_of(cluster: KafkaCluster, topic: str) -> BrokerProcess:
    answer = ask_metadata(cluster.brokers[0].bootstrap, [topic])
    leader = answer.topics[0].partitions[0].leader_id
    return next(broker for broker in cluster.brokers if broker.broker_id == leader)


def damage(directory: Path, kind: Damage) -> int:
    """Damages the middle batch of the second segment; its offset."""
    path = sorted(directory.glob("*.log"))[1]
    data = bytearray(path.read_bytes())
    batches = list(iter_headers(bytes(data)))
    position, header = batches[len(batches) // 2]
    kind(data, position)
    with path.open("r+b") as file:
        file.write(data)
    return header.base_offset


def leads(broker: BrokerProcess, topic: str) -> bool:
    answer = ask_metadata(broker.bootstrap, [topic])
    return answer.topics[0].partitions[0].leader_id == broker.broker_id


@pytest.mark.parametrize("kind", [a_value, a_size_that_is_too_small, a_size_beyond_the_file])
def test_damage_under_a_running_leader_stays_with_its_batch(cluster: KafkaCluster, kind: Damage) -> None:
    topic, other = (f"{name}-{kind.__name__}" for name in (TOPIC, OTHER))
    for name in (topic, other):
        cluster.create_topic(name, 1, replication_factor=2, configs=CONFIGS)
        write(leader_of(cluster, name).bootstrap, name)
    damaged = leader_of(cluster, topic)
    healthy = next(broker for broker in cluster.brokers if broker is not damaged)
    first = damage(damaged.log_dirs[0] / f"{topic}-0", kind)
    assert readable(damaged.bootstrap, topic) == first
    with WireClient(damaged.bootstrap) as client:  # behind it, by way of the index
        error, data = fetched(client, topic, BATCHES - 1)
        assert error == ErrorCode.NONE
        assert [header.base_offset for _, header in iter_headers(data)] == [BATCHES - 1]
    assert readable(leader_of(cluster, other).bootstrap, other) == BATCHES
    write(damaged.bootstrap, topic)
    assert damaged.running

    damaged.stop()
    wait_until(lambda: leads(healthy, topic), READY_S, "another leader")
    assert readable(healthy.bootstrap, topic) == 2 * BATCHES

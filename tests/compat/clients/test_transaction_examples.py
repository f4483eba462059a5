"""The worked examples of idempotence and transactions that a client of our broker can see, each by its id.

The batches are read from the broker's files, the coordinator's view by DescribeTransactions. What a reader of each
isolation level sees, fencing, and consume-transform-produce with other libraries are in test_transactional_clients.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.ids import GROUP_METADATA_TOPIC, TopicPartition
from kafka_py.clients import AdminClient, Consumer, IllegalState, Producer
from kafka_py.clients.admin.transactions import TransactionDescription
from kafka_py.records.batch import BatchHeader, iter_headers
from kafka_py.records.java_hash import partition_for_id
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import wait_until

TIMEOUT_S = 60.0
OFFSETS_PARTITIONS = 5


class ExamplePlace:
    """A topic of the test's own, and clients of its cluster."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.bootstrap = {"bootstrap.servers": cluster.bootstrap_servers}
        self.topic = cluster.create_topic()
        self.partition = TopicPartition(self.topic, 0)
        self._folder = cluster.brokers[0].log_dirs[0]

    def producer(self, **settings: Any) -> Producer:
        return Producer({**self.bootstrap, **{name.replace("_", "."): value for name, value in settings.items()}})

    def batches(self) -> list[BatchHeader]:
        """The headers of the topic's batches, as they are on disk."""
        data = Path(self._folder, f"{self.topic}-0", f"{0:020}.log").read_bytes()
        return [header for _, header in iter_headers(data)]

    def described(self, transactional_id: str) -> TransactionDescription:
        with AdminClient(self.bootstrap) as admin:
            return admin.describe_transactions([transactional_id]).value(transactional_id)

    def wait_state(self, transactional_id: str, state: str) -> None:
        wait_until(lambda: self.described(transactional_id).state == state, TIMEOUT_S, state)

    def read(self, isolation: str | None) -> list[tuple[int, bytes]]:
        """(offset, value) of what a reader sees, up to the end that it sees. isolation: None for the default."""
        settings = {**self.bootstrap, "auto.offset.reset": "earliest"}
        with Consumer(settings if isolation is None else {**settings, "isolation.level": isolation}) as consumer:
            consumer.assign([self.partition])
            [end] = consumer.end_offsets([self.partition]).values()
            found: list[tuple[int, bytes]] = []
            while consumer.position(self.partition) < end:
                found += [(record.offset, record.value) for record in consumer.poll(0.5)]
            return found


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    settings = {"transaction.state.log.num.partitions": 3, "offsets.topic.num.partitions": OFFSETS_PARTITIONS}
    with kafka_cluster_factory(settings=settings) as made:
        yield made


@pytest.fixture
def place(cluster: KafkaCluster) -> ExamplePlace:
    return ExamplePlace(cluster)


def test_s3_069_a_producer_is_idempotent_only_when_told(place: ExamplePlace) -> None:
    """S3-069"""
    for settings in ({}, {"enable_idempotence": True}):
        with place.producer(**settings) as producer:
            producer.send(place.topic, b"v", partition=0).result(TIMEOUT_S)
    plain, idempotent = place.batches()
    assert (plain.producer_id, plain.producer_epoch, plain.base_sequence) == (-1, -1, -1)
    assert idempotent.producer_id >= 0


def test_s3_073_batches_carry_the_producer_and_a_sequence_from_0_on(place: ExamplePlace) -> None:
    """S3-073"""
    with place.producer(enable_idempotence=True) as producer:
        for count in (1, 3, 2):
            sent = [producer.send(place.topic, b"v", partition=0) for _ in range(count)]
            for each in sent:
                each.result(TIMEOUT_S)
    batches = place.batches()
    assert len({each.producer_id for each in batches}) == 1
    assert {each.producer_epoch for each in batches} == {0}
    counts = [each.record_count for each in batches]
    assert sum(counts) == 6
    assert [each.base_sequence for each in batches] == [sum(counts[:number]) for number in range(len(counts))]


def test_s3_080_a_new_producer_aborts_what_the_old_one_left_open(place: ExamplePlace) -> None:
    """S3-080"""
    with place.producer(transactional_id=place.topic) as old, place.producer(transactional_id=place.topic) as new:
        old.init_transactions()
        old.begin_transaction()
        old.send(place.topic, b"left open", partition=0).result(TIMEOUT_S)
        assert place.described(place.topic).state == "Ongoing"
        new.init_transactions()
        found = place.described(place.topic)
        assert (found.state, found.producer_epoch, found.partitions) == ("Empty", 2, ())
    assert place.read("read_committed") == []
    assert place.read("read_uncommitted") == [(0, b"left open")]
    assert [each.is_control for each in place.batches()] == [False, True]


def test_s3_083_transactions_need_a_transactional_id(place: ExamplePlace) -> None:
    """S3-083"""
    with place.producer() as producer, pytest.raises(IllegalState, match=r"transactional\.id"):
        producer.init_transactions()


def test_s3_084_s3_085_s3_086_what_each_isolation_level_sees(place: ExamplePlace) -> None:
    """S3-084, S3-085, S3-086: by default everything; else nothing of open and aborted transactions, nor what follows an
    open one. Markers are seen by neither, and leave gaps in the offsets.
    """
    with place.producer(transactional_id=place.topic) as producer, place.producer() as plain:
        producer.init_transactions()
        for value, is_committed in ((b"committed", True), (b"aborted", False)):
            producer.begin_transaction()
            producer.send(place.topic, value, partition=0).result(TIMEOUT_S)
            (producer.commit_transaction if is_committed else producer.abort_transaction)()
        producer.begin_transaction()
        producer.send(place.topic, b"open", partition=0).result(TIMEOUT_S)
        plain.send(place.topic, b"behind it", partition=0).result(TIMEOUT_S)
        everything = [(0, b"committed"), (2, b"aborted"), (4, b"open"), (5, b"behind it")]
        assert place.read(None) == place.read("read_uncommitted") == everything
        assert place.read("read_committed") == everything[:1]
        producer.commit_transaction()
        wait_until(lambda: len(place.batches()) == 7, TIMEOUT_S, "the marker")
        assert place.read("read_committed") == [everything[0], *everything[2:]]


def test_s3_090_s3_094_s3_095_s3_096_a_transaction_begins_with_its_first_record(place: ExamplePlace) -> None:
    """S3-090, S3-094, S3-095, S3-096: InitProducerId gives id, epoch and time-out; begin_transaction asks nobody; a
    partition's first batch adds it, and starts the clock; batches carry the producer.
    """
    with place.producer(transactional_id=place.topic, transaction_timeout_ms=54_321) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        idle = place.described(place.topic)
        assert (idle.state, idle.timeout_ms, idle.start_ms, idle.partitions) == ("Empty", 54_321, None, ())
        producer.send(place.topic, b"v", partition=0).result(TIMEOUT_S)
        begun = place.described(place.topic)
        assert (begun.state, begun.partitions, begun.producer_id) == ("Ongoing", (place.partition,), idle.producer_id)
        assert begun.start_ms is not None
        [batch] = place.batches()
        assert batch.is_transactional and not batch.is_control
        assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (idle.producer_id, 0, 0)
        producer.abort_transaction()


@pytest.mark.parametrize(("is_commit", "state"), [(True, "CompleteCommit"), (False, "CompleteAbort")])
def test_s3_097_s3_098_s3_099_offsets_are_part_of_a_transaction_and_both_ends_complete(
    place: ExamplePlace, is_commit: bool, state: str
) -> None:
    """S3-097, S3-098, S3-099: the partition of the group's offsets is added; the offset counts if it is committed."""
    group = f"group of {place.topic}"
    with place.producer(transactional_id=place.topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        settings = {**place.bootstrap, "group.id": group, "enable.auto.commit": False}
        with Consumer(settings) as consumer:
            consumer.assign([place.partition])
            producer.send_offsets_to_transaction({place.partition: 7}, consumer.group_metadata())
            where = TopicPartition(GROUP_METADATA_TOPIC, partition_for_id(group, OFFSETS_PARTITIONS))
            assert place.described(place.topic).partitions == (where,)
            (producer.commit_transaction if is_commit else producer.abort_transaction)()
            place.wait_state(place.topic, state)
            committed = consumer.committed([place.partition]).get(place.partition)
            assert (committed.offset if committed is not None else None) == (7 if is_commit else None)

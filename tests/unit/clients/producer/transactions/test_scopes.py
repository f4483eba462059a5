"""Transactions as `with` blocks of a blocking producer: interrupts, and threads that send while another one commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.clients import Consumer, IllegalState, Producer, ProducerFenced, TopicPartition, TransactionFailed
from kafka_py.testing.fakes.fake_cluster import FakeCluster
from kafka_py.wire.apis import ApiKey

THREADS, TRANSACTIONS = 3, 15


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t", 2)
        yield made


@pytest.fixture
def producer(cluster: FakeCluster) -> Iterator[Producer]:
    config = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "tx", "retry.backoff.ms": 5}
    with Producer(config) as made:
        made.init_transactions()
        yield made


def committed(cluster: FakeCluster) -> list[bytes]:
    config = {
        "bootstrap.servers": cluster.bootstrap_servers, "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
    }  # fmt: skip
    partitions = [TopicPartition("t", number) for number in range(2)]
    values: list[bytes] = []
    with Consumer(config) as consumer:
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(each) < ends[each] for each in partitions):
            values += [record.value for record in consumer.poll(0.2)]
    return sorted(values)


def test_a_block_commits_at_its_end_and_can_be_used_again(cluster: FakeCluster, producer: Producer) -> None:
    block = producer.transaction()
    for value in (b"a", b"b"):
        with block as same:
            assert same is producer
            producer.send("t", value)
    assert committed(cluster) == [b"a", b"b"]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_leaves_the_block_aborts(cluster: FakeCluster, producer: Producer, kind: type[BaseException]) -> None:
    with pytest.raises(kind), producer.transaction():
        producer.send("t", b"a").result(10)
        raise kind
    assert cluster.transactions.outcomes == [("tx", False)]
    with producer.transaction():
        producer.send("t", b"b")
    assert committed(cluster) == [b"b"]


def test_a_commit_that_fails_is_followed_by_the_abort(cluster: FakeCluster, producer: Producer) -> None:
    cluster.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(TransactionFailed, match="TOPIC_AUTHORIZATION_FAILED") as failed, producer.transaction():
        producer.send("t", b"a")
    assert failed.value.abortable
    with producer.transaction():
        producer.send("t", b"b")
    assert committed(cluster) == [b"b"]


def test_a_fenced_producer_leaves_the_block_with_that_error(cluster: FakeCluster, producer: Producer) -> None:
    cluster.fail(ApiKey.END_TXN, ErrorCode.PRODUCER_FENCED)
    with pytest.raises(ProducerFenced, match="'tx'") as fenced, producer.transaction():
        producer.send("t", b"a")
    assert not hasattr(fenced.value, "__notes__")
    with pytest.raises(ProducerFenced), producer.transaction():
        pytest.fail("no transaction was begun")


def test_records_of_other_threads_belong_to_a_transaction_or_are_refused(
    cluster: FakeCluster, producer: Producer
) -> None:
    """Each record that `send` has taken is committed, whenever other threads commit."""
    taken: list[list[bytes]] = [[] for _ in range(THREADS)]
    is_over = threading.Event()

    def send(number: int) -> None:
        count = 0
        while not is_over.is_set():
            value = b"%d-%d" % (number, count)
            try:
                producer.send("t", value, partition=count % 2)
            except IllegalState:
                continue
            taken[number].append(value)
            count += 1

    threads = [threading.Thread(target=send, args=[number]) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for number in range(TRANSACTIONS):
        with producer.transaction():
            producer.send("t", b"own-%d" % number).result(10)
    is_over.set()
    for thread in threads:
        thread.join()
    values = committed(cluster)
    assert values == sorted([*(b"own-%d" % number for number in range(TRANSACTIONS)), *(v for t in taken for v in t)])
    assert cluster.transactions.violations == []

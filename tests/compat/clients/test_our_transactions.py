"""Our transactional producer and read_committed consumer, with Apache's broker and with ours, coordinator included."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping

import confluent_kafka
import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients import (
    AdminClient,
    ClientTimeout,
    Consumer,
    GroupMetadata,
    NewTopic,
    Producer,
    ProducerFenced,
    TopicPartition,
    TransactionFailed,
)
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import ApacheBroker, Jars, Unavailable
from kafka_py.testing.processes import ZookeeperServer

PARTITIONS = 3
TIMEOUT_S = 60
_numbers = itertools.count(1)


@pytest.fixture(scope="module", params=["kafka_py", "apache"])
def broker(
    request: pytest.FixtureRequest, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnyBroker]:
    connect = f"{zookeeper.connect}/our-transactions-{request.param}"
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    make = ApacheBroker if request.param == "apache" else BrokerProcess
    try:
        made = make(tmp_path_factory.mktemp("broker"), connect, settings=settings)
    except Unavailable as why:
        pytest.skip(str(why))
    with made:
        yield made


class Place:
    """A broker, and a topic and names of the test's own."""

    def __init__(self, bootstrap: str, configs: Mapping[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self.name = f"t{next(_numbers)}"
        self.partitions = [TopicPartition(self.name, number) for number in range(PARTITIONS)]
        with AdminClient({"bootstrap.servers": bootstrap}) as admin:
            admin.create_topics([NewTopic(self.name, PARTITIONS, 1, configs=dict(configs or {}))]).all()

    def producer(self, **settings: object) -> Producer:
        config = {"bootstrap.servers": self.bootstrap, "transactional.id": self.name, "linger.ms": 2, **settings}
        return Producer({name.replace("_", "."): value for name, value in config.items()})

    def consumer(self, **settings: object) -> Consumer:
        config = {
            "bootstrap.servers": self.bootstrap, "isolation.level": "read_committed", "auto.offset.reset": "earliest",
            "enable.auto.commit": False, **settings,
        }  # fmt: skip
        return Consumer({name.replace("_", "."): value for name, value in config.items()})

    def read(self, isolation: str = "read_committed") -> list[bytes]:
        """All that an isolation level shows, up to the end that it names."""
        values: list[bytes] = []
        deadline = time.monotonic() + TIMEOUT_S
        with self.consumer(isolation_level=isolation, group_id=None) as consumer:
            consumer.assign(self.partitions)
            ends = consumer.end_offsets(self.partitions)
            while any(consumer.position(each) < ends[each] for each in self.partitions):
                assert time.monotonic() < deadline, values
                values += [record.value for record in consumer.poll(1)]
        return sorted(values)


@pytest.fixture
def place(broker: AnyBroker) -> Place:
    return Place(broker.bootstrap)


def test_w7_24_commit_and_abort_as_all_consumers_see_them(place: Place, apache_kafka: Jars) -> None:
    """W7.24, with our consumer, librdkafka's and Java's."""
    with place.producer() as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            for index in range(30):
                producer.send(place.name, b"%d-%02d" % (number, index), partition=index % PARTITIONS)
            producer.flush()
            assert len(place.read()) == 30 * ((number + 1) // 2)
            producer.commit_transaction() if number % 2 == 0 else producer.abort_transaction()
    expected = sorted(b"%d-%02d" % (number, index) for number in (0, 2) for index in range(30))
    assert place.read() == expected
    assert len(place.read("read_uncommitted")) == 120
    names = [f"{place.name}:{number}" for number in range(PARTITIONS)]
    by_java = java_clients.consume(apache_kafka, place.bootstrap, names, isolation_level="read_committed")
    assert sorted(record.value or b"" for record in by_java) == expected
    assert by_librdkafka(place, len(expected)) == expected


def by_librdkafka(place: Place, count: int) -> list[bytes]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": place.bootstrap, "group.id": "unused", "isolation.level": "read_committed"}
    )
    consumer.assign([confluent_kafka.TopicPartition(*each, confluent_kafka.OFFSET_BEGINNING)
                     for each in place.partitions])  # fmt: skip
    values = []
    while len(values) < count:
        record = consumer.poll(TIMEOUT_S)
        assert record is not None
        assert record.error() is None
        values.append(record.value())
    assert consumer.poll(0.5) is None
    consumer.close()
    return sorted(values)


def test_ends_and_lag_follow_the_isolation_level(place: Place) -> None:
    with place.producer() as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(place.name, b"a", partition=0)
        producer.begin_transaction()
        producer.send(place.name, b"b", partition=0).result(TIMEOUT_S)
        [partition, *_] = place.partitions
        for isolation, end in (("read_committed", 2), ("read_uncommitted", 3)):
            with place.consumer(isolation_level=isolation) as consumer:
                consumer.assign([partition])
                assert consumer.end_offsets([partition]) == {partition: end}
                deadline = time.monotonic() + TIMEOUT_S
                while consumer.position(partition) < end:  # past the marker at offset 1
                    assert time.monotonic() < deadline
                    consumer.poll(0.2)
                assert consumer.lag(partition) == 0
        producer.abort_transaction()


def test_w7_25_the_first_of_two_producers_is_fenced(place: Place) -> None:
    """W7.25, S3-079"""
    with place.producer() as old, place.producer() as new:
        old.init_transactions()
        old.begin_transaction()
        old.send(place.name, b"zombie").result(TIMEOUT_S)
        new.init_transactions()
        with pytest.raises(ProducerFenced, match=place.name):
            old.commit_transaction()
        with pytest.raises(ProducerFenced):
            old.send(place.name, b"late")
        with new.transaction():
            new.send(place.name, b"new")
    assert place.read() == [b"new"]


def test_w7_26_consume_transform_produce(place: Place) -> None:
    """W7.26, S3-077, S3-082, S3-087: every third transaction is aborted, and its input is read again."""
    source = Place(place.bootstrap)
    count = 60
    with Producer({"bootstrap.servers": place.bootstrap}) as producer:
        for number in range(count):
            producer.send(source.name, b"%02d" % number, partition=number % PARTITIONS)
    group = f"group-{place.name}"
    with place.producer() as producer, source.consumer(group_id=group, max_poll_records=7) as consumer:
        producer.init_transactions()
        consumer.subscribe([source.name])
        done, rounds = 0, 0
        deadline = time.monotonic() + TIMEOUT_S
        while done < count:
            assert time.monotonic() < deadline
            records = list(consumer.poll(1))
            if not records:
                continue
            rounds += 1
            producer.begin_transaction()
            for record in records:
                producer.send(place.name, record.value + b"!", partition=record.partition)
            offsets = {partition: consumer.position(partition) for partition in consumer.assignment()}
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            if rounds % 3 == 0:
                producer.abort_transaction()
                for partition, each in consumer.committed(list(consumer.assignment())).items():
                    consumer.seek(partition, 0 if each is None else each.offset)
            else:
                producer.commit_transaction()
                done += len(records)
        committed = consumer.committed(source.partitions)
    assert place.read() == [b"%02d!" % number for number in range(count)]
    assert [each and each.offset for each in committed.values()] == [count // PARTITIONS] * PARTITIONS


def test_offsets_of_a_member_that_left_are_refused(place: Place) -> None:
    group = f"group-{place.name}"
    with place.producer() as producer:
        producer.init_transactions()
        with pytest.raises(TransactionFailed) as refused:  # noqa: SIM117
            with producer.transaction():
                producer.send(place.name, b"a")
                producer.send_offsets_to_transaction({place.partitions[0]: 5}, GroupMetadata(group, 3, "gone"))
        assert refused.value.abortable
        assert refused.value.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
        with producer.transaction():
            producer.send(place.name, b"b")
            producer.send_offsets_to_transaction({place.partitions[0]: 6}, group)
    assert place.read() == [b"b"]
    with place.consumer(group_id=group) as consumer:
        found = consumer.committed([place.partitions[0]])[place.partitions[0]]
        assert found is not None
        assert found.offset == 6


def test_read_committed_waits_for_offsets_of_an_open_transaction(place: Place) -> None:
    """KIP-447: a pending commit answers UNSTABLE_OFFSET_COMMIT, until the transaction has ended."""
    group, partition = f"group-{place.name}", place.partitions[0]
    with place.producer() as producer, place.consumer(group_id=group) as consumer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({partition: 7}, group)
        with pytest.raises(ClientTimeout):
            consumer.committed([partition], 1.0)
        with place.consumer(group_id=group, isolation_level="read_uncommitted") as other:
            assert other.committed([partition]) == {partition: None}
        producer.commit_transaction()
        found = consumer.committed([partition], TIMEOUT_S)[partition]
        assert found is not None
        assert found.offset == 7


def test_after_a_refused_record_the_next_transaction_has_another_epoch(broker: AnyBroker) -> None:
    place = Place(broker.bootstrap, {"max.message.bytes": "1000"})
    with place.producer() as producer:
        producer.init_transactions()
        for number in range(3):
            with producer.transaction():
                producer.send(place.name, b"good %d" % number, partition=0)
            producer.begin_transaction()
            producer.send(place.name, b"lost", partition=0)
            refused = producer.send(place.name, b"x" * 5000, partition=0)
            with pytest.raises(TransactionFailed, match="MESSAGE_TOO_LARGE") as failed:
                producer.commit_transaction()
            assert failed.value.abortable
            with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
                refused.result(TIMEOUT_S)
            producer.abort_transaction()
    assert place.read() == [b"good 0", b"good 1", b"good 2"]


def test_a_transaction_that_is_open_for_too_long_is_aborted_and_says_so(place: Place) -> None:
    with place.producer(transaction_timeout_ms=1000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(place.name, b"slow").result(TIMEOUT_S)
        deadline = time.monotonic() + TIMEOUT_S
        with place.consumer() as consumer:
            while not any(consumer.end_offsets(place.partitions).values()):  # until the marker ends the transaction
                assert time.monotonic() < deadline
        with pytest.raises(ProducerFenced, match=r"transaction\.timeout\.ms, 1000 ms"):
            producer.commit_transaction()
    assert place.read() == []


def test_a_time_out_above_the_brokers_maximum_is_refused(place: Place) -> None:
    with place.producer(transaction_timeout_ms=1_000_000_000) as producer:
        with pytest.raises(TransactionFailed, match=r"transaction\.timeout\.ms, 1000000000 ms") as refused:
            producer.init_transactions()
        assert not refused.value.abortable


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_broker_that_restarts_in_the_midst_loses_and_repeats_nothing(place: Place, broker: AnyBroker) -> None:
    with place.producer(delivery_timeout_ms=120_000, max_block_ms=120_000) as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            for index in range(20):
                producer.send(place.name, b"%d-%02d" % (number, index), partition=index % PARTITIONS)
            if number == 1:
                producer.flush()
                broker.stop()
                broker.launch()
            producer.commit_transaction() if number != 2 else producer.abort_transaction()
        broker.wait_started()
    assert place.read() == sorted(b"%d-%02d" % (number, index) for number in (0, 1, 3) for index in range(20))

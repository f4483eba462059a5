"""How many files a broker has open, and what happens when it may not open more (WE4-40b, WE4-41)."""

import os
import resource

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.consumer import Consumer
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster_views import leaders
from kafka_py.testing.processes import NotReady, wait_until
from kafka_py.testing.topics import create_topic

RECORDS = 100


def limited(broker, limit):
    """The broker's next starts may have so many descriptors open."""
    broker.command = ["bash", "-c", f'ulimit -n {limit}; exec "$@"', "--", *broker.command]


def open_files(broker):
    return len(os.listdir(f"/proc/{broker.pid}/fd"))


@pytest.fixture
def broker(kafka_zookeeper, tmp_path):
    made = BrokerProcess(tmp_path / "broker", f"{kafka_zookeeper.connect}/{tmp_path.name}")
    yield made
    made.stop()


@pytest.mark.slow
def test_a_partition_at_rest_keeps_one_file_open(broker):
    """WE4-41: one descriptor more per partition; those of index files are let go when nobody has used them lately."""
    broker.start()
    before = open_files(broker)
    broker.create_topic("t", 100)
    assert open_files(broker) >= before + 100
    wait_until(lambda: open_files(broker) == before + 100, 90, "the index files to be closed")


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_more_partitions_than_descriptors_end_the_broker_and_lose_nothing(broker):
    """WE4-41: the partition that is one too many fails with "Too many open files", as in the classic."""
    limited(broker, 256)
    broker.start()
    with Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"}) as producer:
        for number in range(RECORDS):
            producer.send("before", b"%d" % number)
        producer.flush()
    with pytest.raises((ConnectionError, NotReady)):
        create_topic([broker.bootstrap], "many", 400, timeout_s=60)
    assert broker.wait() == 1
    *_, end = [line for line in broker.output().splitlines() if "ulimit -n" in line]  # work under way may fail after it
    assert "Too many open files" in end
    assert "may have 256 files open" in end
    made = sum(1 for _ in broker.log_dirs[0].glob("many-*"))
    assert made > 256 / 2, "index files leave most descriptors to partitions"

    del broker.command[:4]
    broker.start()
    wait_until(lambda: list(leaders(broker, "many").values()) == [0] * 400, 60, "all partitions")
    with Consumer({"bootstrap.servers": broker.bootstrap, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition("before", 0)])
        found = []
        while len(found) < RECORDS:
            found += [record.value for record in consumer.poll(30)]
    assert found == [b"%d" % number for number in range(RECORDS)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_partitions_with_65535_descriptors(broker):
    """WE4-40b: once the limit is raised such a topic is made without a crash; where less is allowed, with that."""
    allowed = min(65535, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    if allowed < 11_000:
        pytest.skip(f"this user may have {allowed} files open")
    limited(broker, allowed)
    broker.start()
    broker.create_topic("many", 10_000, timeout_s=500)
    assert broker.running
    assert set(leaders(broker, "many").values()) == {0}
    assert open_files(broker) > 10_000
    broker.stop(180)
    broker.start(180)
    wait_until(lambda: len(leaders(broker, "many")) == 10_000, 60, "all partitions")

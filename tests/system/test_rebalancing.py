"""kafka-py rebalance on real brokers under load: its goals are reached and nothing is lost, however often it is killed.

A producer writes rising numbers to every partition and a consumer reads them meanwhile: each acknowledged record is to
be read once, in order. With KAFKA_PY_LONG in the environment 1,000 partitions, else a few.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import confluent_kafka
import pytest

from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType, ConfigSource
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.operations.rebalancing.throttles import REPLICATION_RATES, TOPIC_THROTTLES
from kafka_py.testing.peers.load import end_producer
from kafka_py.testing.processes import wait_until
from kafka_py.testing.side_work import SideWork
from kafka_py.testing.topics import ask_metadata

LONG = "KAFKA_PY_LONG" in os.environ
TOPICS = 20 if LONG else 4
PARTITIONS = 50 if LONG else 10
RECORDS_PER_STEP = 100
MOST_INTERRUPTIONS = 40 if LONG else 12
TIMEOUT_S = 1500 if LONG else 240
COMMAND = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "rebalance"]

pytestmark = [pytest.mark.slow, pytest.mark.core, pytest.mark.timeout(TIMEOUT_S)]


class SpreadLoad(SideWork):
    """Writes the next number to some partition or other; the partition's records are then 0, 1, 2 ..."""

    def __init__(self, bootstrap, partitions, seed):
        super().__init__(0.05)
        self.acknowledged = dict.fromkeys(partitions, 0)
        self.failed = []
        self._next = dict.fromkeys(partitions, 0)
        self._order = list(partitions)
        self._draw = random.Random(seed)
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 20,
             "delivery.timeout.ms": 300_000, "retry.backoff.ms": 50}
        )  # fmt: skip
        self.start()

    def step(self):
        for topic, partition in self._draw.choices(self._order, k=RECORDS_PER_STEP):
            value = b"%d" % self._next[topic, partition]
            self._next[topic, partition] += 1
            self._producer.produce(topic, value, partition=partition, on_delivery=self._delivered)
        self._producer.poll(0)

    def _delivered(self, error, message):
        if error is not None:
            self.failed.append(error)
        else:
            self.acknowledged[message.topic(), message.partition()] += 1

    def finish(self):
        """Sends nothing more; everything that was sent must be acknowledged."""
        self.pause()
        assert self._producer.flush(120) == 0
        assert self.failed == []
        assert self.acknowledged == self._next
        return self.acknowledged

    def close(self):
        end_producer(self._producer)


class SpreadReader(SideWork):
    """Reads all partitions, and fails at the first record that is missing, repeated or out of order."""

    def __init__(self, bootstrap, partitions):
        super().__init__(0.0)
        self.read = dict.fromkeys(partitions, 0)
        self._consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
        )
        self._consumer.assign([confluent_kafka.TopicPartition(*each, 0) for each in partitions])
        self.start()

    def step(self):
        for record in self._consumer.consume(1000, 0.5):
            if record.error() is not None:
                assert record.error().retriable() or not record.error().fatal(), record.error()
                continue
            key = record.topic(), record.partition()
            assert (record.offset(), int(record.value())) == (self.read[key], self.read[key])
            self.read[key] += 1

    def finish(self, wanted):
        """Waits until it has read exactly so many records of each partition."""

        def is_complete():
            self.check()
            return self.read == wanted

        wait_until(is_complete, 120, "the reader to have read all that was acknowledged")
        self.pause()

    def close(self):
        self._consumer.close()


@pytest.fixture
def skewed(kafka_cluster_factory):
    """Four brokers, of which the last holds nothing, and the first two most."""
    with kafka_cluster_factory(4, settings={"replica.lag.time.max.ms": 10_000}) as cluster:
        topics = []
        for topic in range(TOPICS):
            rows = {number: [0, 1] if number % 3 else [1, 2] for number in range(PARTITIONS)}
            topics.append(NewTopic(f"skewed-{topic}", replica_assignments=rows))
        with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
            admin.create_topics(topics).all()
        for broker in cluster.brokers:
            broker.wait_for(lambda of=broker: knows_all(of), TIMEOUT_S, "all partitions to have leaders")
        yield cluster


def knows_all(broker):
    found = ask_metadata(broker.bootstrap, [f"skewed-{topic}" for topic in range(TOPICS)]).topics
    return sum(each.leader_id >= 0 for topic in found for each in topic.partitions) == TOPICS * PARTITIONS


@pytest.fixture
def loaded(skewed):
    """The same with a producer and a consumer at work."""
    partitions = [(f"skewed-{topic}", number) for topic in range(TOPICS) for number in range(PARTITIONS)]
    load = SpreadLoad(skewed.bootstrap_servers, partitions, 1)
    reader = SpreadReader(skewed.bootstrap_servers, partitions)
    try:
        yield skewed, load, reader
    finally:
        load.stop()
        reader.stop()


def begin(cluster, *words, cwd):
    return subprocess.Popen(
        [*COMMAND, "--bootstrap-server", cluster.bootstrap_servers, *words], cwd=cwd, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def rebalance(cluster, *words, cwd, code=0):
    running = begin(cluster, *words, cwd=cwd)
    out, errors = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == code, errors
    return out, errors


def plan(cluster, *words, cwd):
    return json.loads(rebalance(cluster, "--output", "json", *words, cwd=cwd)[0])


def assert_nothing_half_done(cluster):
    """No reassignment runs, and no topic or broker has a throttle."""
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        assert admin.list_partition_reassignments() == {}
        resources = {
            **{ConfigResource(ConfigResourceType.TOPIC, name): TOPIC_THROTTLES for name in admin.list_topics()},
            **{ConfigResource(ConfigResourceType.BROKER, str(each)): REPLICATION_RATES for each in range(4)},
        }
        own = (ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG)
        found = admin.describe_configs(resources).all()
        assert [entry for each in found.values() for entry in each.values() if entry.source in own] == []


def test_a_skewed_cluster_reaches_its_goals_under_load_and_nothing_is_lost(loaded, tmp_path):
    cluster, load, reader = loaded
    first = plan(cluster, "--goals", "replicas,leaders,topics", cwd=tmp_path)
    assert first["moved_replicas"] >= TOPICS * PARTITIONS // 4
    assert {one["goal"] for one in first["violations_before"]} >= {"replicas", "leaders"}
    begun = time.monotonic()
    words = ("--goals", "replicas,leaders,topics", "--execute", "--throttle", "50MB", "--batch-partitions", "100")
    _, errors = rebalance(cluster, *words, cwd=tmp_path)
    print(f"{len(first['moves'])} partitions in {time.monotonic() - begun:.1f} s; {errors.splitlines()[-1]}")
    assert_nothing_half_done(cluster)
    again = plan(cluster, "--goals", "replicas,leaders,topics", cwd=tmp_path)
    assert (again["moves"], again["elections"], again["violations_after"]) == ([], [], [])
    reader.finish(load.finish())


def test_a_rebalance_that_is_killed_again_and_again_ends_as_if_it_had_not_been(loaded, tmp_path):
    cluster, load, reader = loaded
    draw = random.Random(os.environ.get("KAFKA_PY_SEED", "5"))
    words = ("--goals", "replicas,leaders", "--remove-brokers", "0", "--execute", "--state", "s", "--throttle", "20MB",
             "--batch-partitions", "40" if LONG else "4")  # fmt: skip
    running = begin(cluster, *words, cwd=tmp_path)
    rounds = 0
    while True:
        kind = draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
        try:
            patience = draw.uniform(0.8, 6 if LONG else 2.5) if rounds < MOST_INTERRUPTIONS else TIMEOUT_S
            _, errors = running.communicate(timeout=patience)
            if running.returncode == 0:
                break
            assert running.returncode in (130, -signal.SIGINT), errors
        except subprocess.TimeoutExpired:
            rounds += 1
            running.send_signal(kind)
            running.communicate(timeout=TIMEOUT_S)
        words = ("--resume", "s") if (tmp_path / "s").exists() else words
        running = begin(cluster, *words, cwd=tmp_path)
    print(f"interrupted {rounds} times")
    assert_nothing_half_done(cluster)
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        names = [name for name in admin.list_topics() if name.startswith("skewed")]
        rows = [row for topic in admin.describe_topics(names).all().values() for row in topic.partitions]
    assert all(0 not in [node.id for node in (*row.replicas, *row.isr)] for row in rows)
    assert all(row.leader.id == row.replicas[0].id for row in rows)
    assert plan(cluster, "--remove-brokers", "0", cwd=tmp_path)["moves"] == []
    reader.finish(load.finish())


@pytest.mark.parametrize("how", ["interrupt", "killed and cancelled"])
def test_a_cancelled_rebalance_leaves_nothing_half_done(skewed, tmp_path, how):
    producer = confluent_kafka.Producer({"bootstrap.servers": skewed.bootstrap_servers})
    for number in range(4000):
        producer.produce("skewed-0", b"x" * 2000, partition=number % PARTITIONS)
    assert producer.flush(60) == 0
    end_producer(producer)
    words = ("--topics", "skewed-0", "--remove-brokers", "1", "--execute", "--state", "s", "--throttle", "20KB",
             "--on-interrupt", "cancel")  # fmt: skip
    running = begin(skewed, *words, cwd=tmp_path)
    with AdminClient({"bootstrap.servers": skewed.bootstrap_servers}) as admin:
        before = replicas_of(admin)
        wait_until(lambda: len(admin.list_partition_reassignments()) > 2, 60, "moves that are slow enough")
        if how == "interrupt":
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=60)
            assert (running.returncode, "Cancelled" in errors) == (130, True), errors
        else:
            running.kill()
            running.communicate(timeout=60)
            _, errors = rebalance(skewed, "--cancel", "s", cwd=tmp_path)
            assert "reassignments were cancelled" in errors
        assert_nothing_half_done(skewed)
        state = json.loads((tmp_path / "s").read_text())
        after = {(row["topic"], row["partition"]): row["after"] for row in state["partitions"]}
        for key, replicas in replicas_of(admin).items():
            assert replicas in (before[key], after.get(key))
        assert any(replicas == before[key] for key, replicas in replicas_of(admin).items() if key in after)
    rebalance(skewed, "--resume", "s", "--throttle", "1GB", cwd=tmp_path)
    assert plan(skewed, "--topics", "skewed-0", "--remove-brokers", "1", cwd=tmp_path)["moves"] == []
    assert_nothing_half_done(skewed)


def replicas_of(admin):
    described = admin.describe_topics(["skewed-0"]).all()["skewed-0"]
    return {("skewed-0", row.partition): [node.id for node in row.replicas] for row in described.partitions}

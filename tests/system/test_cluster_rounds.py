"""Three real brokers on hosts of their own, under rounds of trouble drawn from a seed, while idempotent loads write.

Each round kills, pauses, restarts or cuts off a broker, for shorter or longer than its ZooKeeper session lasts. In the
end every partition reads 0, 1, 2 ...: nothing acknowledged lost, repeated or out of order; and all replicas hold it.
Beside the loads a compacted topic is written, a group reads, and an administrator moves replicas between directories
and brokers, cancels moves, elects, deletes topics and changes settings. 50 rounds with `bin/test.sh --all`, else a few.
"""

import os
import random
import signal
import threading
from contextlib import ExitStack

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers import namespaces
from kafka_py.testing.peers.load import confluent_load, our_load, read_all
from kafka_py.testing.processes import ZookeeperServer, wait_until
from kafka_py.testing.side_work import AdminWork, Changelog, GroupWork
from kafka_py.testing.topics import ask_metadata, create_topic

LONG = "KAFKA_PY_LONG" in os.environ
ROUNDS = int(os.environ.get("KAFKA_PY_ROUNDS", "50" if LONG else "4"))
PORT = 9092
TOPIC = "rounds"
PARTITIONS = 4
DEADLINE_S = 120

SETTINGS = {
    "zookeeper.session.timeout.ms": "2000",
    "zookeeper.connection.timeout.ms": "60000",
    "replica.lag.time.max.ms": "3000",
    "replica.socket.timeout.ms": "3000",
    "replica.fetch.wait.max.ms": "300",
    "controller.socket.timeout.ms": "3000",
    "request.timeout.ms": "5000",
    "min.insync.replicas": "2",
    "log.segment.bytes": "4000000",
    "offsets.topic.replication.factor": "3",
    "log.cleaner.backoff.ms": "300",
}

CHANGELOG, GROUPED, MOVED = "changelog", "grouped", "moved"
SIDE_TOPICS = {CHANGELOG: 1, GROUPED: 3, MOVED: 2}
CONFIGS = {
    CHANGELOG: {
        "cleanup.policy": "compact", "segment.bytes": "100000", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "45000", "file.delete.delay.ms": "1000",
    },
    MOVED: {"min.insync.replicas": "1"},
}  # fmt: skip
"""What is deleted stays readable for longer than any replica is away: a follower that misses a tombstone for good keeps
the value, with Apache Kafka as well."""

reason = namespaces.missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(reason is not None, reason=str(reason))]


class World:
    """Hosts, a ZooKeeper outside of them, a broker on each."""

    def __init__(self, folder, hosts):
        self.hosts = hosts
        self.zookeeper = ZookeeperServer(folder / "zookeeper")
        text = self.zookeeper.properties.read_text()
        self.zookeeper.properties.write_text(text.replace("clientPortAddress=127.0.0.1", "clientPortAddress=0.0.0.0"))
        connect = f"{hosts.services}:{self.zookeeper.port}/rounds"
        self.side_topics = {}
        self.brokers = [self._broker(folder, number, connect) for number in range(len(hosts.addresses))]

    def _broker(self, folder, number, connect):
        home = folder / f"broker{number}"
        broker = BrokerProcess(
            home, connect, broker_id=number, port=PORT, settings=SETTINGS, log_dirs=[home / "one", home / "two"]
        )
        broker.properties["listeners"] = f"PLAINTEXT://{self.hosts.addresses[number]}:{PORT}"
        broker.command = self.hosts.command(number, broker.command)
        return broker

    @property
    def bootstraps(self):
        return [f"{address}:{PORT}" for address in self.hosts.addresses]

    def __enter__(self):
        self.zookeeper.start()
        self.zookeeper.wait_serving()
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait_started()
        return self

    def __exit__(self, *_):
        for broker in self.brokers:
            broker.signal(signal.SIGCONT)
            broker.kill()
        self.zookeeper.kill()

    def heal(self):
        """Everything runs and reaches everything."""
        self.hosts.mend_all()
        for broker in self.brokers:
            broker.signal(signal.SIGCONT)
            if not broker.running:
                broker.start()

    def is_whole(self):
        """Whether each broker knows a leader for every partition, and all replicas in sync."""
        for bootstrap in self.bootstraps:
            try:
                topics = ask_metadata(bootstrap, [TOPIC, *self.side_topics]).topics
            except OSError:
                return False
            found = [each for topic in topics for each in topic.partitions]
            if any(each.leader_id < 0 or len(each.isr_nodes) < len(each.replica_nodes) for each in found):
                return False
        return True

    def replica_directories(self, topic, partition=0):
        """Where each broker keeps its replica, whichever of its log directories that is."""
        name = f"{topic}-{partition}"
        return [found for broker in self.brokers for path in broker.log_dirs if (found := path / name).is_dir()]


class Trouble:
    """One round, drawn: `begin` makes it, `end` puts it right."""

    def __init__(self, world, rng):
        self.world, self.number = world, rng.randrange(len(world.brokers))
        self.other = (self.number + rng.randrange(1, len(world.brokers))) % len(world.brokers)
        self.kind = rng.choice(["kill", "stop", "pause", "cut", "isolate", "lose ZooKeeper"])
        self.lasts_s = rng.choice([0.3, 1.5, 4.0]) * rng.uniform(0.5, 1.5)
        self.broker = world.brokers[self.number]

    def __str__(self):
        return f"{self.kind} {self.number}/{self.other} for {self.lasts_s:.1f} s"

    def begin(self):
        hosts = self.world.hosts
        if self.kind == "kill":
            self.broker.kill()
        elif self.kind == "stop":
            self.broker.stop(60)
        elif self.kind == "pause":
            self.broker.signal(signal.SIGSTOP)
        if self.kind in ("cut", "isolate"):
            hosts.cut(self.number, hosts.addresses[self.other])
        if self.kind == "isolate":
            third = ({0, 1, 2} - {self.number, self.other}).pop()
            hosts.cut(self.number, hosts.addresses[third])
        if self.kind in ("isolate", "lose ZooKeeper"):
            hosts.cut(self.number, hosts.services)

    def end(self):
        self.broker.signal(signal.SIGCONT)
        if not self.broker.running:
            self.broker.start()
        for address in (*self.world.hosts.addresses, self.world.hosts.services):
            if address != self.world.hosts.addresses[self.number]:
                self.world.hosts.mend(self.number, address)


@pytest.fixture
def world(tmp_path):
    with namespaces.Hosts(3) as hosts, World(tmp_path, hosts) as world:
        create_topic(world.bootstraps, TOPIC, PARTITIONS, replication_factor=3)
        yield world


@pytest.mark.core
@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_or_repeated_in_rounds_of_trouble(world):
    seed = int(os.environ.get("KAFKA_PY_ROUNDS_SEED") or random.SystemRandom().randrange(1 << 30))
    print(f"KAFKA_PY_ROUNDS_SEED={seed}")
    rng = random.Random(seed)
    bootstrap = ",".join(world.bootstraps)
    world.side_topics = SIDE_TOPICS
    for topic, count in SIDE_TOPICS.items():
        factor = 2 if topic == MOVED else 3
        create_topic(world.bootstraps, topic, count, replication_factor=factor, configs=CONFIGS.get(topic))
    directories = {broker.broker_id: broker.log_dirs for broker in world.brokers}
    pause = threading.Event()
    with ExitStack() as stack:

        def begin(work):
            stack.callback(work.stop)
            return work

        makers = [confluent_load, our_load] * (PARTITIONS // 2)
        loads = [begin(make(bootstrap, TOPIC, number)) for number, make in enumerate(makers)]
        moved = [begin(make(bootstrap, MOVED, number)) for number, make in enumerate((our_load, confluent_load))]
        changelog = begin(Changelog(bootstrap, CHANGELOG, seed))
        group = begin(GroupWork(bootstrap, GROUPED, SIDE_TOPICS[GROUPED], seed))
        administrator = begin(
            AdminWork(bootstrap, directories, {TOPIC: PARTITIONS, **SIDE_TOPICS}, MOVED, seed)
        )
        for number in range(ROUNDS):
            trouble = Trouble(world, rng)
            print(f"round {number}: {trouble}; acknowledged {[load.acknowledged for load in loads]}", flush=True)
            trouble.begin()
            pause.wait(trouble.lasts_s)
            trouble.end()
            if rng.random() < 0.5:
                wait_until(world.is_whole, DEADLINE_S, f"recovery from round {number}, {trouble}")
        world.heal()
        administrator.finish()
        wait_until(world.is_whole, DEADLINE_S, "recovery from everything")
        for load in (*loads, *moved):
            load.wait_acknowledged(load.acknowledged + 1000)
        for load in (*loads, *moved):
            load.finish()
        changelog.finish()
        group.finish()
    for number, load in enumerate(loads):
        read_all(bootstrap, TOPIC, load.sent, number)
    for number, load in enumerate(moved):
        read_all(bootstrap, MOVED, load.sent, number)
    print("records:", [load.sent for load in (*loads, *moved)])
    print("operations:", dict(administrator.done), "refused:", dict(administrator.refused))
    if ROUNDS >= 50:
        assert set(administrator.done) == {work.__name__ for work in administrator.works}
    wait_until(world.is_whole, DEADLINE_S, "all replicas in sync")
    for broker in world.brokers:
        assert broker.stop(60) in (0, 143)
    for directory in world.replica_directories(CHANGELOG):
        changelog.verify_files(directory)


def test_the_replicas_of_a_whole_cluster_are_equal(world):
    """Placed here for its world: what one broker holds, the others hold byte for byte, once all is quiet."""
    load = our_load(",".join(world.bootstraps), TOPIC, 0)
    try:
        load.wait_acknowledged(5000)
        load.finish()
    finally:
        load.stop()
    for broker in world.brokers:
        assert broker.stop(60) in (0, 143)
    logs = [sorted(directory.glob("*.log")) for directory in world.replica_directories(TOPIC)]
    contents = [b"".join(path.read_bytes() for path in paths) for paths in logs]
    assert contents[0]
    assert contents.count(contents[0]) == len(contents)

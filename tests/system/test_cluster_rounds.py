"""Three real brokers on hosts of their own, under rounds of trouble drawn from a seed, while idempotent loads write.

Each round kills, pauses, restarts or cuts off a broker, for shorter or longer than its ZooKeeper session lasts. In the
end every partition reads 0, 1, 2 ...: nothing acknowledged lost, repeated or out of order; and all replicas hold it.
"""

import os
import random
import signal
import threading

import pytest

from kafka_py.testing import namespaces
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.load import confluent_load, our_load, read_all
from kafka_py.testing.processes import ZookeeperServer, wait_until
from kafka_py.testing.topics import ask_metadata, create_topic

ROUNDS = 50
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
}

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
        self.brokers = [self._broker(folder, number, connect) for number in range(len(hosts.addresses))]

    def _broker(self, folder, number, connect):
        broker = BrokerProcess(folder / f"broker{number}", connect, broker_id=number, port=PORT, settings=SETTINGS)
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
                [topic] = ask_metadata(bootstrap, [TOPIC]).topics
            except OSError:
                return False
            if any(each.leader_id < 0 or len(each.isr_nodes) < len(self.brokers) for each in topic.partitions):
                return False
        return True


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


@pytest.mark.timeout(1200)
def test_nothing_acknowledged_is_lost_or_repeated_in_fifty_rounds(world):
    seed = int(os.environ.get("KAFKA_PY_ROUNDS_SEED") or random.SystemRandom().randrange(1 << 30))
    print(f"KAFKA_PY_ROUNDS_SEED={seed}")
    rng = random.Random(seed)
    bootstrap = ",".join(world.bootstraps)
    loads = [(our_load if number % 2 else confluent_load)(bootstrap, TOPIC, number) for number in range(PARTITIONS)]
    pause = threading.Event()
    try:
        for number in range(ROUNDS):
            trouble = Trouble(world, rng)
            print(f"round {number}: {trouble}; acknowledged {[load.acknowledged for load in loads]}", flush=True)
            trouble.begin()
            pause.wait(trouble.lasts_s)
            trouble.end()
            if rng.random() < 0.5:
                wait_until(world.is_whole, DEADLINE_S, f"recovery from round {number}, {trouble}")
        world.heal()
        wait_until(world.is_whole, DEADLINE_S, "recovery from everything")
        for load in loads:
            load.wait_acknowledged(load.acknowledged + 1000)
        for load in loads:
            load.finish()
    finally:
        for load in loads:
            load.stop()
    for number, load in enumerate(loads):
        read_all(bootstrap, TOPIC, load.sent, number)
    print("records:", [load.sent for load in loads])


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
    logs = [sorted((broker.folder / "kafka-logs" / f"{TOPIC}-0").glob("*.log")) for broker in world.brokers]
    contents = [b"".join(path.read_bytes() for path in paths) for paths in logs]
    assert contents[0]
    assert contents.count(contents[0]) == len(contents)

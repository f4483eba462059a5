"""Logs that our cleaner has compacted are Apache's to read, to check and to compact on, and the other way round.

One directory, ZooKeeper, port and broker id; only the software changes. Every reader must see the last committed value
of each key, and Apache's own kafka-dump-log.sh must find nothing wrong with files and indexes.
"""

import random
from pathlib import Path

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.peers.java_clients import ToSend
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import create_topic

CODECS = ("none", "gzip", "lz4", "snappy", "zstd")
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "6000",
    "index.interval.bytes": "500",
    "min.cleanable.dirty.ratio": "0.01",
}
SETTINGS = {
    "log.cleaner.backoff.ms": "100",
    "zookeeper.session.timeout.ms": "6000",
    "zookeeper.connection.timeout.ms": "60000",
}
READY_S = 60


class Journey:
    """One directory, the broker that has it, and the last committed value of every key."""

    def __init__(self, apache_kafka, folder, zookeeper_connect):
        self.jars = apache_kafka
        self.disk = folder / "disk"
        options = {"broker_id": 7, "log_dirs": [self.disk], "settings": SETTINGS}
        self.apache = ApacheBroker(folder / "apache", zookeeper_connect, **options)
        self.ours = BrokerProcess(folder / "ours", zookeeper_connect, **options)
        self.ours.port = self.apache.port
        self.ours.properties["listeners"] = self.apache.properties["listeners"]
        self.bootstrap = self.apache.bootstrap
        self.topics = [*(f"of-{codec}" for codec in CODECS), "transactional"]
        self.expected = {topic: {} for topic in self.topics}
        self.numbers = iter(range(10**6))
        self.rng = random.Random(1)

    def records(self, topic, count, *, counts=True):
        for _ in range(count):
            key = b"key-%d" % self.rng.randrange(20)
            value = None if self.rng.random() < 0.1 else b"%d:" % next(self.numbers) + self.rng.randbytes(60)
            if counts:
                self.expected[topic][key] = value
            yield ToSend(topic, 0, key, value)

    def write(self):
        for codec in CODECS:
            java_clients.produce(self.jars, self.bootstrap, self.records(f"of-{codec}", 300), compression_type=codec,
                                 batch_size=1000, enable_idempotence=True, retries=10,
                                 max_in_flight_requests_per_connection=5)  # fmt: skip
        script = []
        for number in range(12):
            commits = number % 3 != 1
            script += ["begin", *self.records("transactional", 25, counts=commits), "flush",
                       "commit" if commits else "abort"]  # fmt: skip
        java_clients.produce(self.jars, self.bootstrap, script, transactional_id="journey", batch_size=1000)

    def check(self, settled):
        """What committed readers see, newest last, gives the expected values; and little more, once compacted."""
        partitions = [f"{topic}:0" for topic in self.topics]
        found = {topic: {} for topic in self.topics}
        count = 0
        for record in java_clients.consume(self.jars, self.bootstrap, partitions, isolation_level="read_committed"):
            found[record.topic][record.key] = record.value
            count += 1
        for topic in self.topics:
            values = {key: value for key, value in found[topic].items() if value is not None}
            assert values == {key: value for key, value in self.expected[topic].items() if value is not None}, topic
        if settled:
            assert count < next(self.numbers) / 2
        return count

    def wait_compacted(self):
        """Until nothing but the active segments is dirty, by the checkpoint."""
        wait_until(lambda: all(self._is_compacted(topic) for topic in self.topics), READY_S, "the cleaner")

    def _is_compacted(self, topic):
        rows = [line.split() for line in (self.disk / "cleaner-offset-checkpoint").read_text().splitlines()[2:]]
        clean = {row[0]: int(row[2]) for row in rows}
        bases = sorted(int(path.stem) for path in self.disk.glob(f"{topic}-0/*.log"))
        return clean.get(topic, -1) >= bases[-1] > 0

    def dump(self):
        """Apache's tool over every file; its complaints."""
        files = [path for topic in self.topics for path in sorted(Path(self.disk).glob(f"{topic}-0/*"))]
        wanted = [str(path) for path in files if path.suffix in (".log", ".index", ".timeindex", ".txnindex")]
        result = self.jars.run("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(wanted))
        assert result.exit_code == 0, result.stderr
        assert "isvalid: false" not in result.stdout
        return [line for line in result.lines if "Mismatch" in line or "Found" in line or "not" in line.split()]


@pytest.fixture
def journey(apache_kafka, tmp_path, zk_chroot):
    made = Journey(apache_kafka, tmp_path, zk_chroot)
    yield made
    made.apache.kill()
    made.ours.kill()


@pytest.mark.slow
def test_a_compacted_directory_crosses_from_ours_to_apache_and_back(journey):
    journey.apache.start()  # it coordinates the transactions
    for topic in journey.topics:
        create_topic([journey.bootstrap], topic, 1, configs=CONFIGS)
    journey.write()
    journey.wait_compacted()
    by_apache = journey.check(settled=True)
    journey.apache.stop()

    journey.ours.start()
    assert journey.check(settled=True) == by_apache
    for codec in CODECS:
        java_clients.produce(journey.jars, journey.bootstrap, journey.records(f"of-{codec}", 300),
                             compression_type=codec, batch_size=1000)  # fmt: skip
    java_clients.produce(journey.jars, journey.bootstrap, journey.records("transactional", 300), batch_size=1000)
    journey.wait_compacted()
    by_ours = journey.check(settled=True)
    journey.ours.kill()
    journey.ours.start()
    assert journey.check(settled=True) == by_ours
    journey.ours.stop()
    assert journey.dump() == []

    journey.apache.start()
    journey.check(settled=True)
    journey.write()
    journey.wait_compacted()
    journey.check(settled=True)

"""Consume, transform, produce with every client library on three brokers, while brokers and workers are killed.

Whatever is killed, a reader with isolation.level=read_committed finds each input record exactly once and in order in
every partition, and all transactions end. 100 kills with `bin/test.sh --all`, else a few.
"""

import os
import random
import sys
import threading
from pathlib import Path

import confluent_kafka
import pytest
from kept_running import KeptRunning, Supervisor
from steady_input import SteadyInput

from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Jars, apache_kafka
from kafka_py.testing.processes import ZookeeperServer, wait_until
from kafka_py.testing.topics import create_topic

LONG = "KAFKA_PY_LONG" in os.environ
KILLS = int(os.environ.get("KAFKA_PY_KILLS", "100" if LONG else "6"))
LIBRARIES = ("confluent-kafka", "kafka-python", "aiokafka", "kafka_py", "java")
INPUT, OUTPUT = "consumed", "transformed"
DEADLINE_S = 240.0
SETTINGS = {
    "zookeeper.session.timeout.ms": "4000", "zookeeper.connection.timeout.ms": "60000",
    "controlled.shutdown.retry.backoff.ms": "500", "min.insync.replicas": "2", "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "4", "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2", "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000", "group.initial.rebalance.delay.ms": "0",
    "inter.broker.protocol.version": "2.7",
}  # fmt: skip

pytestmark = [pytest.mark.slow]


class Worker(KeptRunning):
    """The program of one library."""

    def __init__(self, log: Path, library: str, jars: Jars, bootstrap: str, partition: int) -> None:
        arguments = [bootstrap, INPUT, OUTPUT, str(partition)]
        if library == "java":
            command = jars.source_command("Transform", *arguments)
        else:
            command = [sys.executable, str(Path(__file__).with_name("transformers.py")), library, *arguments]
        super().__init__(command, log)
        self.library = library


class Input(SteadyInput):
    """Writes 0, 1, 2 ... to every partition of the input, some hundred records a second, until it is finished."""

    def __init__(self, bootstrap: str, partitions: int) -> None:
        self.sent = 0
        """Records in each partition."""
        self._partitions = partitions
        super().__init__(bootstrap, interval_s=0.05)

    def write(self) -> None:
        for number in range(self.sent, self.sent + 10):
            for partition in range(self._partitions):
                self.send(INPUT, b"%d" % number, partition)
        self.sent += 10


def committed(bootstrap: str, partition: int, isolation: str = "read_committed") -> list[int]:
    """All numbers that a reader sees in a partition of the output, up to its end."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
         "isolation.level": isolation, "enable.partition.eof": True, "auto.offset.reset": "earliest"}
    )  # fmt: skip
    numbers: list[int] = []
    try:
        consumer.assign([confluent_kafka.TopicPartition(OUTPUT, partition, 0)])
        while True:
            for record in consumer.consume(1000, 0.5):  # waits that long for the rest of the thousand
                error = record.error()
                if error is not None and error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    return numbers
                assert error is None, error
                numbers.append(int(record.value() or b""))
    finally:
        consumer.close()


def check(bootstrap: str, partition: int, sent: int) -> None:
    """Waits until everything has been copied, and compares."""
    wait_until(
        lambda: len(committed(bootstrap, partition)) >= sent, DEADLINE_S,
        f"all {sent} records in {OUTPUT}-{partition}, by {LIBRARIES[partition]}",
    )  # fmt: skip
    assert committed(bootstrap, partition) == list(range(sent)), LIBRARIES[partition]
    assert len(committed(bootstrap, partition, "read_uncommitted")) >= sent


def run_rounds(tmp_path: Path, kinds: tuple[type[BrokerProcess] | type[ApacheBroker], ...], kills: int) -> None:
    seed = int(os.environ.get("KAFKA_PY_KILLS_SEED") or random.SystemRandom().randrange(1 << 30))
    print(f"KAFKA_PY_KILLS_SEED={seed}")
    rng = random.Random(seed)
    with ZookeeperServer(tmp_path / "zookeeper") as zookeeper:
        brokers: list[AnyBroker] = [
            kind(tmp_path / f"broker-{number}", f"{zookeeper.connect}/eos", broker_id=number, settings=SETTINGS)
            for number, kind in enumerate(kinds)
        ]
        try:
            for broker in brokers:
                broker.start(120)
            _copy_under_kills(tmp_path, brokers, rng, kills)
        finally:
            for broker in brokers:
                broker.kill()


def _copy_under_kills(tmp_path: Path, brokers: list[AnyBroker], rng: random.Random, kills: int) -> None:
    bootstraps = [broker.bootstrap for broker in brokers]
    bootstrap = ",".join(bootstraps)
    for topic in (INPUT, OUTPUT):
        create_topic(bootstraps, topic, len(LIBRARIES), replication_factor=3, timeout_s=60)
    jars = apache_kafka()
    workers = [
        Worker(tmp_path / f"{library}.log", library, jars, bootstrap, partition)
        for partition, library in enumerate(LIBRARIES)
    ]
    records = Input(bootstrap, len(LIBRARIES))
    supervisor = Supervisor(workers)
    pause = threading.Event()
    try:
        for number in range(kills):
            pause.wait(rng.uniform(0.5, 4.0))
            if rng.random() < 0.5:
                victim = rng.choice(workers)
                print(f"kill {number}: worker of {victim.library}", flush=True)
                victim.kill()
            else:
                broker = rng.choice(brokers)
                print(f"kill {number}: broker {broker.broker_id}", flush=True)
                broker.kill()
                pause.wait(rng.uniform(0, 6.0))
                broker.start(120)
        records.finish()
        for partition in range(len(LIBRARIES)):
            check(bootstrap, partition, records.sent)
        print("records:", records.sent, "starts:", {worker.library: worker.starts for worker in workers})
    finally:
        supervisor.stop()
        records.stop()


@pytest.mark.core
@pytest.mark.timeout(3600)
def test_each_record_is_copied_exactly_once_whatever_is_killed(tmp_path: Path) -> None:
    run_rounds(tmp_path, (BrokerProcess, BrokerProcess, BrokerProcess), KILLS)


@pytest.mark.timeout(3600)
def test_each_record_is_copied_exactly_once_in_a_mixed_cluster(tmp_path: Path) -> None:
    run_rounds(tmp_path, (BrokerProcess, ApacheBroker, BrokerProcess), KILLS)

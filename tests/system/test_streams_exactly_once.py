"""Kafka Streams of 2.8.2 with processing.guarantee exactly_once and exactly_once_beta, while it and brokers are killed.

Two instances of one application (tests/compat/java/CountWords.java) count words: input, repartition topic, state store
with a changelog, output. Each record of the input gives one count, so a reader with isolation.level=read_committed must
find for each word 1, 2, 3 ... up to the number of its records: a lost, repeated or torn step shows as a gap, a repeat
or a step back. Killed is one in two times an instance and else a broker; 20 times with `bin/test.sh --all`, else a few.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
from pathlib import Path

import confluent_kafka
import pytest
from kept_running import KeptRunning, Supervisor
from steady_input import SteadyInput

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import Jars, Unavailable, kafka_streams
from kafka_py.testing.processes import ZookeeperServer, wait_until
from kafka_py.testing.topics import create_topic

LONG = "KAFKA_PY_LONG" in os.environ
KILLS = int(os.environ.get("KAFKA_PY_KILLS", "20" if LONG else "4"))
PARTITIONS, INSTANCES = 3, 2
INPUT, OUTPUT = "words", "counts"
WORDS = ("broker", "controller", "epoch", "fetch", "group", "leader", "offset", "segment", "topic")
START_S, DEADLINE_S = 120.0, 240.0
BROKER_SETTINGS = {
    "zookeeper.session.timeout.ms": "4000", "zookeeper.connection.timeout.ms": "60000",
    "min.insync.replicas": "2", "default.replication.factor": "3", "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "4", "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2", "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000", "group.initial.rebalance.delay.ms": "500",
}  # fmt: skip
STREAMS_SETTINGS = {
    "application.id": "count-words", "replication.factor": "3", "num.stream.threads": "1", "commit.interval.ms": "100",
    "consumer.session.timeout.ms": "6000", "consumer.heartbeat.interval.ms": "1000",
    "consumer.auto.offset.reset": "earliest", "producer.transaction.timeout.ms": "15000",
}  # fmt: skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


class Words(SteadyInput):
    """Writes some hundred words a second until it is finished; `sent` counts the records of each word."""

    def __init__(self, bootstrap: str) -> None:
        self.sent = dict.fromkeys(WORDS, 0)
        self._partitions = itertools.cycle(range(PARTITIONS))
        super().__init__(bootstrap, interval_s=0.1)

    def write(self) -> None:
        for word in WORDS:
            for _ in range(3):
                self.send(INPUT, word, next(self._partitions))
            self.sent[word] += 3


def counts(bootstrap: str) -> dict[str, list[int]]:
    """The committed counts of each word, in the order of their partition.

    An end is noticed by an empty response only. Transactions are committed every 100 ms, so a fetch that waits for
    longer always finds something.
    """
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
         "isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest",
         "fetch.wait.max.ms": 10}
    )  # fmt: skip
    found: dict[str, list[int]] = {}
    ended = 0
    try:
        consumer.assign([confluent_kafka.TopicPartition(OUTPUT, partition, 0) for partition in range(PARTITIONS)])
        while ended < PARTITIONS:
            for record in consumer.consume(1000, 0.5):
                error = record.error()
                if error is None:
                    found.setdefault((record.key() or b"").decode(), []).append(int(record.value() or b""))
                else:
                    assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                    ended += 1
    finally:
        consumer.close()
    return found


def number_of(found: dict[str, list[int]]) -> int:
    return sum(map(len, found.values()))


def instances(jars: Jars, folder: Path, bootstrap: str, guarantee: str) -> list[KeptRunning]:
    """The instances of the application, not yet started; each keeps its state folder when it is killed."""
    made = []
    for number in range(INSTANCES):
        settings = {**STREAMS_SETTINGS, "bootstrap.servers": bootstrap, "processing.guarantee": guarantee,
                    "state.dir": str(folder / f"state-{number}")}  # fmt: skip
        arguments = [INPUT, OUTPUT, *(f"{name}={value}" for name, value in settings.items())]
        made.append(KeptRunning(jars.source_command("CountWords", *arguments), folder / f"instance-{number}.log"))
    return made


def kill_at_random(programs: list[KeptRunning], brokers: list[BrokerProcess], rng: random.Random) -> None:
    pause = threading.Event()
    for number in range(KILLS):
        pause.wait(rng.uniform(1.0, 8.0))
        if rng.random() < 0.5:
            victim = rng.randrange(len(programs))
            print(f"kill {number}: instance {victim}", flush=True)
            programs[victim].kill()
        else:
            broker = rng.choice(brokers)
            print(f"kill {number}: broker {broker.broker_id}", flush=True)
            broker.kill()
            pause.wait(rng.uniform(0, 6.0))
            broker.start(START_S)


def count_under_kills(folder: Path, jars: Jars, brokers: list[BrokerProcess], guarantee: str) -> None:
    seed = int(os.environ.get("KAFKA_PY_KILLS_SEED") or random.SystemRandom().randrange(1 << 30))
    print(f"KAFKA_PY_KILLS_SEED={seed}")
    bootstraps = [broker.bootstrap for broker in brokers]
    bootstrap = ",".join(bootstraps)
    for topic in (INPUT, OUTPUT):
        create_topic(bootstraps, topic, PARTITIONS, replication_factor=3, timeout_s=60)
    programs = instances(jars, folder, bootstrap, guarantee)
    words = Words(bootstrap)
    supervisor = Supervisor(programs)
    try:
        wait_until(lambda: counts(bootstrap), START_S, "the first count")
        kill_at_random(programs, brokers, random.Random(seed))
        words.finish()
        total = sum(words.sent.values())
        wait_until(lambda: number_of(counts(bootstrap)) >= total, DEADLINE_S, f"the counts of all {total} records")
        found = counts(bootstrap)
        assert found == {word: list(range(1, number + 1)) for word, number in words.sent.items()}
        print("records:", total, "starts:", [program.starts for program in programs])
    finally:
        supervisor.stop()
        words.stop()


@pytest.mark.core
@pytest.mark.parametrize("guarantee", ["exactly_once", "exactly_once_beta"])
def test_counts_are_exact_whatever_is_killed(tmp_path: Path, guarantee: str) -> None:
    try:
        jars = kafka_streams()
    except Unavailable as why:
        pytest.skip(str(why))
    with ZookeeperServer(tmp_path / "zookeeper") as zookeeper:
        brokers = [
            BrokerProcess(tmp_path / f"broker-{number}", f"{zookeeper.connect}/streams", broker_id=number,
                          settings=BROKER_SETTINGS)
            for number in range(3)
        ]  # fmt: skip
        try:
            for broker in brokers:
                broker.start(START_S)
            count_under_kills(tmp_path, jars, brokers, guarantee)
        finally:
            for broker in brokers:
                broker.kill()

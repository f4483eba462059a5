"""The example that reads, transforms and writes in transactions, on three brokers, under `kill -9` of both.

Several processes of docs/examples/exactly_once.py share a topic, and are restarted whenever they end. Whatever is
killed, a reader of committed records finds each input once, in the order of its partition. KAFKA_PY_KILLS sets how
often something is killed; the seed is printed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

KILLS = int(os.environ.get("KAFKA_PY_KILLS", "6"))
PROGRAMS, PARTITIONS, PER_KILL = 2, 3, 300
TIMEOUT_S = 300.0
SETTINGS = {
    "offsets.topic.replication.factor": 3, "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2, "min.insync.replicas": 2, "transaction.state.log.num.partitions": 3,
    "offsets.topic.num.partitions": 3, "zookeeper.session.timeout.ms": 2000, "group.min.session.timeout.ms": 1000,
}  # fmt: skip


class Program:
    """One of the programs: a process that is started again when it ends."""

    def __init__(self, number: int, cluster: KafkaCluster, source: str, target: str, folder: Path) -> None:
        script = str(ROOT / "docs" / "examples" / "exactly_once.py")
        self._command = [sys.executable, script, cluster.bootstrap_servers, source, target, f"program-{number}"]
        self.log = folder / f"program-{number}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def keep_running(self) -> None:
        if self._process is None or self._process.poll() is not None:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def committed(consumer: Consumer, partitions: list[TopicPartition]) -> list[list[bytes | None]]:
    """The values of each partition that are visible now."""
    consumer.assign(partitions)
    consumer.seek_to_beginning(partitions)
    ends = consumer.end_offsets(partitions)
    values: dict[TopicPartition, list[bytes | None]] = {partition: [] for partition in partitions}
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        for record in consumer.poll(1.0):
            values[record.topic_partition].append(record.value)
    return list(values.values())


def test_each_input_has_its_effect_once_whatever_is_killed(
    kafka_cluster_factory: Callable[..., KafkaCluster], tmp_path: Path
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    with kafka_cluster_factory(brokers=3, settings=SETTINGS) as cluster:
        source = cluster.create_topic(partitions=PARTITIONS, replication_factor=3)
        target = cluster.create_topic(partitions=PARTITIONS, replication_factor=3)
        programs = [Program(number, cluster, source, target, tmp_path) for number in range(PROGRAMS)]
        servers = {"bootstrap.servers": cluster.bootstrap_servers}
        sent = 0
        try:
            with Producer({**servers, "enable.idempotence": True}) as producer:
                for _ in range(KILLS):
                    for _ in range(PER_KILL):
                        number = sent % PARTITIONS
                        producer.send(source, b"p%d-%06d" % (number, sent), key=b"%d" % number, partition=number)
                        sent += 1
                    for program in programs:
                        program.keep_running()
                    time.sleep(draw.uniform(0.5, 3.0))  # so that it hits another step each time
                    if draw.random() < 0.4:
                        draw.choice(programs).kill()
                        continue
                    broker = draw.choice(cluster.brokers)
                    broker.kill()
                    time.sleep(draw.uniform(0.0, 3.0))
                    broker.start()
            expected = {b"P%d" % number: count_of(sent, number) for number in range(PARTITIONS)}
            found = wait_for_all(servers, target, programs, sent)
        finally:
            for program in programs:
                program.kill()
    for values in found:
        by_source: dict[bytes, list[bytes]] = {}
        for value in values:
            assert value is not None
            by_source.setdefault(value.split(b"-")[0], []).append(value)
        for name, ordered in by_source.items():
            assert ordered == sorted(set(ordered)), name
            assert len(ordered) == expected[name]
    assert sum(len(values) for values in found) == sent


def count_of(sent: int, partition: int) -> int:
    """How many of the inputs went to a partition."""
    return len(range(partition, sent, PARTITIONS))


def wait_for_all(
    servers: dict[str, str], target: str, programs: list[Program], sent: int
) -> list[list[bytes | None]]:
    """What is visible once as many results are there as there were inputs, and what the programs hold is done."""
    settings = {**servers, "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    partitions = [TopicPartition(target, number) for number in range(PARTITIONS)]
    deadline = time.monotonic() + TIMEOUT_S
    with Consumer(settings) as consumer:
        while sum(map(len, found := committed(consumer, partitions))) < sent:
            assert time.monotonic() < deadline, [program.log.read_text()[-2000:] for program in programs]
            for program in programs:
                program.keep_running()
            time.sleep(0.5)
        return found

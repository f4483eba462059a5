"""Two brokers of one make, ours or Apache Kafka 2.8.2's, for the web manager to show."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import ask_metadata

BROKERS = 2
MAKES: tuple[type[BrokerProcess] | type[ApacheBroker], ...] = (BrokerProcess, ApacheBroker)
MAKE_IDS = ("ours", "apache")
DISKS = ("disk1", "disk2")
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "zookeeper.connection.timeout.ms": "60000",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "2",
    "group.initial.rebalance.delay.ms": "0",
}


@contextlib.contextmanager
def two_brokers(make: type[BrokerProcess] | type[ApacheBroker], folder: Path, connect: str) -> Iterator[str]:
    """Their bootstrap servers; the ids are 0 and 1, each has log directories DISKS of its own.

    Raises NotReady, Unavailable.
    """
    brokers = [
        make(folder / str(number), connect, broker_id=number, settings=SETTINGS,
             log_dirs=[folder / str(number) / disk for disk in DISKS])
        for number in range(BROKERS)
    ]  # fmt: skip
    try:
        for broker in brokers:
            broker.launch()
        for broker in brokers:
            broker.wait_started(120)
        wait_until(lambda: all(len(ask_metadata(one.bootstrap).brokers) == BROKERS for one in brokers), 60, "a cluster")
        yield ",".join(broker.bootstrap for broker in brokers)
    finally:
        for broker in brokers:
            broker.kill()

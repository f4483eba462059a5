"""A broker of ours and one of Apache Kafka 2.8.2 copy from each other over TLS, with certificates on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from acknowledged import Peek, log_bytes, until

pytest.importorskip("cryptography")

from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.processes import ZookeeperServer, free_port
from kafka_py.testing.topics import create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

TOPIC = "over-tls"


@pytest.fixture
def pair(apache_kafka: Jars, zookeeper: ZookeeperServer, zk_chroot: str, tmp_path: Path) -> Iterator[list[AnyBroker]]:
    files = CertificateFiles(tmp_path / "certificates")
    brokers: list[AnyBroker] = []
    kinds: list[type[BrokerProcess] | type[ApacheBroker]] = [BrokerProcess, ApacheBroker]
    try:
        for number, kind in enumerate(kinds):
            plain, between = free_port(), free_port()
            settings = {
                "listeners": f"PLAINTEXT://127.0.0.1:{plain},BETWEEN://127.0.0.1:{between}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BETWEEN:SSL",
                "inter.broker.listener.name": "BETWEEN",
                "ssl.client.auth": "required",
                "auto.leader.rebalance.enable": "false",
                "offsets.topic.replication.factor": "2",
                **files.broker(f"broker-{number}"),
            }
            folder = tmp_path / f"broker-{number}"
            brokers.append(kind(folder, zk_chroot, broker_id=number, port=plain, settings=settings).start(120))
        yield brokers
    finally:
        for broker in brokers:
            broker.kill()


@pytest.mark.core
def test_each_leads_and_follows_over_tls(pair: list[AnyBroker], zk_chroot: str) -> None:
    servers = [broker.bootstrap for broker in pair]
    create_topic(servers, TOPIC, 2, replication_factor=2, configs={"min.insync.replicas": "2"}, timeout_s=60)
    peek = Peek(zk_chroot)
    try:
        until(lambda: {peek.state(TOPIC, partition)["leader"] for partition in range(2)} == {0, 1})
        until(lambda: all(peek.isr(TOPIC, partition) == {0, 1} for partition in range(2)))
        for controller in (0, 1):
            while peek.controller() != controller:
                pair[1 - controller].stop()
                until(lambda wanted=controller: peek.controller() == wanted)
                pair[1 - controller].start(120)
            until(lambda: all(peek.isr(TOPIC, partition) == {0, 1} for partition in range(2)))
            write(",".join(servers))
        for partition in range(2):
            until(lambda at=partition: len({log_bytes(broker, TOPIC, at) for broker in pair}) == 1)
            assert log_bytes(pair[0], TOPIC, partition)
    finally:
        peek.close()


def write(servers: str) -> None:
    """A hundred records to each partition, each on both brokers before it counts."""
    failures: list[object] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "acks": "all"})
    for number in range(200):
        producer.produce(
            TOPIC, b"%d" % number * 500, partition=number % 2,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )  # fmt: skip
    assert producer.flush(60) == 0
    assert failures == []

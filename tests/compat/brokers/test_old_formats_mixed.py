"""Old and new clients on topics of every message format, in a cluster of one broker of Apache's and one of ours.

Each broker leads half of the topics and copies the other half; later each leads all of them alone. With KAFKA_PY_LONG
in the environment all releases of the Java clients take part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import confluent_kafka.admin
import pytest
from acknowledged import Peek, bootstrap_of, log_bytes, until
from old_peers import FORMATS, JAVA_VERSIONS, OLD_CODECS, OLD_PEERS, OldJava, check_found, messages_of, write_with_java
from peers import PEERS, TIMEOUT_S, Message

from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers import apache
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.topics import ask_metadata

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MAKES = ("ours", "apache")
JAVA = tuple(JAVA_VERSIONS) if "KAFKA_PY_LONG" in os.environ else ("0.8.2.2", "0.10.2.2")
SETTINGS = {
    "inter.broker.protocol.version": "2.6", "zookeeper.session.timeout.ms": "4000", "log.retention.ms": "-1",
    "replica.lag.time.max.ms": "4000", "controlled.shutdown.retry.backoff.ms": "500",
    "auto.leader.rebalance.enable": "false", "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "2",  # consumers of 0.9 look for their coordinator in any case
}  # fmt: skip

Expected = dict[str, list[tuple[Message, int]]]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[BrokerProcess, ApacheBroker, Peek]]:
    apache.apache_kafka()
    zookeeper = ZookeeperServer(tmp_path / "zookeeper").start()
    brokers: list[AnyBroker] = []
    peek = None
    try:
        zookeeper.wait_serving(60)
        ours = BrokerProcess(tmp_path / "ours", zookeeper.connect, broker_id=0, settings=SETTINGS)
        theirs = ApacheBroker(tmp_path / "apache", zookeeper.connect, broker_id=1, settings=SETTINGS)
        brokers = [ours, theirs]
        for broker in brokers:
            broker.start(120)
        until(lambda: all(len(ask_metadata(broker.bootstrap).brokers) == 2 for broker in (ours, theirs)))
        peek = Peek(zookeeper.connect)
        yield ours, theirs, peek
    finally:
        for broker in brokers:
            broker.kill()
        if peek is not None:
            peek.close()
        zookeeper.end()


def make_topics(bootstrap: str) -> dict[str, int]:
    """For each format a topic that ours leads and one that Apache's leads; their formats."""
    topics = {f"{version}-{make}": magic for version, magic in FORMATS.items() for make in MAKES}
    wanted = [
        confluent_kafka.admin.NewTopic(
            name, 1, replica_assignment=[[0, 1] if name.endswith(MAKES[0]) else [1, 0]],
            config={"message.format.version": name.rpartition("-")[0]},
        )
        for name in topics
    ]  # fmt: skip
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics(wanted).values():
        made.result(TIMEOUT_S)
    return topics


def write_with_others(bootstrap: str, topics: Mapping[str, int], expected: Expected) -> None:
    for topic, magic in topics.items():
        for peer in (*OLD_PEERS, PEERS[0], PEERS[2]):
            for codec in OLD_CODECS:
                messages = messages_of(f"{peer.name} {codec}", 5)
                peer.produce(bootstrap, topic, messages, codec, -1)
                expected[topic] += [(message, min(getattr(peer, "magic", 2), magic)) for message in messages]


def check_all(clients: list[OldJava], leaders: Mapping[str, AnyBroker], expected: Expected) -> None:
    """leaders: of each topic; the oldest client asks the leader itself."""
    for leader in dict.fromkeys(leaders.values()):
        counts = {topic: len(rows) for topic, rows in expected.items() if leaders[topic] is leader}
        for client in clients:
            for topic, found in client.consume(leader.bootstrap, counts).items():
                check_found(f"{client.name}, {topic}", client.magic, found, expected[topic])
    for topic, rows in expected.items():
        bootstrap = leaders[topic].bootstrap
        for old in OLD_PEERS:
            check_found(f"{old.name}, {topic}", old.magic, old.consume(bootstrap, topic, len(rows)), rows)
        check_found(f"librdkafka, {topic}", 2, PEERS[0].consume(bootstrap, topic), rows)


def test_old_clients_read_what_all_wrote_whoever_leads(pair: tuple[BrokerProcess, ApacheBroker, Peek]) -> None:
    ours, theirs, peek = pair
    both: list[AnyBroker] = [ours, theirs]
    topics = make_topics(ours.bootstrap)
    clients = [OldJava(apache.old_clients(version), version) for version in JAVA]
    expected: Expected = {topic: [] for topic in topics}
    until(lambda: all(peek.isr(topic) == {0, 1} for topic in topics))
    write_with_java(clients, ours.bootstrap, topics, expected)
    write_with_others(bootstrap_of(both), topics, expected)
    check_all(clients, {topic: ours if topic.endswith(MAKES[0]) else theirs for topic in topics}, expected)
    for topic in topics:
        until(lambda: len({log_bytes(broker, topic, 0) for broker in both}) == 1)  # noqa: B023
    for away, stays in ((theirs, ours), (ours, theirs)):
        away.stop()
        until(lambda: all(peek.state(topic, 0)["leader"] == stays.broker_id for topic in topics))  # noqa: B023
        check_all(clients, dict.fromkeys(topics, stays), expected)
        away.start(120)
        until(lambda: all(peek.isr(topic) == {0, 1} for topic in topics))

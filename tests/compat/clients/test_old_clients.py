"""Clients of 0.8 to 0.10 beside those of today, on topics in every message format: each reads what all wrote."""

import confluent_kafka.admin
import pytest
from old_peers import FORMATS, JAVA_VERSIONS, OLD_CODECS, OLD_PEERS, OldJava, check_found, messages_of, write_with_java
from peers import PEERS, TIMEOUT_S

from kafka_py.testing.peers import apache

NEW_PEERS = (PEERS[0], PEERS[2])


def make_topic(bootstrap, name, **configs):
    configs["retention.ms"] = "-1"  # the records have timestamps of long ago
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
    [made] = admin.create_topics([confluent_kafka.admin.NewTopic(name, 1, 1, config=configs)]).values()
    made.result(TIMEOUT_S)
    return name


@pytest.mark.parametrize("version", FORMATS)
def test_every_client_reads_what_all_wrote(bootstrap, version):
    stored_magic = FORMATS[version]
    topic = make_topic(bootstrap, f"old-clients-{version}", **{"message.format.version": version})
    expected = []  # (message, the oldest format that it has gone through)
    for peer in (*OLD_PEERS, *NEW_PEERS):
        for codec in OLD_CODECS:
            messages = messages_of(f"{peer.name} {codec}")
            peer.produce(bootstrap, topic, messages, codec, -1 if codec == "none" else 1)
            expected += [(message, min(getattr(peer, "magic", 2), stored_magic)) for message in messages]
    for peer in (*OLD_PEERS, *NEW_PEERS):
        if peer.name == "aiokafka" and not stored_magic:
            continue  # it does not read lz4 in format 0
        if peer in OLD_PEERS:
            found = peer.consume(bootstrap, topic, len(expected))
        else:
            found = peer.consume(bootstrap, topic)
        check_found(peer.name, getattr(peer, "magic", 2), found, expected)


@pytest.mark.parametrize(
    "versions",
    [
        pytest.param(("0.8.2.2", "0.10.2.2"), id="two"),
        pytest.param(tuple(JAVA_VERSIONS), id="all", marks=pytest.mark.slow),
    ],
)
def test_every_java_client_reads_what_all_wrote(bootstrap, versions):
    """From 0.8.2 to 1.1, a producer and a consumer of librdkafka as it is today beside them."""
    try:
        clients = [OldJava(apache.old_clients(version), version) for version in versions]
    except apache.Unavailable as why:
        pytest.skip(str(why))
    topics = {
        make_topic(bootstrap, f"java-{len(versions)}-{version}", **{"message.format.version": version}): magic
        for version, magic in FORMATS.items()
    }
    expected = {topic: [] for topic in topics}  # (message, the oldest format that it has gone through)
    write_with_java(clients, bootstrap, topics, expected)
    for topic, magic in topics.items():
        messages = messages_of("librdkafka", 10)
        PEERS[0].produce(bootstrap, topic, messages, "gzip", -1)
        expected[topic] += [(message, magic) for message in messages]
    counts = {topic: len(rows) for topic, rows in expected.items()}
    for client in clients:
        for topic, found in client.consume(bootstrap, counts).items():
            check_found(f"{client.name}, {topic}", client.magic, found, expected[topic])
    for topic, rows in expected.items():
        check_found(f"librdkafka, {topic}", 2, PEERS[0].consume(bootstrap, topic), rows)

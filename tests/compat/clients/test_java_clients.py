"""Apache's Java clients on our broker, of 2.8.2 and the newest: producer, consumer by assignment, admin."""

import pytest

from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.peers.java_clients import JavaFailed, ToSend

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BASE_MS = 1_700_000_000_000


@pytest.fixture(params=["newest", pytest.param("2.8.2", marks=pytest.mark.slow)])
def jars(request):
    return request.getfixturevalue("newest_clients" if request.param == "newest" else "apache_kafka")


def records_for(topic):
    """Keyed and keyless ones, tombstones, headers, empty and large values."""
    keys = [None if number % 3 == 0 else b"key-%d" % number for number in range(100)]
    headers = (("trace", b"\0\1"), ("trace", None), ("empty", b""))
    return [
        *(ToSend(topic, 0, key, b"value %d" % number, (), BASE_MS + number) for number, key in enumerate(keys)),
        ToSend(topic, 0, b"gone", None, (), BASE_MS + 100),
        ToSend(topic, 0, b"", b"", (), BASE_MS + 101),
        ToSend(topic, 0, b"k", bytes(range(256)) * 100, headers, BASE_MS + 102),
    ]


def test_what_the_producer_sends_the_consumer_reads_in_every_codec(jars, bootstrap):
    topics = {codec: f"java-{jars.directory.name[:6]}-{codec}" for codec in CODECS}
    for codec, topic in topics.items():
        settings = {"compression_type": codec, "linger_ms": 20, "acks": "all"}
        sent = java_clients.produce(jars, bootstrap, records_for(topic), **settings)
        assert [record.offset for record in sent] == list(range(103))
    read = java_clients.consume(jars, bootstrap, [f"{topic}:0" for topic in topics.values()])
    for topic in topics.values():
        found = [record for record in read if record.topic == topic]
        assert [(record.offset, record.timestamp_type) for record in found] == [(n, "CreateTime") for n in range(103)]
        as_sent = [ToSend(topic, 0, record.key, record.value, record.headers, record.timestamp) for record in found]
        assert as_sent == records_for(topic)


def test_the_consumer_starts_at_a_timestamp(jars, bootstrap):
    topic = f"java-{jars.directory.name[:6]}-by-time"
    java_clients.produce(jars, bootstrap, records_for(topic), compression_type="lz4", acks=1)
    read = java_clients.consume(jars, bootstrap, [f"{topic}:0:{BASE_MS + 60}"])
    assert [record.offset for record in read] == list(range(60, 103))
    assert java_clients.consume(jars, bootstrap, [f"{topic}:0:{BASE_MS + 1000}"]) == []


def test_the_consumer_reads_committed_records(jars, bootstrap):
    topic = f"java-{jars.directory.name[:6]}-committed"
    java_clients.produce(jars, bootstrap, records_for(topic), enable_idempotence="true", acks="all")
    read = java_clients.consume(jars, bootstrap, [f"{topic}:0"], isolation_level="read_committed", check_crcs="true")
    assert len(read) == 103


def test_a_record_that_is_too_large_is_refused(jars, bootstrap):
    record = ToSend("java-too-large", 0, None, b"x" * 1_100_000)
    with pytest.raises(JavaFailed, match="RecordTooLargeException"):
        java_clients.produce(jars, bootstrap, [record], max_request_size=5_000_000, batch_size=1)


ADMIN_SAYS = [
    "cluster: 1 node, controller 0, cluster id of 22",
    "create: done",
    "create again: TopicExistsException",
    "create what cannot be: InvalidTopicException",
    "list: true",
    "describe: java-admin 0@0[0][0] 1@0[0][0]",
    "describe by id: UnsupportedProtocolFieldException",  # needs Metadata v12; 2.8 ends at v11
    "describe nothing: UnknownTopicOrPartitionException",
    "grow: done",
    "shrink: InvalidPartitionsException",
    "configs: {cleanup.policy=compact,delete, retention.ms=123456} of 26",
    "earliest: 0 at -1",
    "latest: 0 at -1",
    "by time: -1 at -1",
    "log dirs: 3 replicas",
    "delete: done",
    "delete again: UnknownTopicOrPartitionException",
]


def test_the_admin_client_takes_a_topic_through_its_life(newest_clients, bootstrap):
    result = newest_clients.run_source("Administer", bootstrap, "java-admin")
    assert result.exit_code == 0, result.stderr
    assert result.lines == ADMIN_SAYS


@pytest.mark.slow
def test_the_admin_client_says_the_same_on_an_apache_broker(newest_clients, apache_kafka, zk_chroot, tmp_path):
    with ApacheBroker(tmp_path, zk_chroot) as broker:
        assert newest_clients.run_source("Administer", broker.bootstrap, "java-admin").lines == ADMIN_SAYS

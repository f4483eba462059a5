"""Unchanged clients of other people against one broker: what goes in by any of them comes out by all of them.

Every codec and acks setting, from the start and by timestamp, headers, null keys, tombstones; contents compared
byte for byte.
"""

import shutil
import time

import confluent_kafka
import confluent_kafka.admin
import pytest
from peers import CODECS, PEERS, TIMEOUT_S, Message, Peer, Stored

ACKS = (0, 1, -1)

needs_kcat = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")

EVERY_PEER = [pytest.param(peer, id=peer.name, marks=[needs_kcat] if peer.name == "kcat" else []) for peer in PEERS]


def messages_for(label: str, count: int = 40) -> list[Message]:
    """Keyed and keyless messages, tombstones, headers; sorted by headers so that kcat needs two runs only."""
    base = 1_700_000_000_000
    plain = [
        Message(None if index % 3 == 0 else b"key-%d" % (index % 7),
                b"%s value %d " % (label.encode(), index) + b"x" * (index * 11),
                timestamp=base + index) for index in range(count)
    ]  # fmt: skip
    plain += [Message(b"gone-%d" % index, None, timestamp=base + count + index) for index in range(3)]
    plain += [Message("ключ".encode(), "значение €".encode(), timestamp=base + count + 3)]
    headed = [
        Message(b"h%d" % index, b"with headers %d" % index, (("trace", b"abc"), ("trace", b"again"), ("lang", b"py")),
                base + count + 4 + index) for index in range(5)
    ]  # fmt: skip
    return plain + headed


def readers() -> list[Peer]:
    return [peer for peer in PEERS if peer.name != "kcat" or shutil.which("kcat")]


def make_topic(bootstrap: str, name: str, **configs: str) -> str:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
    [made] = admin.create_topics([confluent_kafka.admin.NewTopic(name, 1, 1, config=configs)]).values()
    made.result(TIMEOUT_S)
    return name


def wait_end_offset(bootstrap: str, topic: str, end: int) -> None:
    """With acks=0 a producer is done before the broker is."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while True:
            partition = confluent_kafka.TopicPartition(topic, 0)
            if consumer.get_watermark_offsets(partition, timeout=TIMEOUT_S)[1] >= end:
                return
            assert time.monotonic() < deadline, f"{topic} never reached offset {end}"
    finally:
        consumer.close()


def without_time(stored: list[Stored]) -> list[Stored]:
    return [item._replace(message=item.message._replace(timestamp=0)) for item in stored]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", EVERY_PEER)
def test_what_one_client_writes_every_client_reads(bootstrap, writer, codec):
    topic = make_topic(bootstrap, f"matrix-{writer.name}-{codec}")
    sent: list[Message] = []
    for acks in ACKS:
        messages = messages_for(f"{codec} acks={acks}")
        writer.produce(bootstrap, topic, messages, codec, acks)
        sent += messages
        wait_end_offset(bootstrap, topic, len(sent))
    expected = [Stored(offset, message) for offset, message in enumerate(sent)]
    for reader in readers():
        stored = reader.consume(bootstrap, topic)
        if writer.name == "kcat":
            assert without_time(stored) == without_time(expected), reader.name
        else:
            assert stored == expected, reader.name


@pytest.mark.parametrize("codec", ["none", "lz4"])
@pytest.mark.parametrize("reader", EVERY_PEER)
def test_every_client_starts_at_a_timestamp(bootstrap, reader, codec):
    topic = make_topic(bootstrap, f"by-time-{reader.name}-{codec}")
    messages = messages_for("by time", 200)
    PEERS[0].produce(bootstrap, topic, messages, codec, 1)
    stored = reader.consume(bootstrap, topic, timestamp=messages[120].timestamp)
    by_offset = {item.offset: item.message for item in stored}
    assert stored[-1].offset == len(messages) - 1
    assert min(by_offset) == 120
    assert all(by_offset[offset] == messages[offset] for offset in by_offset)


def test_an_idempotent_producer_of_librdkafka_works(bootstrap):
    topic = make_topic(bootstrap, "idempotent-librdkafka")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "compression.type": "lz4"}
    )
    for number in range(5000):
        producer.produce(topic, value=b"%d" % number, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    stored = PEERS[0].consume(bootstrap, topic)
    assert [int(item.message.value) for item in stored] == list(range(5000))


def test_log_append_time_is_the_brokers(bootstrap):
    topic = make_topic(bootstrap, "append-time", **{"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    PEERS[0].produce(bootstrap, topic, [Message(b"k", b"v", timestamp=1)], "gzip", -1)
    for reader in readers():
        [item] = reader.consume(bootstrap, topic)
        assert before <= item.message.timestamp <= int(time.time() * 1000), reader.name


@pytest.mark.parametrize("writer", EVERY_PEER)
def test_an_unknown_topic_is_made_by_writing_to_it(bootstrap, writer):
    topic = f"auto-{writer.name}"
    messages = messages_for("auto", 3)[:3]
    writer.produce(bootstrap, topic, messages, "none", 1)
    assert [item.message.value for item in PEERS[0].consume(bootstrap, topic)] == [item.value for item in messages]


def test_a_batch_larger_than_every_fetch_limit_is_still_delivered(bootstrap):
    topic = make_topic(bootstrap, "oversized", **{"max.message.bytes": "3000000"})
    value = bytes(range(256)) * 8000
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 4_000_000})
    producer.produce(topic, value=value, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
         "fetch.max.bytes": 70000, "message.max.bytes": 70000, "max.partition.fetch.bytes": 1000}
    )  # fmt: skip
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        record = consumer.poll(TIMEOUT_S)
        assert record is not None and record.error() is None
        assert record.value() == value
    finally:
        consumer.close()

"""Apache Kafka 2.8.2 and our broker side by side: the same old produce requests are answered, stored and read alike.

Every message format, codec and kind of topic, and what is refused. Plain entries are equal to the byte.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

import pytest

from kafka_py.records.batch import TimestampType, decode_records, iter_headers
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec, compress
from kafka_py.records.legacy_builder import LegacyBuilder, encode_entry
from kafka_py.records.legacy_records import read_records
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

pytestmark = pytest.mark.slow

NOW = int(time.time() * 1000)
LOG_APPEND = 0x08
DEADLINE_S = 30
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)

TOPICS: dict[str, dict[str, str]] = {
    "format-0": {"message.format.version": "0.9.0"},
    "format-1": {"message.format.version": "0.10.2"},
    "format-2": {},
    "format-0-stamped": {"message.format.version": "0.9.0", "message.timestamp.type": "LogAppendTime"},
    "format-1-stamped": {"message.format.version": "0.10.2", "message.timestamp.type": "LogAppendTime"},
    "format-2-stamped": {"message.timestamp.type": "LogAppendTime"},
    "format-0-gzip": {"message.format.version": "0.9.0", "compression.type": "gzip"},
    "format-1-lz4": {"message.format.version": "0.10.2", "compression.type": "lz4"},
    "format-2-zstd": {"compression.type": "zstd"},
    "format-1-zstd": {"message.format.version": "0.10.2", "compression.type": "zstd"},
    "format-1-plain": {"message.format.version": "0.10.2", "compression.type": "uncompressed"},
    "format-1-compacted": {"message.format.version": "0.10.2", "cleanup.policy": "compact"},
    "format-2-compacted": {"cleanup.policy": "compact"},
    "format-1-bounded": {"message.format.version": "0.10.2", "message.timestamp.difference.max.ms": "10800000"},
    "format-2-small": {"max.message.bytes": "150"},
}


def records(magic: int, codec: Codec = Codec.NONE, first: int = 0, *, key: bytes | None = b"key") -> bytes:
    builder = BatchBuilder(codec) if magic == 2 else LegacyBuilder(magic, codec, base_offset=0)
    for number, value in enumerate((b"value", None, b"", b"v" * 50)):
        builder.append_at(first + number, NOW + number % 3, key, value)
    return builder.build()


def wrapped(inner: bytes, *, magic: int = 1, codec: int = 1, offset: int = 3) -> bytes:
    return encode_entry(magic, offset, NOW, None, compress(Codec(codec), inner, magic=magic), codec)


def with_fields(**fields: object) -> bytes:
    builder = BatchBuilder(**fields)  # type: ignore[arg-type]
    builder.append(NOW, b"key", b"value")
    return builder.build()


def with_headers() -> bytes:
    builder = BatchBuilder()
    builder.append(NOW, b"key", b"value", [("name", b"header")])
    return builder.build()


def broken(data: bytes) -> bytes:
    return data[:-1] + bytes((data[-1] ^ 1,))


def old_records() -> bytes:
    builder = LegacyBuilder(1)
    builder.append(NOW - 4 * 3_600_000, b"key", b"value")
    return builder.build()


SENT: dict[str, tuple[int, bytes]] = {
    **{f"format 0, {codec.label}, v0": (0, records(0, codec)) for codec in OLD_CODECS},
    **{f"format 0, {codec.label}, v2": (2, records(0, codec)) for codec in OLD_CODECS},
    **{f"format 1, {codec.label}, v1": (1, records(1, codec)) for codec in OLD_CODECS},
    **{f"format 1, {codec.label}, v2": (2, records(1, codec)) for codec in OLD_CODECS},
    **{f"format 2, {codec.label}, v2": (2, records(2, codec)) for codec in OLD_CODECS},
    **{f"format 2, {codec.label}, v7": (7, records(2, codec)) for codec in Codec},
    "zstd in v3": (3, records(2, Codec.ZSTD)),
    "format 1 in v3": (3, records(1)),
    "keyless, format 1": (2, records(1, key=None)),
    "keyless, format 0, gzip": (0, records(0, Codec.GZIP, key=None)),
    "keyless, format 2": (7, records(2, key=None)),
    "two formats": (2, records(1) + records(0)),
    "format 2 after 1": (2, records(1) + records(2)),
    "two wrappers": (2, records(1, Codec.GZIP) * 2),
    "entries and a wrapper": (2, records(1) + records(1, Codec.GZIP)),
    "two batches": (2, records(2) * 2),
    "a partial entry": (2, records(1)[:-1]),
    "partial alone": (2, records(1)[:20]),
    "nothing": (2, b""),
    "a few bytes": (2, b"12345"),
    "a wrong checksum": (2, broken(records(1))),
    "a wrong checksum of a wrapper": (2, broken(records(1, Codec.GZIP))),
    "a wrong checksum inside": (2, wrapped(broken(records(1)))),
    "a nested wrapper": (2, wrapped(records(1, Codec.GZIP))),
    "another format inside": (2, wrapped(records(0))),
    "an empty wrapper": (2, wrapped(b"")),
    "a wrapper of null": (2, encode_entry(1, 0, NOW, None, None, 1)),
    "a wrapper with zstd": (2, encode_entry(1, 0, NOW, None, b"value", 4)),
    "a wrapper with codec 5": (2, encode_entry(1, 0, NOW, None, b"value", 5)),
    "append time": (2, encode_entry(1, 0, NOW, b"key", b"value", LOG_APPEND)),
    "append time of a wrapper": (2, encode_entry(1, 3, NOW, None, compress(Codec.GZIP, records(1)), LOG_APPEND | 1)),
    "a wrapper without offset": (2, wrapped(records(1), offset=0)),
    "inner offsets from 7": (2, wrapped(records(1, first=7), offset=10)),
    "a wrapper below its records": (2, wrapped(records(1, first=7), offset=5)),
    "an entry of 3 bytes": (2, struct.pack(">qi", 0, 3) + bytes(30)),
    "format 9": (2, records(1)[:16] + b"\x09" + records(1)[17:]),
    "old": (2, old_records()),
    "headers": (3, with_headers()),
    "idempotent": (3, with_fields(producer_id=1000, producer_epoch=0, base_sequence=0)),
    "too large": (2, encode_entry(1, 0, NOW, b"key", bytes(2_000_000))),
}


@pytest.fixture(scope="module")
def clients(module_broker, apache_kafka, zookeeper, tmp_path_factory) -> Iterator[dict[str, WireClient]]:
    with ApacheBroker(tmp_path_factory.mktemp("apache"), f"{zookeeper.connect}/old-formats") as apache:
        apache.wait_started()
        made = {
            "Apache": WireClient(apache.bootstrap, timeout_s=60),
            "ours": WireClient(module_broker.bootstrap, timeout_s=60),
        }
        for client in made.values():
            create_topics(client)
        yield made
        for client in made.values():
            client.close()


def create_topics(client: WireClient) -> None:
    topics = [
        CreatableTopic(
            name=name, num_partitions=1, replication_factor=1, assignments=[],
            configs=[CreateableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        for name, configs in TOPICS.items()
    ]  # fmt: skip
    answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=DEADLINE_S * 1000), 5)
    assert {topic.error_code for topic in answer.topics} == {0}
    ends = time.monotonic() + DEADLINE_S
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in TOPICS])
    while any(not row.partitions or row.partitions[0].error_code for row in client.ask(asked, 4).topics):
        assert time.monotonic() < ends
        time.sleep(0.05)


def produce(client: WireClient, topic: str, version: int, data: bytes) -> tuple[int, int, bool]:
    """(error, base offset, whether the broker's time is answered)."""
    rows = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=data)])]
    request = ProduceRequest(acks=1, timeout_ms=5000, topic_data=rows)
    [row] = client.ask(request, version).responses[0].partition_responses
    return row.error_code, row.base_offset, row.log_append_time_ms > 0


def fetch(client: WireClient, topic: str, version: int, offset: int, size: int) -> tuple[int, bytes]:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=size)
    request = FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=1 << 24,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )  # fmt: skip
    [row] = client.ask(request, version).responses[0].partition_responses
    return row.error_code, bytes(row.record_set or b"")


def read_all(client: WireClient, topic: str, version: int, size: int = 1 << 20) -> list[tuple[object, ...]]:
    """Every record as a consumer finds it, and at last the error that ends the reading, if any.

    (format, codec, whose time, offset, timestamp unless the broker's, key, value).
    """
    found: list[tuple[object, ...]] = []
    offset = 0
    while True:
        error, data = fetch(client, topic, version, offset, size)
        rows = [row for row in rows_of(data) if row[3] >= offset]  # type: ignore[operator]
        if not rows:
            return [*found, (error,)]
        found += rows
        offset = rows[-1][3] + 1  # type: ignore[operator]


def rows_of(data: bytes) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for pos, header in iter_headers(data):
        inside = decode_records(data, pos) if header.magic == 2 else read_records(data, pos)
        stamped = header.timestamp_type is TimestampType.LOG_APPEND_TIME
        found += [
            (header.magic, header.codec.label, header.timestamp_type, record.offset,
             "the broker's" if stamped else record.timestamp, record.key, record.value)
            for record in inside
        ]  # fmt: skip
    return found


@pytest.mark.core
@pytest.mark.parametrize("topic", TOPICS)
def test_old_requests_are_answered_stored_and_read_alike(clients, topic):
    answers = {
        name: {what: produce(client, topic, *sent) for what, sent in SENT.items()} for name, client in clients.items()
    }
    assert [
        f"{what}: ours {answer}, Apache {answers['Apache'][what]}"
        for what, answer in answers["ours"].items() if answer != answers["Apache"][what]
    ] == []  # fmt: skip
    for version in (0, 1, 2, 3, 4, 10):
        for size in (1 << 20, 2000):
            theirs, ours = (read_all(clients[name], topic, version, size) for name in ("Apache", "ours"))
            assert ours == theirs, f"version {version}"
    if "stamped" not in topic and not TOPICS[topic].get("compression.type"):
        _, theirs = fetch(clients["Apache"], topic, 10, 0, 1000)
        _, ours = fetch(clients["ours"], topic, 10, 0, 1000)
        plain = next((pos for pos, header in iter_headers(ours) if header.codec_id), 1000)
        assert ours[:plain] == theirs[:plain]

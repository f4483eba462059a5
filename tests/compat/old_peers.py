"""Clients as they were before message format 2: libraries of today told an old version, and old Java clients.

Each has the message format that it writes and reads at most; records are compared as far as both ends have the fields.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

import confluent_kafka
import kafka
from peers import TIMEOUT_S, Message, Stored

from kafka_py.testing.peers.apache import Jars

OLD_CODECS = ("none", "gzip", "snappy", "lz4")
JAVA_VERSIONS = {"0.8.2.2": 0, "0.9.0.1": 0, "0.10.0.1": 1, "0.10.2.2": 1, "0.11.0.3": 2, "1.1.1": 2}
"""Releases of the Java clients, and the newest message format that each knows."""
FORMATS = {"0.9.0": 0, "0.10.2": 1, "2.8": 2}
"""message.format.version, and the format it stands for."""
BASE_MS = 1_700_000_000_000


class OldKafkaPython:
    """kafka-python as for a broker of `version`; None: as it is today, but not idempotent."""

    def __init__(self, version: tuple[int, ...] | None, magic: int) -> None:
        self.name = f"kafka-python-{'.'.join(map(str, version or ()))}"
        self.version = version
        self.magic = magic

    def produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None:
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, acks="all" if acks == -1 else acks, linger_ms=20,
            compression_type=None if codec == "none" else codec, api_version=self.version, enable_idempotence=False,
        )  # fmt: skip
        with contextlib.closing(producer):
            sent = [
                producer.send(
                    topic, key=message.key, value=message.value, partition=0, timestamp_ms=message.timestamp
                )
                for message in messages
            ]
            producer.flush(TIMEOUT_S)
            for future in sent:
                future.get(TIMEOUT_S)

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Stored]:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=bootstrap, group_id=None, check_crcs=True, api_version=self.version,
            max_partition_fetch_bytes=20_000,
        )  # fmt: skip
        with contextlib.closing(consumer):
            partition = kafka.TopicPartition(topic, 0)
            consumer.assign([partition])
            consumer.seek(partition, 0)
            stored: list[Stored] = []
            while len(stored) < count:
                records = consumer.poll(timeout_ms=TIMEOUT_S * 1000)
                assert records, f"only {len(stored)} records"
                stored += [
                    Stored(record.offset, Message(record.key, record.value, (), record.timestamp))
                    for record in records[partition]
                ]
            return stored


class OldLibrdkafka:
    """librdkafka that asks for no API versions and takes the broker for one of `version`."""

    def __init__(self, version: str, magic: int) -> None:
        self.name = f"librdkafka-{version}"
        self.magic = magic
        self._settings = {"api.version.request": False, "broker.version.fallback": version, "log_level": 3}

    def produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None:
        failures = []
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "compression.type": codec, "acks": acks, "linger.ms": 20, **self._settings}
        )
        for message in messages:
            producer.produce(
                topic, key=message.key, value=message.value, partition=0, timestamp=message.timestamp,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )  # fmt: skip
        assert producer.flush(TIMEOUT_S) == 0
        assert not failures, failures

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Stored]:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True,
                "fetch.message.max.bytes": 20_000, **self._settings,
            }
        )  # fmt: skip
        with contextlib.closing(consumer):
            consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
            stored: list[Stored] = []
            while len(stored) < count:
                record = consumer.poll(TIMEOUT_S)
                assert record is not None and record.error() is None, record and record.error()
                timestamp = record.timestamp()[1]
                stored.append(Stored(record.offset(), Message(record.key(), record.value(), (), timestamp)))
            return stored


class OldJava:
    """Apache's Java clients of an old release; of 0.8 the Scala consumer. One process writes, or reads, many topics."""

    def __init__(self, jars: Jars, version: str) -> None:
        self.name = f"java-{version}"
        self.magic = JAVA_VERSIONS[version]
        self._jars = jars
        self._is_oldest = version.startswith("0.8.")

    def produce(self, bootstrap: str, by_codec: dict[str, list[tuple[str, Message]]]) -> list[int]:
        """Sends (topic, message) pairs, one codec after the other; the offsets."""
        lines = [
            "\t".join((codec, topic, str(message.timestamp), _hex(message.key), _hex(message.value)))
            for codec, sent in by_codec.items()
            for topic, message in sent
        ]
        return [int(line) for line in self._run("OldProduce", bootstrap, stdin="\n".join(lines) + "\n")]

    def consume(self, bootstrap: str, counts: dict[str, int]) -> dict[str, list[Stored]]:
        """The first so many records of each topic."""
        wanted = [f"{topic}:{count}" for topic, count in counts.items()]
        if self._is_oldest:
            lines = self._run("OldestConsume", *bootstrap.split(":"), *wanted)
        else:
            lines = self._run("OldConsume", bootstrap, *wanted)
        found: dict[str, list[Stored]] = {topic: [] for topic in counts}
        for line in lines:
            topic, offset, timestamp, key, value = line.split("\t")
            message = Message(_bytes(key), _bytes(value), (), int(timestamp))
            found[topic].append(Stored(int(offset), message))
        return found

    def _run(self, program: str, *arguments: str, stdin: str = "") -> list[str]:
        result = self._jars.run_source(program, *arguments, stdin=stdin)
        assert result.exit_code == 0, f"{self.name}: {result.stderr[-3000:]}"
        return result.lines


def _hex(data: bytes | None) -> str:
    return "-" if data is None else data.hex()


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text)


OLD_PEERS = (
    OldKafkaPython((0, 8, 2), 0),
    OldKafkaPython((0, 9), 0),
    OldKafkaPython((0, 10, 0), 1),
    OldKafkaPython((0, 10, 2), 1),
    OldLibrdkafka("0.8.2", 0),
    OldLibrdkafka("0.9.0", 0),
    OldLibrdkafka("0.10.2", 2),  # from 0.10.0 on it asks for versions in spite of the setting
    OldKafkaPython(None, 2),
)


def messages_of(label: str, count: int = 25) -> list[Message]:
    """Keyed and keyless ones, empty values, tombstones, and one of some size."""
    made = [
        Message(None if index % 3 == 0 else b"key-%d" % index, f"{label} {index}".encode() * (index % 5),
                timestamp=BASE_MS + index) for index in range(count)
    ]  # fmt: skip
    return [*made, Message(b"gone", None, timestamp=BASE_MS + count), Message(b"big", b"x" * 5000, timestamp=BASE_MS)]


def check_found(
    reader: str, magic: int, found: Sequence[Stored], expected: Sequence[tuple[Message, int]]
) -> None:
    """What a reader of format `magic` found is what was sent. expected: also the oldest format on each one's way."""
    assert [one.offset for one in found] == list(range(len(expected))), reader
    for one, (message, oldest) in zip(found, expected, strict=True):
        assert (one.message.key, one.message.value) == (message.key, message.value), (reader, one.offset)
        if min(magic, oldest):
            assert one.message.timestamp == message.timestamp, (reader, one.offset)


def write_with_java(
    clients: Sequence[OldJava],
    bootstrap: str,
    topics: Mapping[str, int],
    expected: Mapping[str, list[tuple[Message, int]]],
) -> None:
    """Every client writes to all topics with every codec; `expected` gets what is there then. topics: their formats."""
    for client in clients:
        sent = {
            codec: [(topic, message) for topic in topics for message in messages_of(f"{client.name} {codec}", 10)]
            for codec in OLD_CODECS
        }
        offsets = iter(client.produce(bootstrap, sent))
        for topic, message in (each for codec in OLD_CODECS for each in sent[codec]):
            assert next(offsets) == len(expected[topic])
            expected[topic].append((message, min(client.magic, topics[topic])))

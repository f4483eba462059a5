"""Other people's clients behind one small face, so that every producer can be read by every consumer.

A peer produces a list of messages with a codec and acks, and reads a partition from a start position to its end.
"""

import asyncio
import contextlib
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import aiokafka
import confluent_kafka
import kafka
from aiokafka.structs import TopicPartition as AioPartition

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT_S = 30


class Message(NamedTuple):
    """What must come out as it went in. value None is a tombstone; headers are (name, bytes) pairs."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int = 1_700_000_000_000


class Stored(NamedTuple):
    """A message as it was read back."""

    offset: int
    message: Message


class Peer(Protocol):
    """One client library."""

    name: str

    def produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None: ...

    def consume(self, bootstrap: str, topic: str, *, timestamp: int | None = None) -> list[Stored]:
        """Partition 0 from its start, or from the first record at or after `timestamp`, to its present end."""
        ...


class Confluent:
    """confluent-kafka: librdkafka."""

    name = "confluent-kafka"

    def produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None:
        failures = []
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "compression.type": codec, "acks": acks, "linger.ms": 20}
        )
        for message in messages:
            producer.produce(topic, key=message.key, value=message.value, headers=list(message.headers),
                             timestamp=message.timestamp, partition=0,
                             on_delivery=lambda error, _: failures.append(error) if error else None)  # fmt: skip
        assert producer.flush(TIMEOUT_S) == 0
        assert not failures, failures

    def consume(self, bootstrap: str, topic: str, *, timestamp: int | None = None) -> list[Stored]:
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
        )
        with contextlib.closing(consumer):
            partition = confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)
            _, end = consumer.get_watermark_offsets(partition, timeout=TIMEOUT_S)
            if timestamp is not None:
                asked = confluent_kafka.TopicPartition(topic, 0, timestamp)
                [partition] = consumer.offsets_for_times([asked], timeout=TIMEOUT_S)
            consumer.assign([partition])
            stored: list[Stored] = []
            while not stored or stored[-1].offset < end - 1:
                record = consumer.poll(TIMEOUT_S)
                assert record is not None and record.error() is None, record and record.error()
                headers = tuple((name, value) for name, value in record.headers() or ())
                message = Message(record.key(), record.value(), headers, record.timestamp()[1])
                stored.append(Stored(record.offset(), message))
            return stored


class KafkaPython:
    """kafka-python."""

    name = "kafka-python"

    def produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None:
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all" if acks == -1 else acks, linger_ms=20,
                                       compression_type=None if codec == "none" else codec)  # fmt: skip
        with contextlib.closing(producer):
            sent = [producer.send(topic, key=message.key, value=message.value, headers=list(message.headers),
                                  timestamp_ms=message.timestamp, partition=0) for message in messages]  # fmt: skip
            producer.flush(TIMEOUT_S)
            for future in sent:
                future.get(TIMEOUT_S)

    def consume(self, bootstrap: str, topic: str, *, timestamp: int | None = None) -> list[Stored]:
        consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, check_crcs=True)
        with contextlib.closing(consumer):
            partition = kafka.TopicPartition(topic, 0)
            consumer.assign([partition])
            end = consumer.end_offsets([partition])[partition]
            if timestamp is None:
                consumer.seek_to_beginning(partition)
            else:
                consumer.seek(partition, consumer.offsets_for_times({partition: timestamp})[partition].offset)
            stored: list[Stored] = []
            while consumer.position(partition) < end:
                for records in consumer.poll(timeout_ms=TIMEOUT_S * 1000).values():
                    stored += [_stored(record) for record in records]
            return stored


class AioKafka:
    """aiokafka."""

    name = "aiokafka"

    def produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None:
        async def job() -> None:
            producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all" if acks == -1 else acks,
                                                 linger_ms=20,
                                                 compression_type=None if codec == "none" else codec)  # fmt: skip
            async with producer:
                sent = [await producer.send(topic, key=message.key, value=message.value, partition=0,
                                            headers=list(message.headers), timestamp_ms=message.timestamp)
                        for message in messages]  # fmt: skip
                await asyncio.wait_for(asyncio.gather(*sent), TIMEOUT_S)

        asyncio.run(job())

    def consume(self, bootstrap: str, topic: str, *, timestamp: int | None = None) -> list[Stored]:
        async def job() -> list[Stored]:
            partition = AioPartition(topic, 0)
            # With "earliest" its own look-up on assignment cannot overtake the seek, as "latest" does.
            async with aiokafka.AIOKafkaConsumer(
                bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest"
            ) as consumer:
                consumer.assign([partition])
                end = (await consumer.end_offsets([partition]))[partition]
                if timestamp is not None:
                    found = await consumer.offsets_for_times({partition: timestamp})
                    consumer.seek(partition, found[partition].offset)
                stored: list[Stored] = []
                while not stored or stored[-1].offset < end - 1:
                    batches = await consumer.getmany(partition, timeout_ms=TIMEOUT_S * 1000)
                    stored += [_stored(record) for records in batches.values() for record in records]
                return stored

        return asyncio.run(job())


class Kcat:
    """kcat, a C program: messages go through its text formats, so they must hold no tab, newline or percent sign."""

    name = "kcat"

    def produce(self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str, acks: int) -> None:
        # One run per set of headers, as kcat's headers belong to the run; its time stamps are the clock's.
        start = 0
        while start < len(messages):
            stop = start
            while stop < len(messages) and messages[stop].headers == messages[start].headers:
                stop += 1
            lines = [(message.key or b"") + b"\t" + (message.value or b"") for message in messages[start:stop]]
            headers = [word for name, value in messages[start].headers for word in ("-H", f"{name}={value.decode()}")]
            self._run(["-P", "-b", bootstrap, "-t", topic, "-p", "0", "-K", "\t", "-Z", "-z", codec, *headers,
                       "-X", f"acks={acks}"], b"\n".join(lines) + b"\n")  # fmt: skip
            start = stop

    def consume(self, bootstrap: str, topic: str, *, timestamp: int | None = None) -> list[Stored]:
        start = "beginning" if timestamp is None else f"s@{timestamp}"
        text = self._run(["-C", "-b", bootstrap, "-t", topic, "-p", "0", "-o", start, "-e", "-q",
                          "-X", "check.crcs=true", "-f", r"%o\t%T\t%K\t%k\t%S\t%s\t%h\n"])  # fmt: skip
        return [self._parse(line) for line in text.splitlines()]

    @staticmethod
    def _parse(line: bytes) -> Stored:
        offset, timestamp, key_size, key, value_size, value, headers = line.split(b"\t")
        pairs = [pair.partition(b"=") for pair in headers.split(b",") if pair]
        message = Message(None if key_size == b"-1" else key, None if value_size == b"-1" else value,
                          tuple((name.decode(), text) for name, _, text in pairs), int(timestamp))  # fmt: skip
        return Stored(int(offset), message)

    @staticmethod
    def _run(arguments: list[str], text: bytes = b"") -> bytes:
        done = subprocess.run(["kcat", *arguments], input=text, capture_output=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout


def _stored(record: Any) -> Stored:
    headers = tuple((name, bytes(value)) for name, value in record.headers)
    return Stored(record.offset, Message(record.key, record.value, headers, record.timestamp))


PEERS: tuple[Peer, ...] = (Confluent(), KafkaPython(), AioKafka(), Kcat())

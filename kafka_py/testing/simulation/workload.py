"""The producers of a simulation and the responses that they received: our own ones, with all that may be promised.

A record's value says who sent it and which one it is; records with keys go to compacted topics.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.testing.simulation.cluster import SimulatedCluster

CLOSE_TIMEOUT_S = 500
KEYED_PAUSE_S = 0.05
FILLERS, FILLER_BYTES = 16, 300


class Promise(Enum):
    """How long an acknowledged record stays."""

    ALWAYS = "as long as every election is clean"
    WHILE_LED = "as long as the leader stays the same"
    NEVER = "never"


@dataclass(frozen=True)
class ProducerKind:
    """A way to send. may_repeat: a record may be there twice. may_reorder: a later one may be before it."""

    name: str
    settings: dict[str, str]
    promise: Promise = Promise.ALWAYS
    may_repeat: bool = True
    may_reorder: bool = True


KINDS = {
    kind.name: kind
    for kind in (
        ProducerKind("idempotent", {"acks": "all", "enable.idempotence": "true"}, may_repeat=False, may_reorder=False),
        ProducerKind("one at a time", {"acks": "all", "max.in.flight.requests.per.connection": "1"}, may_reorder=False),
        ProducerKind("all", {"acks": "all"}),
        ProducerKind("leader", {"acks": "1"}, Promise.WHILE_LED),
        ProducerKind("nobody", {"acks": "0"}, Promise.NEVER),
    )
}
SETTINGS = {
    "linger.ms": "5", "batch.size": "200", "request.timeout.ms": "3000", "delivery.timeout.ms": "400000",
    "max.block.ms": "400000", "retry.backoff.ms": "50", "metadata.max.age.ms": "5000", "reconnect.backoff.ms": "20",
    "reconnect.backoff.max.ms": "500",
}  # fmt: skip


class AcknowledgedValue(NamedTuple):
    """A record that was acknowledged. number: among those of its producer. offset: -1 if the broker did not say."""

    number: int
    offset: int
    value: bytes


@dataclass
class Acknowledged:
    """The responses to a producer. failed: by partition, records that were not sent, and why."""

    name: str
    kind: ProducerKind
    values: dict[TopicPartition, list[AcknowledgedValue]] = field(default_factory=dict)
    failed: dict[TopicPartition, list[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.values.values()))

    def note_failed(self, topic_partition: TopicPartition, number: int, error: KafkaError | None) -> None:
        """A record was refused, or timed out."""
        self.failed.setdefault(topic_partition, []).append(f"{topic_partition} {number}: {error}")


def _producer(cluster: SimulatedCluster, settings: dict[str, str], name: str) -> AsyncProducer:
    return AsyncProducer(
        {"bootstrap.servers": cluster.bootstrap, "client.id": name, **SETTINGS, **settings},
        environment=cluster.client_environment(),
    )


class SimulatedLoad:
    """Sends numbered records to every partition until it is stopped. name: of the producer, in each value."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        kind: ProducerKind,
        name: str,
        partitions: Iterable[TopicPartition],
        pause_s: float,
        compression: str = "none",
    ) -> None:
        self.acknowledged = Acknowledged(name, kind)
        self.name = name
        self._partitions = list(partitions)
        self._pause_s = pause_s
        self._stopping = False
        self._producer = _producer(cluster, {**kind.settings, "compression.type": compression}, name)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._send_all())

    def add(self, topic_partition: TopicPartition) -> None:
        """Sends there as well from now on."""
        self._partitions.append(topic_partition)

    async def _send_all(self) -> None:
        number = 0
        while not self._stopping:
            for topic_partition in self._partitions:
                await self._send(topic_partition, number)
                number += 1
            await asyncio.sleep(self._pause_s)

    async def _send(self, topic_partition: TopicPartition, number: int) -> None:
        value = f"{self.name}:{number}".encode()
        try:
            await self._producer.send(
                topic_partition.topic, value, partition=topic_partition.partition,
                callback=partial(self._answered, topic_partition, number, value),
            )  # fmt: skip
        except KafkaError as error:
            self.acknowledged.note_failed(topic_partition, number, error)

    def _answered(
        self, topic_partition: TopicPartition, number: int, value: bytes, metadata: RecordMetadata | None,
        error: KafkaError | None,
    ) -> None:  # fmt: skip
        if metadata is not None:
            told = self.acknowledged.values.setdefault(topic_partition, [])
            told.append(AcknowledgedValue(number, metadata.offset, value))
        else:
            self.acknowledged.note_failed(topic_partition, number, error)

    async def finish(self) -> None:
        """Stops sending, and waits for every response."""
        self._stopping = True
        if self._task is not None:
            await self._task
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await self._producer.flush()
            await self._producer.close()


class KeyedLoad:
    """Sends values and deletions of a few keys to compacted topics, some of which come and go; asks for no answer."""

    def __init__(self, cluster: SimulatedCluster, topics: Iterable[str], rng: random.Random) -> None:
        self._topics = list(topics)
        self._rng = rng
        self._stopping = False
        self._sent = 0
        settings = {"acks": "all", "max.block.ms": "500", "delivery.timeout.ms": "6000"}
        self._producer = _producer(cluster, settings, "keyed")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        while not self._stopping:
            for topic in self._topics:
                key = b"key%d" % (self._sent // 20 + self._rng.randrange(6))  # each has its time, then stays as it is
                await self.send(topic, key, deleted=self._rng.random() < 0.4)
            await asyncio.sleep(KEYED_PAUSE_S)

    async def fill(self, topic: str) -> None:
        """Records of other keys, so large that no segment of theirs is merged with one that holds older records.

        For tombstones go only where the compacted part of the log ends with a segment that is much younger.
        """
        for number in range(FILLERS):
            await self.send(topic, b"filler%d" % (number % 5), padding=b"." * FILLER_BYTES)

    async def send(self, topic: str, key: bytes, *, deleted: bool = False, padding: bytes = b"") -> None:
        """One record, if the topic is there; deleted: a tombstone."""
        self._sent += 1
        try:
            await self._producer.send(topic, None if deleted else b"%d" % self._sent + padding, key, 0)
        except KafkaError:  # absent, or not answered
            return

    async def pause(self) -> None:
        """Stops sending, and waits until every record is answered or has timed out."""
        self._stopping = True
        if self._task is not None:
            await self._task
        await self.flush()

    async def flush(self) -> None:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await self._producer.flush()

    async def close(self) -> None:
        await self._producer.close(0)

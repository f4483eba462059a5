"""The producer of a simulation, and what it was told: it is ours, idempotent and with acks=all."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.testing.simulation.cluster import SimulatedCluster


@dataclass
class Acknowledged:
    """What the producer was told. values: by partition, (sending number, offset, value)."""

    values: dict[TopicPartition, list[tuple[int, int, bytes]]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(map(len, self.values.values()))


class Load:
    """Sends numbered records to every partition until told to stop."""

    def __init__(self, cluster: SimulatedCluster, partitions: list[TopicPartition], pause_s: float) -> None:
        self.acknowledged = Acknowledged()
        self._partitions = list(partitions)
        self._pause_s = pause_s
        self._stopping = False
        self._producer = AsyncProducer(
            {
                "bootstrap.servers": cluster.bootstrap, "acks": "all", "enable.idempotence": "true", "linger.ms": "5",
                "batch.size": "200", "request.timeout.ms": "3000", "delivery.timeout.ms": "400000",
                "max.block.ms": "400000", "retry.backoff.ms": "50", "metadata.max.age.ms": "5000",
                "reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "500",
            },
            clock=cluster.brokers[0].clock,
            connect=cluster.connector("producer"),
        )  # fmt: skip
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
        value = b"%d" % number
        try:
            await self._producer.send(
                topic_partition.topic, value, partition=topic_partition.partition,
                callback=partial(self._answered, topic_partition, number, value),
            )  # fmt: skip
        except KafkaError as error:
            self.acknowledged.failed.append(f"{topic_partition} {number}: {error}")

    def _answered(
        self, topic_partition: TopicPartition, number: int, value: bytes, metadata: RecordMetadata | None,
        error: KafkaError | None,
    ) -> None:  # fmt: skip
        if metadata is not None:
            told = self.acknowledged.values.setdefault(topic_partition, [])
            told.append((number, metadata.offset, value))
        else:
            self.acknowledged.failed.append(f"{topic_partition} {number}: {error}")

    async def finish(self) -> None:
        """Sends no more, and waits for every answer."""
        self._stopping = True
        if self._task is not None:
            await self._task
        async with asyncio.timeout(500):
            await self._producer.flush()
            await self._producer.close()

"""What clients do in a simulation, and what they remember: acknowledged records, and records seen.

The producer is ours, idempotent and with acks=all; the reader is a bare fetch loop over all partitions, which asks
whichever broker it believes to lead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.net.client import BrokerConnection, ConnectionLost
from kafka_py.records.batch import decode_records, iter_headers
from kafka_py.testing.simulation.cluster import PORT, SimulatedCluster
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

FETCH_VERSION = 11
METADATA_VERSION = 9


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


class Reader:
    """Reads every partition from wherever it leads now; remembers each record it saw and every oddity."""

    def __init__(
        self, cluster: SimulatedCluster, partitions: list[TopicPartition], report: Callable[[str], None]
    ) -> None:
        self.seen: dict[TopicPartition, dict[int, bytes]] = {each: {} for each in partitions}
        self._cluster = cluster
        self._positions: dict[TopicPartition, int] = dict.fromkeys(partitions, 0)
        self._leaders: dict[TopicPartition, str] = {}
        self._wires: dict[str, BrokerConnection] = {}
        self._report = report
        self._task: asyncio.Task[None] | None = None
        self._asked = 0

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._read_on())

    def add(self, topic_partition: TopicPartition) -> None:
        """Reads it as well from now on."""
        self.seen[topic_partition] = {}
        self._positions[topic_partition] = 0

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for wire in self._wires.values():
            wire.close()

    async def _read_on(self) -> None:
        while True:
            for topic_partition in list(self._positions):
                try:
                    async with asyncio.timeout(2):
                        await self._read(topic_partition)
                except (ConnectionLost, TimeoutError, OSError):
                    self._leaders.pop(topic_partition, None)
            await asyncio.sleep(0.1)

    async def _read(self, topic_partition: TopicPartition) -> None:
        leader = self._leaders.get(topic_partition)
        if leader is None:
            await self._look_up()
            return
        asked = FetchPartition(
            partition=topic_partition.partition, fetch_offset=self._positions[topic_partition],
            partition_max_bytes=1 << 20,
        )  # fmt: skip
        topic = FetchTopic(topic=topic_partition.topic, partitions=[asked])
        request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, topics=[topic])
        wire = await self._wire(leader)
        response = await wire.send(request, FETCH_VERSION)
        self._take(topic_partition, response.responses[0].partition_responses[0], leader)

    def _take(self, topic_partition: TopicPartition, answer: Any, leader: str) -> None:
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            position = self._positions[topic_partition]
            self._report(f"{topic_partition}: {leader} says that position {position} is out of range")
        if answer.error_code:
            self._leaders.pop(topic_partition, None)
            return
        records = answer.records
        if not records:
            return
        seen = self.seen[topic_partition]
        for position, header in iter_headers(records):
            for record in decode_records(records, position):
                if record.offset in seen and seen[record.offset] != record.value:
                    self._report(f"{topic_partition}: offset {record.offset} changed its record")
                seen[record.offset] = record.value or b""
            self._positions[topic_partition] = max(self._positions[topic_partition], header.next_offset)
        held = self._cluster.held_in_sync(topic_partition)
        if held is not None and self._positions[topic_partition] > held:
            position = self._positions[topic_partition]
            self._report(f"{topic_partition}: {leader} let a reader have up to {position}, committed is up to {held}")

    async def _wire(self, host: str) -> BrokerConnection:
        wire = self._wires.get(host)
        if wire is None or wire.closed:
            wire = self._wires[host] = await self._cluster.connect(host, PORT, 1000, "reader")
        return wire

    async def _look_up(self) -> None:
        brokers = self._cluster.brokers
        self._asked += 1
        wire = await self._wire(brokers[self._asked % len(brokers)].name)
        topics = sorted({each.topic for each in self._positions})
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic) for topic in topics])
        response = await wire.send(request, METADATA_VERSION)
        names = {broker.node_id: broker.host for broker in response.brokers}
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.leader_id in names:
                    self._leaders[TopicPartition(topic.name, partition.partition_index)] = names[partition.leader_id]

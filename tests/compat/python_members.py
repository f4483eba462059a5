"""Members of consumer groups by other people's Python libraries, all with one face: `assigned`, `seen`, `stop`.

Each reads in a thread of its own and commits what it has read. Leaving the context leaves the group.
"""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Any, ClassVar, Self

import aiokafka
import confluent_kafka
import kafka

TIMEOUT_S = 60
SESSION_MS = 6000
HEARTBEAT_MS = 200


class PythonMember:
    """assigned: partition numbers; seen: (partition, offset) of what it has read."""

    name: ClassVar[str]

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self.assigned: set[int] = set()
        self.seen: list[tuple[int, int]] = []
        self.error: BaseException | None = None
        self._stopping = threading.Event()
        self._place = (bootstrap, group, topic)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.read(*self._place)
        except BaseException as error:
            self.error = error
        self.assigned = set()

    def read(self, bootstrap: str, group: str, topic: str) -> None:
        raise TypeError("which library?")

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive(), f"{self.name} does not end"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Confluent(PythonMember):
    """librdkafka."""

    name = "confluent-kafka"

    def read(self, bootstrap: str, group: str, topic: str) -> None:
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
            "enable.auto.commit": True, "auto.commit.interval.ms": 100, "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS, "partition.assignment.strategy": "range",
        })  # fmt: skip
        consumer.subscribe([topic])
        while not self._stopping.is_set():
            record = consumer.poll(0.1)
            self.assigned = {each.partition for each in consumer.assignment()}
            if record is not None and record.error() is None:
                self.seen.append((record.partition(), record.offset()))
        consumer.close()


class KafkaPython(PythonMember):
    """kafka-python."""

    name = "kafka-python"

    def read(self, bootstrap: str, group: str, topic: str) -> None:
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        consumer = kafka.KafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
            auto_commit_interval_ms=100, session_timeout_ms=SESSION_MS, heartbeat_interval_ms=HEARTBEAT_MS,
            partition_assignment_strategy=[RangePartitionAssignor],
        )  # fmt: skip
        while not self._stopping.is_set():
            for records in consumer.poll(100).values():
                self.seen += [(record.partition, record.offset) for record in records]
            self.assigned = {each.partition for each in consumer.assignment()}
        consumer.close()


class Aiokafka(PythonMember):
    """aiokafka."""

    name = "aiokafka"

    def read(self, bootstrap: str, group: str, topic: str) -> None:
        asyncio.run(self._read(bootstrap, group, topic))

    async def _read(self, bootstrap: str, group: str, topic: str) -> None:
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor

        consumer: Any = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
            auto_commit_interval_ms=100, session_timeout_ms=SESSION_MS, heartbeat_interval_ms=HEARTBEAT_MS,
            partition_assignment_strategy=(RangePartitionAssignor,),
        )  # fmt: skip
        await consumer.start()
        try:
            while not self._stopping.is_set():
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    self.seen += [(record.partition, record.offset) for record in records]
                self.assigned = {each.partition for each in consumer.assignment()}
        finally:
            await consumer.stop()


LIBRARIES = (Confluent, KafkaPython, Aiokafka)

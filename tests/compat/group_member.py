"""A program that is one member of a consumer group, by a client library of choice; group_members.py runs it.

Arguments: the library (confluent-kafka, kafka-python, aiokafka), and the settings as JSON: bootstrap, group, topic,
strategy, instance (or null), session_ms, heartbeat_ms, max_poll_ms.

Writes a line for whatever happens: `assigned` and all partitions it has now, `revoked` and those it gave up, `record`
and the value (then commits), `paused`, `closed`. Reads commands: `pause` (it stops polling), `resume`, `close`.
GroupMember.java does the same.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Iterable
from typing import Any

import aiokafka
import aiokafka.abc
import aiokafka.coordinator.assignors.range
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors

POLL_S = 0.05
BATCH = 10


def tell(*words: object) -> None:
    print(*words, flush=True)


class Commands:
    """What the test wants, read by a thread of its own."""

    def __init__(self) -> None:
        self.is_paused = False
        self.is_closed = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            command = line.strip()
            if command == "close":
                break
            self.is_paused = command == "pause"
            if self.is_paused:
                tell("paused")
        self.is_paused = False
        self.is_closed = True


class Assignment:
    """The partitions that a member has; every change of it is told."""

    def __init__(self) -> None:
        self.partitions: set[int] = set()

    def got(self, partitions: Iterable[Any]) -> None:
        self.partitions |= {each.partition for each in partitions}
        tell("assigned", *sorted(self.partitions))

    def lost(self, partitions: Iterable[Any]) -> None:
        gone = {each.partition for each in partitions}
        self.partitions -= gone
        if gone:
            tell("revoked", *sorted(gone))


def run_confluent(settings: dict[str, Any], commands: Commands) -> None:
    config = {
        "bootstrap.servers": settings["bootstrap"],
        "group.id": settings["group"],
        "partition.assignment.strategy": settings["strategy"],
        "session.timeout.ms": settings["session_ms"],
        "heartbeat.interval.ms": settings["heartbeat_ms"],
        "max.poll.interval.ms": settings["max_poll_ms"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 2,
    }
    if settings["instance"] is not None:
        config["group.instance.id"] = settings["instance"]
    assignment = Assignment()
    consumer = confluent_kafka.Consumer(config)
    consumer.subscribe(
        [settings["topic"]],
        on_assign=lambda _, partitions: assignment.got(partitions),
        on_revoke=lambda _, partitions: assignment.lost(partitions),
        on_lost=lambda _, partitions: assignment.lost(partitions),
    )
    while not commands.is_closed:
        if commands.is_paused:
            threading.Event().wait(POLL_S)
            continue
        try:
            messages = consumer.consume(BATCH, POLL_S)
        except confluent_kafka.KafkaException as error:  # it polled too late, and joins again
            tell("failed", error)
            continue
        values = [message.value().decode() for message in messages if message.error() is None]
        for value in values:
            tell("record", value)
        if values:
            try:
                consumer.commit(asynchronous=False)
            except confluent_kafka.KafkaException as error:
                tell("failed", error)
    consumer.close()


def run_kafka_python(settings: dict[str, Any], commands: Commands) -> None:
    assignment = Assignment()

    class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: Any) -> None:
            assignment.lost(revoked)

        def on_partitions_assigned(self, assigned: Any) -> None:
            assignment.got(assigned)

    given = {} if settings["instance"] is None else {"group_instance_id": settings["instance"]}
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=settings["bootstrap"],
        group_id=settings["group"],
        session_timeout_ms=settings["session_ms"],
        heartbeat_interval_ms=settings["heartbeat_ms"],
        max_poll_interval_ms=settings["max_poll_ms"],
        max_poll_records=BATCH,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **given,
    )
    consumer.subscribe([settings["topic"]], listener=Listener())
    while not commands.is_closed:
        if commands.is_paused:
            threading.Event().wait(POLL_S)
            continue
        found = consumer.poll(timeout_ms=int(POLL_S * 1000))
        for records in found.values():
            for record in records:
                tell("record", record.value.decode())
        if found:
            try:
                consumer.commit()
            except kafka.errors.KafkaError as error:
                tell("failed", repr(error))
    consumer.close()


async def run_aiokafka(settings: dict[str, Any], commands: Commands) -> None:
    assignment = Assignment()

    class Listener(aiokafka.abc.ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Any) -> None:
            assignment.lost(revoked)

        def on_partitions_assigned(self, assigned: Any) -> None:
            assignment.got(assigned)

    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=settings["bootstrap"],
        group_id=settings["group"],
        group_instance_id=settings["instance"],
        partition_assignment_strategy=(aiokafka.coordinator.assignors.range.RangePartitionAssignor,),
        session_timeout_ms=settings["session_ms"],
        heartbeat_interval_ms=settings["heartbeat_ms"],
        max_poll_interval_ms=settings["max_poll_ms"],
        rebalance_timeout_ms=settings["max_poll_ms"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([settings["topic"]], listener=Listener())
    await consumer.start()
    while not commands.is_closed:
        if commands.is_paused:
            await asyncio.sleep(POLL_S)
            continue
        found = await consumer.getmany(timeout_ms=int(POLL_S * 1000), max_records=BATCH)
        for records in found.values():
            for record in records:
                tell("record", record.value.decode())
        if found:
            try:
                await consumer.commit()
            except aiokafka.errors.KafkaError as error:
                tell("failed", repr(error))
    await consumer.stop()


def main(library: str, settings: dict[str, Any]) -> None:
    commands = Commands()
    if library == "confluent-kafka":
        run_confluent(settings, commands)
    elif library == "kafka-python":
        run_kafka_python(settings, commands)
    else:
        asyncio.run(run_aiokafka(settings, commands))
    tell("closed")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))

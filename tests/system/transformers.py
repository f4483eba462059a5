"""Consume, transform, produce: one partition copied in transactions by one client library, until the process is killed.

    python transformers.py LIBRARY BOOTSTRAP INPUT OUTPUT PARTITION

Each transaction copies what one poll gave and commits the offsets of the group with it; about one in eight is aborted,
and its input read again. Any error ends the process with exit code 1 and the error on its last line: whoever runs it
starts it again, as a supervisor does, and the new incarnation fences the old one. So does a transaction that takes
longer than half a minute: kafka-python 3.0 drops a request whose coordinator refuses the connection, and waits for it
without end, whoever's broker that is.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import Callable
from typing import NamedTuple

MOST_RECORDS = 500
TRANSACTION_TIMEOUT_MS = 15_000
ABORTED = 0.125
POLL_S = 0.2
START_S = 60
TRANSACTION_S = 30
"""Then SIGALRM ends the process."""


class Task(NamedTuple):
    """What is copied. name: of the group and of the transactional id."""

    bootstrap: str
    source: str
    target: str
    partition: int
    name: str


def confluent_kafka_worker(task: Task) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    consumer = Consumer({
        "bootstrap.servers": task.bootstrap, "group.id": task.name, "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "isolation.level": "read_committed",
    })  # fmt: skip
    producer = Producer({
        "bootstrap.servers": task.bootstrap, "transactional.id": task.name, "linger.ms": 2,
        "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS, "reconnect.backoff.max.ms": 300,
    })  # fmt: skip
    producer.init_transactions(START_S)
    source = TopicPartition(task.source, task.partition)

    def rewind() -> None:
        [committed] = consumer.committed([source], timeout=START_S)
        start = max(committed.offset, 0)
        consumer.assign([TopicPartition(task.source, task.partition, start)])

    rewind()
    while True:
        signal.alarm(0)
        records = [each for each in consumer.consume(MOST_RECORDS, POLL_S) if each.error() is None]
        if not records:
            continue
        signal.alarm(TRANSACTION_S)
        producer.begin_transaction()
        for record in records:
            producer.produce(task.target, record.value(), partition=task.partition)
        if random.random() < ABORTED:
            producer.abort_transaction()
            rewind()
            continue
        following = TopicPartition(task.source, task.partition, records[-1].offset() + 1)
        producer.send_offsets_to_transaction([following], consumer.consumer_group_metadata())
        producer.commit_transaction()


def kafka_python_worker(task: Task) -> None:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.structs import OffsetAndMetadata

    consumer = KafkaConsumer(
        bootstrap_servers=task.bootstrap, group_id=task.name, enable_auto_commit=False, auto_offset_reset="earliest",
        isolation_level="read_committed", max_poll_records=MOST_RECORDS,
    )
    producer = KafkaProducer(
        bootstrap_servers=task.bootstrap, transactional_id=task.name, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        linger_ms=2,
    )
    producer.init_transactions()
    source = TopicPartition(task.source, task.partition)
    consumer.assign([source])

    def rewind() -> None:
        consumer.seek(source, consumer.committed(source) or 0)

    rewind()
    while True:
        signal.alarm(0)
        records = consumer.poll(timeout_ms=int(POLL_S * 1000)).get(source, [])
        if not records:
            continue
        signal.alarm(TRANSACTION_S)
        producer.begin_transaction()
        sent = [producer.send(task.target, record.value, partition=task.partition) for record in records]
        if random.random() < ABORTED:
            producer.abort_transaction()
            rewind()
            continue
        for each in sent:
            each.get(timeout=START_S)
        offsets = {source: OffsetAndMetadata(records[-1].offset + 1, "", -1)}
        producer.send_offsets_to_transaction(offsets, task.name)
        producer.commit_transaction()


def aiokafka_worker(task: Task) -> None:
    """aiokafka 0.14 takes an error of a whole OffsetFetch response, as NOT_COORDINATOR, for "nothing is committed", and
    would begin again at 0: librdkafka is asked where to begin.
    """
    asyncio.run(_aiokafka(task, _committed(task)))


def _committed(task: Task) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({
        "bootstrap.servers": task.bootstrap, "group.id": task.name, "isolation.level": "read_committed",
    })  # fmt: skip
    [committed] = consumer.committed([TopicPartition(task.source, task.partition)], timeout=START_S)
    consumer.close()
    if committed.error is not None:
        raise RuntimeError(str(committed.error))
    return max(committed.offset, 0)


async def _aiokafka(task: Task, start: int) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    consumer = AIOKafkaConsumer(
        bootstrap_servers=task.bootstrap, group_id=task.name, enable_auto_commit=False, auto_offset_reset="earliest",
        isolation_level="read_committed", max_poll_records=MOST_RECORDS,
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=task.bootstrap, transactional_id=task.name, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        linger_ms=2,
    )
    await asyncio.wait_for(producer.start(), START_S)
    await asyncio.wait_for(consumer.start(), START_S)
    source = TopicPartition(task.source, task.partition)
    consumer.assign([source])
    consumer.seek(source, start)
    while True:
        signal.alarm(0)
        records = (await consumer.getmany(source, timeout_ms=int(POLL_S * 1000))).get(source, [])
        if not records:
            continue
        signal.alarm(TRANSACTION_S)
        await producer.begin_transaction()
        sent = [await producer.send(task.target, record.value, partition=task.partition) for record in records]
        if random.random() < ABORTED:
            await producer.abort_transaction()
            consumer.seek(source, records[0].offset)
            continue
        await asyncio.gather(*sent)
        await producer.send_offsets_to_transaction({source: records[-1].offset + 1}, task.name)
        await producer.commit_transaction()


def kafka_py_worker(task: Task) -> None:
    from kafka_py.base.ids import TopicPartition
    from kafka_py.clients import Consumer, Producer

    consumer = Consumer({
        "bootstrap.servers": task.bootstrap, "group.id": task.name, "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "isolation.level": "read_committed", "max.poll.records": MOST_RECORDS,
    })  # fmt: skip
    producer = Producer({
        "bootstrap.servers": task.bootstrap, "transactional.id": task.name, "linger.ms": 2,
        "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS, "reconnect.backoff.max.ms": 300,
    })  # fmt: skip
    producer.init_transactions()
    source = TopicPartition(task.source, task.partition)
    consumer.assign([source])

    def rewind() -> None:
        committed = consumer.committed([source]).get(source)
        consumer.seek(source, committed.offset if committed is not None else 0)

    rewind()
    while True:
        signal.alarm(0)
        records = list(consumer.poll(POLL_S))
        if not records:
            continue
        signal.alarm(TRANSACTION_S)
        producer.begin_transaction()
        for record in records:
            producer.send(task.target, record.value, partition=task.partition)
        if random.random() < ABORTED:
            producer.abort_transaction()
            rewind()
            continue
        producer.send_offsets_to_transaction({source: records[-1].offset + 1}, consumer.group_metadata())
        producer.commit_transaction()


WORKERS: dict[str, Callable[[Task], None]] = {
    "confluent-kafka": confluent_kafka_worker,
    "kafka-python": kafka_python_worker,
    "aiokafka": aiokafka_worker,
    "kafka_py": kafka_py_worker,
}


def main() -> None:
    library, bootstrap, source, target, partition = sys.argv[1:]
    WORKERS[library](Task(bootstrap, source, target, int(partition), f"copy-{target}-{partition}"))


if __name__ == "__main__":
    main()

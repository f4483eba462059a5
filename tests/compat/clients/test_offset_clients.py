"""Commits of other people's consumers outlive a kill -9 of the coordinator; each reads what the others committed."""

import asyncio
from collections.abc import Callable

import confluent_kafka
import kafka
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from kafka_py.testing.broker import BrokerProcess

TIMEOUT_S = 60.0
Commit = Callable[[str, str, str, int, str], None]
"""(bootstrap, group, topic, offset, metadata): commits partition 1, and reads it back."""


def by_confluent(bootstrap: str, group: str, topic: str, offset: int, metadata: str) -> None:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
    )
    wanted = confluent_kafka.TopicPartition(topic, 1, offset, metadata)
    [done] = consumer.commit(offsets=[wanted], asynchronous=False)
    assert done.error is None
    assert read(bootstrap, group, topic) == (offset, metadata)
    consumer.close()


def by_kafka_python(bootstrap: str, group: str, topic: str, offset: int, metadata: str) -> None:
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    where = kafka.TopicPartition(topic, 1)
    consumer.assign([where])
    consumer.commit({where: kafka.OffsetAndMetadata(offset, metadata, -1)})
    found = consumer.committed(where, metadata=True)
    assert (found.offset, found.metadata) == (offset, metadata)
    consumer.close()


def by_aiokafka(bootstrap: str, group: str, topic: str, offset: int, metadata: str) -> None:
    async def commit() -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        where = TopicPartition(topic, 1)
        consumer.assign([where])
        await consumer.commit({where: OffsetAndMetadata(offset, metadata)})
        assert await consumer.committed(where) == offset
        await consumer.stop()

    asyncio.run(commit())


def read(bootstrap: str, group: str, topic: str) -> tuple[int, str]:
    """As librdkafka sees it."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    [found] = consumer.committed([confluent_kafka.TopicPartition(topic, 1)], timeout=TIMEOUT_S)
    consumer.close()
    assert found.error is None
    return found.offset, found.metadata or ""


@pytest.fixture
def topic(broker_process: BrokerProcess) -> str:
    broker_process.create_topic("read", 2)
    return "read"


def test_every_acknowledged_commit_outlives_a_kill(broker_process: BrokerProcess, topic: str) -> None:
    committers: list[Commit] = [by_confluent, by_kafka_python, by_aiokafka]
    for number, commit in enumerate(committers):
        commit(broker_process.bootstrap, f"own-{number}", topic, 10 + number, f"note {number}")
        commit(broker_process.bootstrap, "shared", topic, 20 + number, "")
    broker_process.kill()
    broker_process.start()
    for number in range(len(committers)):
        assert read(broker_process.bootstrap, f"own-{number}", topic) == (10 + number, f"note {number}")
    assert read(broker_process.bootstrap, "shared", topic) == (20 + len(committers) - 1, "")
    assert read(broker_process.bootstrap, "nobody", topic) == (confluent_kafka.OFFSET_INVALID, "")

"""What was handed out is what is committed: our consumers against real brokers, ours and Apache's."""

import asyncio
import random

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AdminClient, AsyncConsumer, Consumer, ConsumerRecord, NewTopic, Producer
from kafka_py.testing.interrupts import interrupts
from kafka_py.testing.processes import wait_until

PARTITIONS = 3
HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def bootstrap(broker_of_each_make: str) -> str:
    """Where clients find a broker that the tests of this module share: one of ours, then Apache's."""
    return broker_of_each_make


class Reading:
    """A topic, a group of its own, and what the application got: each record once, in order."""

    def __init__(self, bootstrap: str, name: str, count: int) -> None:
        self.name = name
        self.count = count
        self.settings = {
            "bootstrap.servers": bootstrap, "group.id": name, "auto.offset.reset": "earliest", "max.poll.records": 20,
            "fetch.max.wait.ms": 5, "auto.commit.interval.ms": 20,
        }  # fmt: skip
        self.handed = dict.fromkeys((TopicPartition(name, number) for number in range(PARTITIONS)), 0)
        with AdminClient({"bootstrap.servers": bootstrap}) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, 1)]).all()
        with Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.size": 1000}) as producer:
            for number in range(count):
                producer.send(name, b"%d" % number, partition=number % PARTITIONS)

    def note(self, *records: ConsumerRecord) -> None:
        for record in records:
            assert record.offset == self.handed[record.topic_partition]
            self.handed[record.topic_partition] += 1

    @property
    def is_done(self) -> bool:
        return sum(self.handed.values()) == self.count

    def committed(self) -> dict[TopicPartition, int]:
        with AdminClient({"bootstrap.servers": self.settings["bootstrap.servers"]}) as admin:
            found = admin.list_consumer_group_offsets(self.name).all()
        return {partition: each.offset for partition, each in found.items() if each is not None}


def test_polls_and_iterations_that_time_out_at_random_lose_nothing(bootstrap: str) -> None:
    reading, draw = Reading(bootstrap, "timed-out", 6_000), random.Random(1)

    async def run() -> int:
        timeouts = 0
        async with AsyncConsumer(reading.settings) as consumer, asyncio.timeout(120):
            await consumer.subscribe([reading.name])
            while sum(reading.handed.values()) < 5_000:
                try:
                    async with asyncio.timeout(draw.uniform(0.0001, 0.006)):
                        if draw.random() < 0.5:
                            reading.note(*await consumer.poll(5))
                        else:
                            async for record in consumer:
                                reading.note(record)
                                if draw.random() < 0.1:
                                    break
                except TimeoutError:
                    timeouts += 1
        return timeouts

    assert asyncio.run(run()) > 20
    assert reading.committed() == reading.handed


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # an interrupt before the call had begun
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_polls_that_are_interrupted_at_random_lose_nothing(bootstrap: str) -> None:
    reading, draw = Reading(bootstrap, "interrupted", 4_000), random.Random(1)
    with interrupts() as interrupt, Consumer(reading.settings) as consumer:
        consumer.subscribe([reading.name])
        while sum(reading.handed.values()) < 3_500:
            records: tuple[ConsumerRecord, ...] = ()
            try:
                interrupt.within(draw.uniform(1e-5, 1e-3))
                try:
                    records = consumer.poll(1.0)  # type: ignore[assignment]
                finally:
                    interrupt.armed = False
            except KeyboardInterrupt:
                pass
            reading.note(*records)
    assert interrupt.raised > 20
    assert reading.committed() == reading.handed


def test_a_member_commits_what_it_has_read_before_another_gets_its_partitions(bootstrap: str) -> None:
    """W7.18, S3-033: the automatic commit of a rejoin, long before its interval or the end would bring one."""
    reading = Reading(bootstrap, "rejoin", 900)
    settings = {**reading.settings, "auto.commit.interval.ms": HOUR_MS, "heartbeat.interval.ms": 100}
    with Consumer(settings) as first, Consumer(settings) as second:
        first.subscribe([reading.name])

        def read() -> bool:
            reading.note(*first.poll(0.1))
            return reading.is_done

        wait_until(read, 60, "everything read")
        assert reading.committed() == {}
        second.subscribe([reading.name])

        def shared() -> bool:
            reading.note(*first.poll(0.05))
            reading.note(*second.poll(0.05))
            return bool(second.assignment()) and len(first.assignment()) < PARTITIONS

        wait_until(shared, 60, "partitions shared")
        assert reading.committed() == reading.handed

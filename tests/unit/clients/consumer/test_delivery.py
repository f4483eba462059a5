"""What an application has not been handed is neither lost nor committed, however a poll or an iteration ends."""

import asyncio
import contextlib
import random

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AsyncConsumer, Consumer, ConsumerInterceptor, ConsumerRecord, ConsumerRecords, WakeupError
from kafka_py.clients.consumer.delivery import Delivery, Returned
from kafka_py.clients.consumer.subscriptions import AssignedPartition
from kafka_py.records.batch import TimestampType
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.interrupts import Interrupts, interrupts
from kafka_py.testing.virtual_time import run_virtual, virtual_clock

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
GROUP = "g"
SETTINGS = {
    "bootstrap.servers": "h:9092", "group.id": GROUP, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 1,
    "max.poll.records": 7, "max.partition.fetch.bytes": 400, "fetch.max.wait.ms": 2, "retry.backoff.ms": 1,
}  # fmt: skip


class World:
    """A cluster with a topic of two partitions, and what the application has been handed of it."""

    def __init__(self, seed: int = 1, delay_s: float = 0.0, **settings: object) -> None:
        self.draw = random.Random(seed)
        self.cluster = MemoryCluster()
        self.cluster.create_topic("t", 2)
        self.wires = MemoryWires(self.cluster, lambda: self.draw.random() * delay_s)
        self.settings = {**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}}
        self.handed = {A: 0, B: 0}
        """The offset after the last record that the application got, by partition."""

    def append(self, count: int, partition: TopicPartition | None = None) -> None:
        """A batch of so many records in each partition, or in one."""
        for each in (A, B) if partition is None else (partition,):
            builder = BatchBuilder()
            for number in range(count):
                builder.append(number, None, b"x", ())
            self.cluster.partitions[each].append(builder.build())

    def note(self, *records: ConsumerRecord) -> None:
        """The application got these. Fails for one that is lost, or comes twice."""
        for record in records:
            partition = record.topic_partition
            assert record.offset == self.handed[partition]
            self.handed[partition] += 1

    def committed(self) -> dict[TopicPartition, int]:
        group = self.cluster.groups.get(GROUP)
        return {} if group is None else {each: offset for each, (offset, _) in group.offsets.items()}

    def check_commits(self) -> None:
        """Nothing is committed that the application did not get."""
        for partition, offset in self.committed().items():
            assert offset <= self.handed[partition]

    def topped_up(self) -> None:
        """Keeps some records ahead of the application, and not many behind it."""
        for partition, handed in self.handed.items():
            if self.cluster.partitions[partition].end_offset < handed + 20:
                self.append(self.draw.randint(1, 12), partition)
                del self.cluster.partitions[partition].batches[:-40]

    def async_consumer(self) -> AsyncConsumer:
        return AsyncConsumer(self.settings, environment=self.wires.environment(virtual_clock()))


# A cancelled poll, for asyncio


async def _cancelled_after(turns: int, consumer: AsyncConsumer, world: World) -> None:
    """A poll in a task of its own, cancelled after some turns of the loop."""

    async def poll() -> None:
        world.note(*await consumer.poll(1.0))

    task = asyncio.ensure_future(poll())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await task


async def _timed_out(timeout_s: float, consumer: AsyncConsumer, world: World) -> None:
    async with asyncio.timeout(timeout_s):
        world.note(*await consumer.poll(1.0))


async def _waited_for(timeout_s: float, consumer: AsyncConsumer, world: World) -> None:
    world.note(*await asyncio.wait_for(consumer.poll(1.0), timeout_s))


async def _woken(turns: int, consumer: AsyncConsumer, world: World) -> None:
    loop = asyncio.get_running_loop()
    loop.call_later(turns / 10_000, consumer.wakeup)
    with contextlib.suppress(WakeupError):
        for _ in range(100):
            world.note(*await consumer.poll(1.0))
        await asyncio.sleep(1.0)
        await consumer.poll(1.0)
    raise TimeoutError


async def _iterated(world: World, consumer: AsyncConsumer, timeout_s: float) -> None:
    """An iteration left by `break`, with a commit in its body, or by a time-out."""
    leave_after, commit_after = world.draw.randint(1, 10), world.draw.randint(1, 20)
    async with asyncio.timeout(timeout_s):
        count = 0
        async for record in consumer:
            world.note(record)
            count += 1
            if count == commit_after:
                await consumer.commit()
                assert world.committed()[record.topic_partition] == record.offset + 1
            if count == leave_after:
                break


async def _cancel_often(world: World, wanted: int) -> None:
    cancelled, draw = 0, world.draw
    async with world.async_consumer() as consumer:
        await consumer.assign([A, B])
        records = aiter(consumer)
        while cancelled < wanted:
            world.topped_up()
            timeout_s = draw.random() * 0.003
            try:
                match draw.randrange(6):
                    case 0:
                        await _cancelled_after(draw.randrange(12), consumer, world)
                    case 1:
                        await _timed_out(timeout_s, consumer, world)
                    case 2:
                        await _waited_for(timeout_s, consumer, world)
                    case 3:
                        await _woken(draw.randrange(20), consumer, world)
                    case 4:
                        await _iterated(world, consumer, timeout_s)
                    case 5:
                        world.note(await asyncio.wait_for(anext(records), timeout_s))
            except (TimeoutError, asyncio.CancelledError):
                cancelled += 1
            for partition, handed in world.handed.items():
                assert await consumer.position(partition) == handed
            world.check_commits()
    assert world.committed() == world.handed


@pytest.mark.parametrize("seed", range(4))
def test_random_cancellations_lose_nothing_and_commit_nothing_that_was_not_handed_out(seed: int) -> None:
    world = World(seed, delay_s=0.001)
    run_virtual(_cancel_often(world, 2_000))
    assert sum(world.handed.values()) > 2_000


# An interrupted poll, for blocking code


def _polled(consumer: Consumer, world: World, interrupt: Interrupts) -> None:
    records: ConsumerRecords | tuple[ConsumerRecord, ...] = ()
    try:
        interrupt.within(world.draw.uniform(1e-6, 1e-3))
        try:
            records = consumer.poll(0.01)
        finally:
            interrupt.armed = False
    except KeyboardInterrupt:
        pass
    world.note(*records)


def _iterated_blocking(consumer: Consumer, world: World, interrupt: Interrupts) -> None:
    """Ends by an interrupt, or by `break`; the body commits now and then."""
    leave_after, commit_after = world.draw.randint(1, 10), world.draw.randint(1, 20)
    seen: list[ConsumerRecord] = []
    record: ConsumerRecord | None = None
    try:
        interrupt.within(world.draw.uniform(1e-6, 1e-3))
        for record in consumer:
            seen.append(record)
            if len(seen) == commit_after:
                consumer.commit()
            if len(seen) == leave_after:
                break
        interrupt.armed = False
    except KeyboardInterrupt:
        if record is not None and (not seen or seen[-1] is not record):
            seen.append(record)  # handed out, and the interrupt came before the first statement of the body
    world.note(*seen)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # an interrupt before the call had begun
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_random_interrupts_of_a_blocking_consumer_lose_nothing() -> None:
    world = World(5)
    with interrupts() as interrupt, Consumer(world.settings, environment=world.wires.environment()) as consumer:
        consumer.assign([A, B])
        while interrupt.raised < 2_000:
            world.topped_up()
            doing = world.draw.choice([_polled, _iterated_blocking])
            doing(consumer, world, interrupt)
            for partition, handed in world.handed.items():
                assert consumer.position(partition) == handed
            world.check_commits()
    assert world.committed() == world.handed
    assert sum(world.handed.values()) > 2_000


# What counts as handed out


class KeepEven(ConsumerInterceptor):
    """Leaves out every other record."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        kept = {}
        for partition in records.partitions():
            kept[partition] = [each for each in records.records(partition) if each.offset % 2 == 0]
        return ConsumerRecords(kept)


def _committed_after(world: World, take: int) -> dict[TopicPartition, int]:
    """What is committed once the application has taken so many records from an iteration, and closed the consumer."""

    async def run() -> None:
        async with world.async_consumer() as consumer:
            await consumer.assign([A])
            count = 0
            async for _record in consumer:
                count += 1
                if count == take:
                    break

    run_virtual(run())
    return world.committed()


def test_an_iteration_left_early_commits_what_it_gave() -> None:
    world = World(max_poll_records=500)
    world.append(300)
    assert _committed_after(world, 1) == {A: 1}


def test_what_an_interceptor_leaves_out_counts_as_handed_out_with_the_record_after_it() -> None:
    world = World(max_poll_records=500, interceptor_classes=[KeepEven])
    world.append(10)
    assert _committed_after(world, 3) == {A: 5}


def test_a_partition_paused_or_sought_in_the_body_gives_no_more_of_the_old_records() -> None:
    world = World(max_poll_records=500)
    world.append(10)

    async def run() -> list[tuple[TopicPartition, int]]:
        seen = []
        async with world.async_consumer() as consumer:
            await consumer.assign([A, B])
            async for record in consumer:
                seen.append((record.topic_partition, record.offset))
                if len(seen) == 2:
                    await consumer.pause([record.topic_partition])
                if len(seen) == 4:
                    await consumer.seek(record.topic_partition, 8)
                if len(seen) == 6:
                    return seen
        raise AssertionError

    seen = run_virtual(run())
    first, second = seen[0][0], seen[-1][0]
    assert {first, second} == {A, B}
    assert seen == [(first, 0), (first, 1), (second, 0), (second, 1), (second, 8), (second, 9)]


def test_a_poll_in_the_body_of_an_iteration_gives_the_records_that_the_iteration_has_not_given() -> None:
    world = World(max_poll_records=500)
    world.append(10)

    async def run() -> list[int]:
        async with world.async_consumer() as consumer:
            await consumer.assign([A])
            async for record in consumer:
                rest = await consumer.poll(1.0)
                return [record.offset, *(each.offset for each in rest)]
        raise AssertionError

    assert run_virtual(run()) == list(range(10))


@pytest.mark.parametrize("pauses", [False, True])
def test_a_partition_no_longer_assigned_gives_no_more_of_its_records(pauses: bool) -> None:
    world = World(max_poll_records=500)
    world.append(10)

    async def run() -> list[tuple[TopicPartition, int]]:
        seen = []
        async with world.async_consumer() as consumer:
            await consumer.assign([A, B])
            async for record in consumer:
                seen.append((record.topic_partition, record.offset))
                if len(seen) == 2:
                    await consumer.assign([B if record.topic_partition == A else A])
                if pauses and len(seen) == 4:
                    await consumer.pause(consumer.assignment())
                    await consumer.resume(consumer.assignment())
                if len(seen) == 12:
                    return seen
        raise AssertionError

    seen = run_virtual(run())
    first, second = seen[0][0], seen[-1][0]
    assert seen == [(first, 0), (first, 1), *((second, offset) for offset in range(10))]


def test_an_iteration_does_not_begin_with_a_partition_that_was_paused_before_its_turn() -> None:
    world = World(max_poll_records=500)
    world.append(3)

    async def run() -> None:
        async with world.async_consumer() as consumer:
            await consumer.assign([A, B])
            records = aiter(consumer)
            first = (await anext(records)).topic_partition
            await consumer.pause({A, B} - {first})
            assert [(await anext(records)).offset for _ in range(2)] == [1, 2]
            world.append(1, first)
            assert (await anext(records))[:3] == (*first, 3)
            await consumer.resume({A, B} - {first})
            assert [(await anext(records)).offset for _ in range(3)] == [0, 1, 2]

    run_virtual(run())


def test_a_reset_in_the_body_of_an_iteration_ends_it_for_the_old_records() -> None:
    world = World(max_poll_records=500)
    world.append(4)

    async def run() -> list[int]:
        seen = []
        async with world.async_consumer() as consumer:
            await consumer.assign([A])
            async for record in consumer:
                seen.append(record.offset)
                if len(seen) == 2:
                    await consumer.seek_to_beginning([A])
                if len(seen) == 6:
                    break
        return seen

    assert run_virtual(run()) == [0, 1, 0, 1, 2, 3]


def test_records_taken_once_more_end_where_their_delivery_ended() -> None:
    """Behind the last record there may be batches that hold nothing for the application."""
    state = AssignedPartition(A)
    state.seek(0)
    created = TimestampType.CREATE_TIME
    records = [ConsumerRecord("t", 0, offset, 0, created, -1, 1, None, b"x", (), 5) for offset in range(3)]
    delivery = Delivery()
    delivery.add(state, records, end_offset=7, end_epoch=6)
    part = delivery.parts[A]
    next(part.iterator())
    part.stop()
    returned = Returned(part)
    assert (returned.next_offset, [each.offset for each in returned.take(1)]) == (1, [1])
    assert (returned.next_offset, returned.leader_epoch, returned.exhausted) == (2, 5, False)
    assert [each.offset for each in returned.take(5)] == [2]
    assert (returned.next_offset, returned.leader_epoch, returned.exhausted) == (7, 6, True)

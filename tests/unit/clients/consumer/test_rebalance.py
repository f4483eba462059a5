"""What a member does before it joins again and after, in which order, and when the poll that does it is cancelled."""

import asyncio
import random
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AsyncConsumer, Consumer, ConsumerRecord, RebalanceListener
from kafka_py.clients.consumer.rebalance import _ListenerCall
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.fakes.memory_wire import GroupOfOne, MemoryCluster, MemoryWires
from kafka_py.testing.interrupts import interrupts
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest
from kafka_py.wire.messages.leave_group import LeaveGroupRequest
from kafka_py.wire.messages.offset_commit import OffsetCommitRequest
from kafka_py.wire.messages.sync_group import SyncGroupRequest

A = TopicPartition("t", 0)
RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"
COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
HOUR_MS = 3_600_000


class Notes(list[Any], RebalanceListener):
    """The listener: writes down what it is notified of, among the requests."""

    def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.append(("revoked", *partitions))

    def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.append(("assigned", *partitions))


class World:
    """A topic of one partition with ten records, and a group of one. notes: requests and the listener's calls."""

    def __init__(self, delay_s: float = 0.0, **settings: object) -> None:
        self.cluster = MemoryCluster()
        self.cluster.create_topic("t")
        self.append(10)
        self.group = GroupOfOne(self.cluster)
        self.notes = Notes()
        self.cluster.requests = self.notes
        self.wires = MemoryWires(self.cluster, lambda: delay_s)
        self.settings = {
            "bootstrap.servers": "h:9092", "group.id": "g", "auto.offset.reset": "earliest", "max.poll.records": 4,
            "auto.commit.interval.ms": HOUR_MS, **{name.replace("_", "."): each for name, each in settings.items()},
        }  # fmt: skip

    def append(self, count: int) -> None:
        """A batch of so many records."""
        builder = BatchBuilder()
        for number in range(count):
            builder.append(number, None, b"x", ())
        self.cluster.partitions[A].append(builder.build())

    def consumer(self) -> AsyncConsumer:
        return AsyncConsumer(self.settings, environment=self.wires.environment(virtual_clock()))

    def of_interest(self) -> list[Any]:
        """Commits (as offsets), JoinGroup, SyncGroup, heartbeats and the listener's calls, in their order."""
        found: list[Any] = []
        for note in self.notes:
            if isinstance(note[0], str):
                found.append(note)
            elif isinstance(note[1], OffsetCommitRequest):
                found.append(("commit", note[1].topics[0].partitions[0].committed_offset))
            elif isinstance(note[1], (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest)):
                found.append(type(note[1]))
        return found


async def _poll_until(consumer: AsyncConsumer, world: World, note: Any) -> int:
    """How many records were handed out by then."""
    seen = 0
    async with asyncio.timeout(60):
        while note not in world.of_interest():
            seen += len(await consumer.poll(0.1))
    return seen


@pytest.mark.parametrize(("strategy", "gives_up"), [(RANGE, True), (COOPERATIVE, False)])
def test_a_member_commits_automatically_before_it_gives_partitions_up_and_joins_again(
    strategy: str, gives_up: bool
) -> None:
    """W7.18, S3-033: automatic commit, then revoked, then no heartbeats, then JoinGroup."""
    world = World(delay_s=0.5, partition_assignment_strategy=strategy)

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe(["t"], listener=world.notes)
            await _poll_until(consumer, world, ("assigned", A))
            seen = len(await consumer.poll(30))
            world.notes.clear()
            world.group.rebalances = True
            seen += await _poll_until(consumer, world, ("assigned", A) if gives_up else ("assigned",))
            assert seen == 10

    run_virtual(run())
    noted = world.of_interest()
    joined = noted.index(JoinGroupRequest)
    before = [each for each in noted[:joined] if each is not HeartbeatRequest]
    assert before == [("commit", 10), *([("revoked", A)] if gives_up else [])]
    assert HeartbeatRequest not in noted[joined : noted.index(SyncGroupRequest)]


def test_a_rejoin_commits_no_more_than_was_handed_out() -> None:
    world = World()

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe(["t"], listener=world.notes)
            async for _record in consumer:
                break
            world.notes.clear()
            world.group.rebalances = True
            await asyncio.sleep(5)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await consumer.poll(1.0)
            await _poll_until(consumer, world, JoinGroupRequest)

    run_virtual(run())
    assert next(each for each in world.of_interest() if each is not HeartbeatRequest) == ("commit", 1)


def test_no_automatic_commit_before_a_rejoin_where_it_is_switched_off() -> None:
    world = World(enable_auto_commit=False)

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe(["t"], listener=world.notes)
            assert await consumer.poll(30)
            world.notes.clear()
            world.group.rebalances = True
            await _poll_until(consumer, world, ("assigned", A))

    run_virtual(run())
    assert not [each for each in world.of_interest() if isinstance(each, tuple) and each[0] == "commit"]


@pytest.mark.parametrize("strategy", [RANGE, COOPERATIVE])
def test_a_rejoin_that_is_cancelled_in_its_automatic_commit_commits_and_revokes_when_it_is_continued(
    strategy: str,
) -> None:
    world = World(partition_assignment_strategy=strategy)

    async def run() -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe(["t"], listener=world.notes)
            seen = await _poll_until(consumer, world, ("assigned", A))
            seen += len(await consumer.poll(30))
            world.notes.clear()
            world.group.rebalances = True
            world.cluster.answers[ApiKey.OFFSET_COMMIT] = lambda _: None
            await asyncio.sleep(5)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await consumer.poll(30)
            assert [each for each in world.of_interest() if each is not HeartbeatRequest] == [("commit", seen)]
            del world.cluster.answers[ApiKey.OFFSET_COMMIT]
            await _poll_until(consumer, world, JoinGroupRequest)
            noted = [each for each in world.of_interest() if each is not HeartbeatRequest]
            revoked = [("revoked", A)] if strategy == RANGE else []
            assert noted[: noted.index(JoinGroupRequest)] == [("commit", seen), ("commit", seen), *revoked]

    run_virtual(run())


def test_a_close_that_is_cancelled_in_its_automatic_commit_still_leaves_the_group() -> None:
    world = World()

    async def run() -> None:
        consumer = world.consumer()
        await consumer.subscribe(["t"], listener=world.notes)
        await _poll_until(consumer, world, ("assigned", A))
        assert await consumer.poll(30)
        world.cluster.answers[ApiKey.OFFSET_COMMIT] = lambda _: None
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await consumer.close()
        assert any(isinstance(note[1], LeaveGroupRequest) for note in world.notes if not isinstance(note[0], str))
        assert all(wire.closed for wire in world.wires.open)

    run_virtual(run())


async def _rejoin_often(world: World, draw: random.Random, wanted: int) -> None:
    """Polls that are cancelled at random while the group rebalances again and again."""
    cancelled = handed = 0
    async with world.consumer() as consumer:
        await consumer.subscribe(["t"], listener=world.notes)
        while cancelled < wanted:
            if draw.random() < 0.02:
                world.group.rebalances = True
            if draw.random() < 0.1:
                world.append(draw.randint(1, 9))
            try:
                async with asyncio.timeout(draw.random() * 0.02):
                    for record in await consumer.poll(1.0):
                        assert record.offset == handed
                        handed += 1
            except TimeoutError:
                cancelled += 1
        async with asyncio.timeout(60):
            while handed < world.cluster.partitions[A].end_offset:
                for record in await consumer.poll(1.0):
                    assert record.offset == handed
                    handed += 1
    assert world.cluster.groups["g"].offsets[A][0] == handed


@pytest.mark.parametrize("strategy", [RANGE, COOPERATIVE])
@pytest.mark.parametrize("seed", range(3))
def test_rebalances_that_are_cancelled_at_random_are_continued(strategy: str, seed: int) -> None:
    world = World(delay_s=0.003, partition_assignment_strategy=strategy, heartbeat_interval_ms=5)
    run_virtual(_rejoin_often(world, random.Random(seed), 500))
    calls = [note for note in world.notes if isinstance(note[0], str)]
    if strategy == RANGE:
        changes = [name for name, *partitions in calls if partitions]
        assert changes == ["assigned", "revoked"] * (len(changes) // 2)
        assert sum(name == "revoked" for name, *_ in calls) == world.group.generation  # before each join and at the end
    assert sum(note == ("assigned",) or note == ("assigned", A) for note in calls) == world.group.generation > 5


class Held(Notes):
    """A listener that waits, so that a time-out finds it at work."""

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:  # type: ignore[override]
        super().on_partitions_assigned(partitions)
        await asyncio.sleep(10)


def test_a_listener_that_is_cancelled_at_work_is_not_called_again() -> None:
    world = World()
    world.notes = world.cluster.requests = Held()

    async def run() -> list[int]:
        async with world.consumer() as consumer:
            await consumer.subscribe(["t"], listener=world.notes)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(5):
                    await _poll_until(consumer, world, "never")
            return [record.offset for record in await consumer.poll(30)]

    assert run_virtual(run()) == [0, 1, 2, 3]
    assert [note for note in world.notes if note[0] == "assigned"] == [("assigned", A)]


def test_what_the_listener_was_not_notified_of_is_not_revoked_either() -> None:
    """A poll was cancelled before the listener was called for the assignment, and then the consumer is closed."""
    world = World()
    calls: list[str] = []

    async def never_assigned(call: Any, *arguments: Any) -> Any:
        calls.append(call.method.__name__)
        if call.method.__name__ == "on_partitions_assigned":
            await asyncio.sleep(HOUR_MS)
        return call(*arguments)

    async def run() -> None:
        environment = world.wires.environment(virtual_clock())
        async with AsyncConsumer(world.settings, environment=environment, call_user=never_assigned) as consumer:
            await consumer.subscribe(["t"], listener=world.notes)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(10):
                    await consumer.poll(30)
            assert consumer.assignment() == {A}

    run_virtual(run())
    assert calls == ["on_partitions_assigned"]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # an interrupt before the call had begun
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_rebalances_of_a_blocking_consumer_that_are_interrupted_at_random_are_continued() -> None:
    """The listener is called in the interrupted thread: before it or after it an interrupt may come.

    Not in the few steps from where the call counts as begun to where it is noted: a listener that is cut off there was
    called, and cannot say so.
    """
    spared = [
        each.__code__
        for each in (_ListenerCall.__call__, Notes.on_partitions_revoked, Notes.on_partitions_assigned)
    ]
    world = World(delay_s=0.0001, partition_assignment_strategy=RANGE, heartbeat_interval_ms=1)
    draw, handed = random.Random(1), 0
    with interrupts(spared) as interrupt, Consumer(world.settings, environment=world.wires.environment()) as consumer:
        consumer.subscribe(["t"], listener=world.notes)
        while interrupt.raised < 500:
            world.group.rebalances = world.group.rebalances or draw.random() < 0.2
            records: Iterable[ConsumerRecord] = ()
            try:
                interrupt.within(draw.uniform(1e-5, 3e-3))
                try:
                    records = consumer.poll(0.01)
                finally:
                    interrupt.armed = False
            except KeyboardInterrupt:
                pass
            for record in records:
                assert record.offset == handed
                handed += 1
            if handed > world.cluster.partitions[A].end_offset - 5:
                world.append(9)
    calls = [note for note in world.notes if isinstance(note[0], str)]
    changes = [name for name, *partitions in calls if partitions]
    assert changes == ["assigned", "revoked"] * (len(changes) // 2)
    assert len(changes) > 10
    assert world.cluster.groups["g"].offsets[A][0] == handed

"""How fast replicas that are not in sync may be filled (KIP-73)."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import SLICE
from kafka_py.replication.follower.fetcher import ReplicaFetcher
from kafka_py.replication.follower.states import DROPPED, FETCHING, HELD_BACK, FollowedState
from kafka_py.replication.state.isr import CommittedIsr
from kafka_py.replication.state.throttle import UNLIMITED, ByteRate, Throttle
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.copying import T0, CopyingWorld, Replica
from kafka_py.testing.virtual_time import in_virtual_time, virtual_clock


def throttle(*named: str, limit: int = 1000, clock: ManualClock | None = None) -> Throttle:
    return Throttle(1, ByteRate(clock or ManualClock(), 11, 1000), limit, lambda _partition: named)


def test_bytes_are_spread_over_the_time_since_the_oldest_sample() -> None:
    """As Apache Kafka 2.8.2 measures it: what was recorded at which ms, and the rate and whether 1000 is exceeded."""
    clock = ManualClock()
    rate = ByteRate(clock, 11, 1000)
    limit = Throttle(1, rate, 1000, lambda _partition: ["*"])
    assert rate.per_second() == 0.0
    now_ms = 0
    for at_ms, size, is_exceeded, expected in (
        (0, 500, False, 500.0), (0, 600, True, 1100.0), (100, 300, True, 1400.0), (1000, 100, True, 1500.0),
        (2000, 2000, True, 1750.0), (10_999, 0, False, 318.21074643149376), (11_000, 0, False, 210.0),
    ):  # fmt: skip
        clock.advance(at_ms - now_ms)
        now_ms = at_ms
        limit.record(T0, size)
        assert (rate.per_second(), limit.is_exceeded_for(T0)) == (expected, is_exceeded)
    clock.advance(11_000)
    assert rate.per_second() == 0


def test_only_named_replicas_of_this_broker_are_held_back() -> None:
    clock = ManualClock()
    assert throttle("*").covers(T0)
    assert throttle("0:1", "1:2").covers(T0)
    assert not throttle("0:2").covers(T0)
    assert not throttle("0:12").covers(T0)
    assert not throttle("0:1").covers(TopicPartition("t", 1))
    assert not throttle().covers(T0)
    other = throttle("1:1", clock=clock)
    other.record(T0, 1_001)
    assert other.rate.per_second() == 0
    one = throttle("*", clock=clock)
    one.record(T0, 1_000)
    assert not one.is_exceeded_for(T0)
    one.record(T0, 1)
    assert one.is_exceeded_for(T0)
    one.set_limit(UNLIMITED)
    assert not one.is_exceeded_for(T0)


def byte_rate() -> ByteRate:
    return ByteRate(virtual_clock(), 11, 1000)


@in_virtual_time
async def test_a_new_replica_is_filled_no_faster_than_the_leader_may() -> None:
    world = CopyingWorld(settings={"replica.fetch.max.bytes": "1000"})
    limit = Throttle(1, byte_rate(), 1000, lambda _partition: ["0:1"])
    leader, follower = Replica(1, world, leader_throttle=limit), Replica(2, world)
    leader.lead(0, isr=(1,))
    leader.append(*[b"x" * 932] * 60)  # a thousand bytes each
    follower.follow(leader, 0)
    await asyncio.sleep(30)
    assert 25_000 < follower.log.size_bytes < 32_000
    leader.partition.isr = CommittedIsr(frozenset({1, 2}))  # who is in sync is not held back
    await asyncio.sleep(2)
    assert follower.log.size_bytes == leader.log.size_bytes


@in_virtual_time
async def test_a_follower_asks_no_faster_than_it_may_and_goes_on_when_the_limit_is_lifted() -> None:
    world = CopyingWorld(settings={"replica.fetch.max.bytes": "1000"})
    limit = Throttle(2, byte_rate(), 1000, lambda _partition: ["*"])
    leader, follower = Replica(1, world), Replica(2, world, follower_throttle=limit)
    leader.lead(0, isr=(1,))
    leader.append(*[b"x" * 932] * 60)
    follower.follow(leader, 0)
    await asyncio.sleep(30)
    assert 25_000 < follower.log.size_bytes < 32_000
    limit.set_limit(UNLIMITED)
    await asyncio.sleep(2)
    assert follower.log.size_bytes == leader.log.size_bytes


@in_virtual_time
async def test_a_follower_without_lag_is_not_held_back() -> None:
    world = CopyingWorld(settings={"replica.fetch.max.bytes": "1000"})
    limit = Throttle(2, byte_rate(), 1, lambda _partition: ["*"])
    leader, follower = Replica(1, world), Replica(2, world, follower_throttle=limit)
    leader.lead(0, isr=(1, 2))
    follower.follow(leader, 0)
    for number in range(1, 4):
        leader.append(b"x" * 932)
        await asyncio.sleep(0.5)
        assert follower.log.log_end_offset == number
    assert limit.is_exceeded_for(T0)


@in_virtual_time
async def test_a_replica_that_is_held_back_is_released_when_it_is_no_longer_named() -> None:
    """The limit stays, and stays passed: what matters is that the partition is not throttled any longer."""
    world = CopyingWorld(settings={"replica.fetch.max.bytes": "1000"})
    named = ["0:2"]
    limit = Throttle(2, byte_rate(), 1, lambda _partition: named)
    leader, follower = Replica(1, world), Replica(2, world, follower_throttle=limit)
    leader.lead(0, isr=(1,))
    leader.append(*[b"x" * 932] * 60)
    follower.follow(leader, 0)
    await asyncio.sleep(2)
    held_at = follower.log.size_bytes
    assert held_at < leader.log.size_bytes
    await asyncio.sleep(2)
    assert follower.log.size_bytes == held_at
    assert limit.is_exceeded_for(T0)
    named = []
    await asyncio.sleep(4)
    assert limit.rate.per_second() > 1
    assert follower.log.size_bytes == leader.log.size_bytes


@in_virtual_time
async def test_a_replica_that_the_leader_holds_back_is_released_when_it_is_no_longer_named() -> None:
    world = CopyingWorld(settings={"replica.fetch.max.bytes": "1000"})
    named = ["0:1"]
    limit = Throttle(1, byte_rate(), 1, lambda _partition: named)
    leader, follower = Replica(1, world, leader_throttle=limit), Replica(2, world)
    leader.lead(0, isr=(1,))
    leader.append(*[b"x" * 932] * 60)
    follower.follow(leader, 0)
    await asyncio.sleep(2)
    held_at = follower.log.size_bytes
    await asyncio.sleep(2)
    assert follower.log.size_bytes == held_at < leader.log.size_bytes
    assert limit.is_exceeded_for(T0)
    named = []
    await asyncio.sleep(4)
    assert limit.rate.per_second() > 1
    assert follower.log.size_bytes == leader.log.size_bytes


def test_a_long_list_is_read_once_and_again_when_it_changes() -> None:
    class Noting(list[str]):
        looks = 0

        def __iter__(self) -> Iterator[str]:
            self.looks += 1
            return super().__iter__()

    first, second = Noting(f"{number}:1" for number in range(500)), Noting(["7:1", "8:2"])
    named = first
    one = Throttle(1, ByteRate(ManualClock(), 11, 1000), 1000, lambda _partition: named)
    first.looks = 0
    assert [one.covers(TopicPartition("t", number)) for number in (0, 499, 500)] == [True, True, False]
    assert first.looks == 1
    named = second
    assert [one.covers(TopicPartition("t", number)) for number in (0, 7, 8)] == [False, True, False]


@in_virtual_time
async def test_very_many_lagging_partitions_are_examined_in_turns() -> None:
    """A broker that is filled after it was replaced follows thousands of partitions, all of which lag."""
    followed: dict[TopicPartition, Any] = {
        (name := TopicPartition("t", number)): SimpleNamespace(lag=5, topic_partition=name, state=FETCHING)
        for number in range(1000)
    }
    held: list[int] = []
    between: list[int] = []

    def move(one: Any, state: FollowedState) -> None:
        assert state is HELD_BACK
        one.state = state
        held.append(one.topic_partition.partition)

    async def others() -> None:
        while len(held) < 999:
            await asyncio.sleep(0)
            between.append(len(held))

    limit = throttle("*")
    limit.record(T0, 1_001)
    fetcher: Any = SimpleNamespace(followed=followed, _partitions=SimpleNamespace(move=move))
    other = asyncio.create_task(others())
    work = asyncio.create_task(ReplicaFetcher._apply_throttle(fetcher, limit))
    await asyncio.sleep(0)
    removed = followed.pop(TopicPartition("t", 999))
    removed.state = DROPPED
    async with asyncio.timeout(10):
        await asyncio.gather(work, other)
    assert held == list(range(999))
    assert max(after - before for before, after in pairwise([0, *between])) <= SLICE

"""Fetches of very many partitions: read in turns, woken by what changed alone."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.reads import FetchEntry, FetchParams, FetchResults, Isolation, PlainSource
from kafka_py.testing.fakes.replicas import ReplicaWorld, role

COUNT = 1000
ALL = [TopicPartition("t", number) for number in range(COUNT)]


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


class Fetching:
    """A fetch in turns of all partitions, in a task."""

    def __init__(self, world: ReplicaWorld, *, min_bytes: int = 1) -> None:
        self.world = world
        params = FetchParams(-1, 500, min_bytes, 1_000_000, Isolation.READ_UNCOMMITTED)
        source = PlainSource([FetchEntry(one, 0, 1000) for one in ALL])
        self.task = asyncio.ensure_future(world.manager.fetches.fetch_in_turns(params, source))

    async def parked(self) -> None:
        """Until it waits and has looked at everything once."""
        async with asyncio.timeout(5):
            while not self.world.manager.parked.fetch.watched:  # noqa: ASYNC110
                await asyncio.sleep(0)
            for _ in range(10):
                await asyncio.sleep(0)

    async def found(self) -> FetchResults:
        async with asyncio.timeout(5):
            return await self.task


def world_of(isr: tuple[int, ...] = (1,)) -> ReplicaWorld:
    world = ReplicaWorld()
    for one in ALL:
        world.lead(one, isr=isr)
    return world


@in_loop
async def test_others_have_the_loop_while_it_reads_and_the_result_is_the_same() -> None:
    world = world_of()
    world.append(ALL[3], ALL[900])
    fetching = Fetching(world)
    turns = 0
    while not fetching.task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= COUNT // 100
    world.fetch(*(FetchEntry(one, 0, 1000) for one in ALL), max_bytes=1_000_000)
    assert [(entry.topic_partition, read.size) for entry, read in await fetching.found()] == [
        (entry.topic_partition, read.size) for entry, read in world.fetched.pop()
    ]


@in_loop
async def test_the_limit_of_the_whole_fetch_holds_over_the_turns() -> None:
    world = world_of()
    world.append(*ALL, records=b"x" * 100)
    params = FetchParams(-1, 0, 1, 550, Isolation.READ_UNCOMMITTED)
    source = PlainSource([FetchEntry(one, 0, 1000) for one in reversed(ALL)])
    results = await world.manager.fetches.fetch_in_turns(params, source)
    assert sum(read.size for _, read in results) <= 550
    assert [entry.topic_partition.partition for entry, _ in results] == list(reversed(range(COUNT)))
    assert {read.end_offset for _, read in results} == {100}  # those that got nothing are told of the end as well


@in_loop
async def test_an_append_wakes_it_and_only_what_changed_is_looked_at() -> None:
    world = world_of()
    looked_at: list[TopicPartition] = []
    available = world.manager.fetches._bytes_available

    def noting(entry: FetchEntry, params: FetchParams) -> int:
        looked_at.append(entry.topic_partition)
        return available(entry, params)

    world.manager.fetches._bytes_available = noting  # type: ignore[method-assign]
    fetching = Fetching(world, min_bytes=6)
    await fetching.parked()
    assert len(looked_at) == COUNT
    looked_at.clear()
    world.append(ALL[500])
    world.run_checks()
    assert looked_at == [ALL[500]]
    assert not fetching.task.done()
    world.append(ALL[2])
    world.run_checks()
    assert looked_at == [ALL[500], ALL[2]]
    assert sum(read.size for _, read in await fetching.found()) == 6
    assert not world.manager.parked.fetch.watched


@in_loop
async def test_what_is_appended_while_it_reads_is_not_missed() -> None:
    world = world_of()
    fetching = Fetching(world)
    await asyncio.sleep(0)  # it has read the first partitions, and is not parked
    await asyncio.sleep(0)
    assert not world.manager.parked.fetch.watched
    world.append(ALL[0])
    world.run_checks()
    assert sum(read.size for _, read in await fetching.found()) == 3


@in_loop
async def test_it_ends_when_its_time_is_over() -> None:
    world = world_of()
    fetching = Fetching(world)
    await fetching.parked()
    world.clock.advance(501)
    assert sum(read.size for _, read in await fetching.found()) == 0


@in_loop
async def test_a_partition_that_is_led_elsewhere_ends_it() -> None:
    world = world_of()
    fetching = Fetching(world)
    await fetching.parked()
    partition = world.partition(ALL[7])
    assert partition.log is not None
    partition.become_follower(role(leader=2, epoch=1, isr=(2,), replicas=(1, 2)), partition.log)
    world.manager.parked.complete(ALL[7], partition)
    errors = {read.error for _, read in await fetching.found()}
    assert errors == {ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER}


@in_loop
async def test_what_a_follower_says_is_noted_of_each_partition() -> None:
    world = world_of(isr=(1, 2))
    world.append(*ALL)
    params = FetchParams(2, 0, 1, 1_000_000, Isolation.LOG_END)
    await world.manager.fetches.fetch_in_turns(params, PlainSource([FetchEntry(one, 3, 1000) for one in ALL]))
    assert {log.high_watermark for one in ALL if (log := world.partition(one).log)} == {3}


@pytest.mark.parametrize("count", [1, 3])
def test_a_small_fetch_looks_only_at_what_changed_as_well(count: int) -> None:
    world = ReplicaWorld()
    for one in ALL[:count]:
        world.lead(one)
    world.fetch(*(FetchEntry(one, 0, 1000) for one in ALL[:count]), min_bytes=6)
    for _ in range(2):
        assert world.fetched == []
        world.append(ALL[count - 1])
        world.run_checks()
    [results] = world.fetched
    assert sum(read.size for _, read in results) == 6


@in_loop
async def test_shrinking_of_in_sync_sets_takes_its_turns() -> None:
    world = world_of(isr=(1, 2))
    world.append(*ALL)
    world.clock.advance(60_000)
    task = asyncio.ensure_future(world.manager.fetches.shrink_isrs())
    await asyncio.sleep(0)
    assert 0 < len(world.isr_pending) < COUNT
    await task
    assert len(world.isr_pending) == COUNT

"""Replicas that copy from each other: logs, epochs and watermarks through changes of leader, on real logs."""

import asyncio
import errno
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.log.partition.flushing import FlushJob
from kafka_py.replication.state.isr import CommittedIsr, PendingExpandIsr
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import FetchEntry
from kafka_py.testing.fakes.copying import T0, CopyingWorld, Replica
from kafka_py.testing.virtual_time import run_virtual

VERSIONS = ("2.6", "2.8")  # asks for epochs before it fetches; lets the fetch tell


def story(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        run_virtual(test(*args, **kwargs))

    return run


def pair(version: str = "2.6", **settings: str) -> tuple[Replica, Replica]:
    world = CopyingWorld(version, settings)
    return Replica(1, world), Replica(2, world)


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.0", *VERSIONS])
@story
async def test_a_follower_holds_the_leaders_bytes_under_every_protocol_version(version: str) -> None:
    a, b = pair(version)
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1", b"m2")
    await a.caught_up(b)
    b.append(b"m3")
    await a.caught_up(b)
    assert a.offsets == (3, 3)
    name = "00000000000000000000.log"
    assert a.disk.data(name) == b.disk.data(name)


@story
async def test_an_idle_partition_costs_no_words_in_the_session() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    await asyncio.sleep(2)
    before = len(b.fetched)
    await asyncio.sleep(60)
    idle = b.fetched[before:]
    assert 100 < len(idle) < 130  # one per replica.fetch.wait.max.ms
    assert all(not request.topics and not request.forgotten_topics_data for request in idle)
    assert {request.session_id for request in idle} == {1}


@story
async def test_an_idle_follower_stays_in_sync_though_its_partition_is_not_read() -> None:
    """The leader appends after minutes of silence, and looks for laggards before the follower could fetch."""
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    await asyncio.sleep(600)
    b.append(b"m2")
    assert not b.partition.shrink_isr(b.clock.monotonic_ms())
    await a.caught_up(b)
    await a.crash()
    b.append(b"m3")
    await asyncio.sleep(31)
    assert b.partition.shrink_isr(b.clock.monotonic_ms())
    assert b.partition.isr.maximal == {1, 2}


@story
async def test_w8_2_a_follower_that_fetches_steadily_but_never_catches_up_is_late() -> None:
    """W8.2: slower than the inflow; fetching alone does not keep it in sync."""
    _, b = pair(**{"replica.lag.time.max.ms": "10000"})
    b.lead(0, isr=(1, 2))
    b.append(*[b"m"] * 100)
    now_ms = 0.0
    for second in range(11):
        b.append(*[b"m"] * 10)
        entry = FetchEntry(T0, second, 100)
        now_ms = second * 1000 + 500
        b.partition.record_follower_fetch(1, entry, b.log.log_end_offset, now_ms)
        assert not b.partition.shrink_isr(9_000)
    assert b.partition.shrink_isr(now_ms)


@story
async def test_a_leader_that_lost_its_session_cache_is_told_everything_again() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    b.sessions.remove(1)
    b.append(b"m2")
    await a.caught_up(b)
    assert b.fetched[-1].session_id == 2


@story
async def test_partitions_spread_anew_when_the_number_of_fetchers_changes() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    a.fetchers.resize(5)
    b.append(b"m1")
    await a.caught_up(b)
    assert len(a.fetchers.fetchers) == 1
    assert sum(len(one.followed) for one in a.fetchers.fetchers.values()) == 1


@pytest.mark.parametrize("version", VERSIONS)
@story
async def test_a_follower_that_fills_up_joins_the_in_sync_set_when_it_has_all_that_is_committed(version: str) -> None:
    """S2-033, S2-037: it joins with log end offset >= high watermark and not a record earlier."""
    behind, leader = pair(version, **{"replica.fetch.max.bytes": "1"})  # one batch a fetch
    leader.lead(0, isr=(2,))
    leader.append(*[b"m"] * 20)
    assert leader.offsets == (20, 20)
    seen: list[tuple[int, int]] = []

    def joining(partition: Partition) -> None:
        seen.append((partition.followers[1].log_end_offset, leader.log.high_watermark))
        assert isinstance(partition.isr, PendingExpandIsr)
        partition.commit_isr(partition.isr, 1, leader.clock.monotonic_ms())

    leader.on_isr_pending = joining
    behind.follow(leader, 0)
    await behind.until(lambda: seen)
    assert seen == [(20, 20)]
    assert len(leader.fetched) > 20  # it was behind for as many rounds
    assert leader.partition.isr == CommittedIsr(frozenset({1, 2}))
    # What it had to hold before it counted is now what it holds the watermark back for.
    leader.append(b"next")
    assert leader.log.high_watermark == 20
    await behind.caught_up(leader)
    assert leader.offsets == (21, 21)


class HeldFlushes:
    """A background that runs all jobs at once but flushes, which wait until the test ends them."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []

    def run(self, work: Any, done: Any = None, failed: Any = None) -> None:
        def finish() -> None:
            result = work()
            if done is not None:
                done(result)

        if isinstance(getattr(work, "__self__", None), FlushJob):
            self.held.append(finish)
        else:
            finish()


def holding_flushes(replica: Replica) -> HeldFlushes:
    background = HeldFlushes()
    replica.disk.context.background = background
    replica.disk.context.flush_in_append = False
    return background


@pytest.mark.parametrize("slow", ["leader", "follower"])
@story
async def test_acks_all_waits_until_each_replica_has_synced_what_flush_messages_wants(slow: str) -> None:
    world = CopyingWorld()
    leader, follower = (Replica(number, world, {"flush.messages": 1}) for number in (1, 2))
    leader.lead(0, isr=(1, 2))
    flushes = holding_flushes(leader if slow == "leader" else follower)
    follower.follow(leader, 0)
    answers = leader.append(b"m1", b"m2", acks=-1, timeout_ms=100_000)
    await follower.until(lambda: follower.log.log_end_offset == 2)
    await asyncio.sleep(5)
    assert answers == []
    assert leader.log.high_watermark == 0
    while flushes.held:
        flushes.held.pop(0)()
        await asyncio.sleep(0.1)
    await leader.until(lambda: len(answers) == 2)
    assert [answer.error for answer in answers] == [ErrorCode.NONE] * 2
    assert leader.log.high_watermark == 2


@story
async def test_a_lost_link_does_not_acknowledge_what_is_not_synced() -> None:
    world = CopyingWorld()
    leader, follower = (Replica(number, world, {"flush.messages": 1}) for number in (1, 2))
    leader.lead(0, isr=(1, 2))
    flushes = holding_flushes(follower)
    follower.follow(leader, 0)
    leader.append(b"m1")
    await follower.until(lambda: follower.log.log_end_offset == 1)
    leader.is_up = False
    await asyncio.sleep(5)
    leader.is_up = True
    await asyncio.sleep(5)
    assert leader.log.high_watermark == 0
    flushes.held.pop()()
    await leader.until(lambda: leader.log.high_watermark == 1)


@story
async def test_what_waited_for_a_sync_is_cut_off_by_the_next_leader_and_fetching_continues() -> None:
    world = CopyingWorld()
    former, leader, follower = (Replica(number, world, {"flush.messages": 1}) for number in (1, 2, 3))
    former.lead(0, isr=(1, 2, 3))
    flushes = holding_flushes(follower)
    follower.follow(former, 0)
    former.append(b"m1")
    await follower.until(lambda: follower.log.owes_flush)
    leader.lead(1, isr=(2, 3))
    leader.append(b"n1")
    follower.follow(leader, 1)
    async with asyncio.timeout(60):
        while leader.log.high_watermark < 1:
            await asyncio.sleep(1)
            while flushes.held:
                flushes.held.pop(0)()
    assert follower.values == [b"n1"]
    assert not follower.log.owes_flush


@story
async def test_a_flush_that_fails_ends_the_fetching_of_its_partition() -> None:
    world = CopyingWorld()
    leader, follower = (Replica(number, world, {"flush.messages": 1}) for number in (1, 2))
    leader.lead(0, isr=(1, 2))
    holding_flushes(follower)

    def fail(work: Any, done: Any = None, failed: Any = None) -> None:
        if isinstance(getattr(work, "__self__", None), FlushJob):
            failed(OSError(errno.EIO, "the disk is broken"))

    follower.disk.context.background.run = fail  # type: ignore[method-assign]
    follower.follow(leader, 0)
    leader.append(b"m1")
    await follower.until(lambda: follower.disk.failures)
    await asyncio.sleep(5)
    assert leader.log.high_watermark == 0

"""Replicas that copy from each other: logs, epochs and watermarks through changes of leader, on real logs."""

import asyncio
import errno
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.log.partition.flushing import FlushJob
from kafka_py.replication.state.isr import Committed, Expanding
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import FetchEntry, FetchParams, Isolation, PartitionRead, PlainSource
from kafka_py.testing.fakes.copying import T0, CopyingWorld, Replica
from kafka_py.testing.fakes.stored_logs import batch
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
async def test_w8_5_the_watermark_follows_one_fetch_behind() -> None:
    """W8.5: fetches tell the leader (end 15) of ends 3 and 4: its watermark is 3, which they learn a fetch later."""
    world = CopyingWorld()
    leader, one, two = (Replica(number, world) for number in (1, 2, 3))
    leader.lead(0, isr=(1, 2, 3))
    leader.append(*[b"m"] * 5)
    assert leader.offsets == (5, 0)

    def fetch(follower: Replica) -> PartitionRead:
        found: list[PartitionRead] = []
        entry = FetchEntry(T0, follower.log.log_end_offset, 100)
        params = FetchParams(follower.broker_id, 0, 1, 100, Isolation.LOG_END)
        source = PlainSource([entry])
        leader.manager.fetches.fetch(params, source, lambda results: found.extend(read for _, read in results))
        return found[0]

    def append(follower: Replica, count: int, read: PartitionRead) -> None:
        for _ in range(count):
            follower.disk.append()
        follower.log.update_high_watermark(read.high_watermark)

    reads = fetch(one), fetch(two)
    assert [read.high_watermark for read in reads] == [0, 0]
    append(one, 3, reads[0])
    append(two, 4, reads[1])
    assert (one.offsets, two.offsets) == ((3, 0), (4, 0))
    leader.append(*[b"m"] * 10)
    reads = fetch(one), fetch(two)
    assert leader.offsets == (15, 3)
    append(one, 12, fetch(one))
    append(two, 11, fetch(two))
    assert (one.offsets, two.offsets) == ((15, 3), (15, 3))


@story
async def test_w8_3_the_watermark_is_the_least_end_in_the_isr() -> None:
    """W8.3: ends 9, 7 and 6 give 6; without the one that lags it is 7."""
    _, b = pair()
    Replica(3, b.world)
    b.lead(0, isr=(1, 2, 3))
    b.append(*[b"m"] * 9)
    b.partition.followers[1].log_end_offset = 7
    b.partition.followers[3].log_end_offset = 6
    assert b.partition.maybe_raise_high_watermark(0)
    assert b.log.high_watermark == 6
    b.partition.followers[3].last_caught_up_ms = b.partition.followers[1].last_caught_up_ms = -1e9
    b.partition.isr = Committed(frozenset({1, 2}))
    assert b.partition.maybe_raise_high_watermark(0)
    assert b.log.high_watermark == 7


@pytest.mark.parametrize("version", VERSIONS)
@story
async def test_w8_8_epochs_keep_what_the_watermark_would_have_lost(version: str) -> None:
    """W8.8 (and W8.6, which cutting at the watermark would be): A has m2, but died before it heard of watermark 2."""
    a, b = pair(version)
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1", b"m2")
    await a.caught_up(b)
    await a.crash(high_watermark=1)
    a.restart()
    a.follow(b, 0)
    await a.caught_up(b)
    assert a.values == [b"m1", b"m2"]
    await b.crash()
    a.lead(1, isr=(1,))
    assert a.values == [b"m1", b"m2"]
    b.restart()
    b.follow(a, 1)
    a.append(b"m3")
    await b.caught_up(a)
    assert b.values == [b"m1", b"m2", b"m3"]


@pytest.mark.parametrize("version", VERSIONS)
@story
async def test_w8_9_epochs_cut_what_the_watermark_would_have_kept(version: str) -> None:
    """W8.9 (and W8.7, the divergence): A has [m1, m2], B [m1]; B comes back first and writes m3."""
    a, b = pair(version)
    a.lead(0, isr=(1, 2))
    b.follow(a, 0)
    a.append(b"m1")
    await b.caught_up(a)
    await b.crash()
    a.append(b"m2")
    await a.crash(high_watermark=2)
    b.restart()
    b.lead(1, isr=(2,))
    b.append(b"m3")
    a.restart()
    a.follow(b, 1)
    await a.caught_up(b)
    assert a.values == b.values == [b"m1", b"m3"]
    assert a.offsets == b.offsets == (2, 2)
    assert a.log.epochs.latest == b.log.epochs.latest == 1


@pytest.mark.parametrize("version", VERSIONS)
@story
async def test_leaders_in_quick_succession_are_told_apart_epoch_by_epoch(version: str) -> None:
    """KIP-279: two replicas wrote different epochs at the same offsets; one question is not enough to find the fork."""
    a, b = pair(version)
    a.lead(0, isr=(1, 2))
    b.follow(a, 0)
    a.append(b"common")
    await b.caught_up(a)
    await b.crash()
    for epoch in (1, 3, 5):
        a.lead(epoch, isr=(1,))
        a.append(b"a%d" % epoch)
    await a.crash(high_watermark=1)
    b.restart()
    for epoch in (2, 4, 6):
        b.lead(epoch, isr=(2,))
        b.append(b"b%d" % epoch)
    a.restart()
    a.follow(b, 6)
    await a.caught_up(b)
    assert a.values == b.values == [b"common", b"b2", b"b4", b"b6"]
    assert a.log.epochs.entries() == b.log.epochs.entries()


@story
async def test_before_there_were_epochs_a_follower_cuts_at_its_watermark() -> None:
    a, b = pair("0.10.2")
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1", b"m2")
    await a.until(lambda: a.log.log_end_offset == 2)
    await a.crash(high_watermark=1)
    await b.crash()
    a.restart()
    a.follow(b, 0)
    await a.until(lambda: a.log.log_end_offset == 1)
    b.restart()
    b.lead(0, isr=(1, 2))
    await a.caught_up(b)
    assert len(a.values) == 2


@story
async def test_a_follower_that_was_away_for_long_begins_anew_where_the_leader_does() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    a.fetchers.stop([T0])
    b.partition.isr = Committed(frozenset({2}))
    b.partition.followers[1].last_caught_up_ms = -1e9
    b.append(*[b"x"] * 9)
    assert b.offsets == (10, 10)
    b.log.roll(0)
    b.log.advance_log_start_offset(7)
    a.follow(b, 0)
    await a.caught_up(b)
    assert a.log.log_start_offset == 7
    assert len(a.values) == 3


@story
async def test_a_follower_longer_than_an_uncleanly_elected_leader_is_cut_to_it() -> None:
    a, b = pair()
    for _ in range(3):
        a.disk.append(batch([b"old"]), epoch=0)
    b.lead(1, isr=(2,))
    b.append(b"new")
    a.follow(b, 1)
    await a.caught_up(b)
    assert a.values == [b"new"]


@story
async def test_the_log_start_of_the_leader_is_taken_over() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1", b"m2", b"m3")
    await a.caught_up(b)
    b.log.advance_log_start_offset(2)
    b.manager.parked.note_change(b.partition, watermark_raised=False)
    await a.until(lambda: a.log.log_start_offset == 2)
    await b.until(lambda: b.partition.followers[1].log_start_offset == 2)


@story
async def test_acks_all_is_answered_when_the_follower_has_it_and_times_out_while_it_is_down() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    answers = b.append(b"m1", acks=-1)
    assert answers == []
    await b.until(lambda: answers)
    assert answers[0].error is ErrorCode.NONE
    await a.crash()
    answers = b.append(b"m2", acks=-1)
    await b.until(lambda: answers)
    assert answers[0].error is ErrorCode.REQUEST_TIMED_OUT


@story
async def test_w8_11_acks_one_loses_what_no_follower_had_and_acks_all_says_so() -> None:
    """W8.11: the leader dies before followers fetch. acks=1 was acknowledged and is lost; acks=-1 gets an error."""
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    a.fetchers.stop([T0])
    (lost,) = b.append(b"m2", acks=1)
    assert lost.error is ErrorCode.NONE
    refused = b.append(b"m3", acks=-1, timeout_ms=60_000)
    await asyncio.sleep(1)
    assert refused == []
    a.lead(1, isr=(1,))
    b.follow(a, 1)
    await b.until(lambda: refused)
    assert refused[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    await b.caught_up(a)
    assert a.values == b.values == [b"m1"]


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
async def test_a_dead_leader_is_tried_until_it_is_back() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    await b.crash()
    await asyncio.sleep(60)
    b.restart()
    b.lead(0, isr=(1, 2))
    b.append(b"m2")
    await a.caught_up(b)
    assert not a.fetchers.failed


@story
async def test_a_fenced_follower_waits_for_the_controller() -> None:
    a, b = pair()
    b.lead(3, isr=(1, 2))
    a.follow(b, 2)
    await a.until(lambda: a.fetchers.failed == {T0})
    b.append(b"m1")
    a.follow(b, 3)
    await a.caught_up(b)
    assert not a.fetchers.failed


@story
async def test_a_follower_ahead_of_its_leader_in_epochs_is_patient() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 1)
    await asyncio.sleep(5)
    assert not a.fetchers.failed
    b.lead(1, isr=(1, 2))
    b.append(b"m1")
    await a.caught_up(b)


@story
async def test_a_follower_on_a_failed_disk_gives_the_partition_up() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    a.disk.log.failures.let_go("gone")
    b.append(b"m2")
    await a.until(lambda: a.fetchers.failed == {T0})


@story
async def test_what_arrives_for_a_partition_that_leads_meanwhile_is_dropped() -> None:
    a, b = pair()
    b.lead(0, isr=(1, 2))
    a.follow(b, 0)
    b.append(b"m1")
    await a.caught_up(b)
    b.append(b"m2")
    a.lead(1, isr=(1,))
    await asyncio.sleep(5)
    assert a.values == [b"m1"]


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
        assert isinstance(partition.isr, Expanding)
        partition.commit_isr(partition.isr, 1, leader.clock.monotonic_ms())

    leader.on_isr_pending = joining
    behind.follow(leader, 0)
    await behind.until(lambda: seen)
    assert seen == [(20, 20)]
    assert len(leader.fetched) > 20  # it was behind for as many rounds
    assert leader.partition.isr == Committed(frozenset({1, 2}))
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

"""In-sync sets written to ZooKeeper, and the controller told in batches."""

import asyncio
from collections.abc import Iterable

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.leader.isr_updates import LONGEST_SILENCE_MS, NOTICE_CHECK_MS, QUIET_MS, IsrUpdates
from kafka_py.replication.state.isr import CommittedIsr, PendingExpandIsr, PendingShrinkIsr
from kafka_py.replication.state.partition import RECENT_FETCH_MS, Partition
from kafka_py.replication.state.reads import FetchEntry
from kafka_py.testing.fakes.copying import T0, CopyingWorld, Replica
from kafka_py.testing.virtual_time import in_virtual_time
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.session import ZkError


class FakeStore:
    """Notes what is written. versions: what the next writes are answered with; None is a refusal.

    announcements: what the next announcements raise, if anything.
    """

    def __init__(self, *versions: int | ZkError | None) -> None:
        self.versions = list(versions)
        self.written: list[LeaderAndIsr] = []
        self.announced: list[list[TopicPartition]] = []
        self.announcements: list[ZkError | None] = []
        self.held: asyncio.Event | None = None

    async def write_isr(self, partition: TopicPartition, state: LeaderAndIsr) -> int | None:
        self.written.append(state)
        if self.held is not None:
            await self.held.wait()
        version = self.versions.pop(0)
        if isinstance(version, ZkError):
            raise version
        return version

    async def announce_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        self.announced.append(list(partitions))
        error = self.announcements.pop(0) if self.announcements else None
        if error is not None:
            raise error


class Leader:
    """Replica 1 leads T0 with replicas 1, 2, 3."""

    def __init__(self, *versions: int | ZkError | None, isr: tuple[int, ...] = (1, 2)) -> None:
        self.world = CopyingWorld()
        self.me, _, _ = (Replica(number, self.world) for number in (1, 2, 3))
        self.me.lead(4, isr=isr)
        self.store = FakeStore(*versions)
        self.committed: list[tuple[Partition, bool]] = []
        self.updates = IsrUpdates(
            self.store.write_isr, self.store.announce_isr_changes, self.clock, self.me.metrics.manager,
            lambda *change: self.committed.append(change),
        )  # fmt: skip

    @property
    def clock(self) -> Clock:
        return self.me.clock

    @property
    def partition(self) -> Partition:
        return self.me.partition

    def pending(self, isr: PendingExpandIsr | PendingShrinkIsr) -> None:
        self.partition.isr = isr
        self.updates.submit(self.partition)


@in_virtual_time
async def test_an_expansion_is_written_with_what_the_leader_knows_and_then_counts() -> None:
    leader = Leader(8)
    leader.pending(PendingExpandIsr(frozenset({1, 2}), adding=3))
    await asyncio.sleep(0.01)
    assert leader.store.written == [LeaderAndIsr(1, 4, (1, 2, 3), 1, 0)]
    assert leader.partition.isr == CommittedIsr(frozenset({1, 2, 3}))
    assert leader.partition.zk_version == 8
    assert leader.me.metrics.manager.isr_expands == 1


@in_virtual_time
async def test_a_shrink_lets_the_watermark_go_on_once_it_is_written() -> None:
    leader = Leader(8)
    leader.me.append(b"m")
    leader.partition.followers[2].last_caught_up_ms = leader.partition.followers[3].last_caught_up_ms = -1e9
    leader.store.held = asyncio.Event()
    leader.pending(PendingShrinkIsr(frozenset({1, 2}), frozenset({2})))
    await asyncio.sleep(1)
    assert leader.me.offsets == (1, 0)
    leader.store.held.set()
    await asyncio.sleep(1)
    assert leader.me.offsets == (1, 1)
    assert leader.committed == [(leader.partition, True)]
    assert leader.me.metrics.manager.isr_shrinks == 1


@in_virtual_time
async def test_a_replica_that_caught_up_while_another_change_was_pending_joins_without_a_further_fetch() -> None:
    """A fetch session does not name a partition again that nothing is appended to."""
    leader = Leader(8, 9)
    leader.partition.followers[3].last_caught_up_ms = -1e9
    leader.store.held = asyncio.Event()
    leader.pending(PendingShrinkIsr(frozenset({1, 2}), frozenset({2})))
    fetched = FetchEntry(T0, 0, max_bytes=1, current_leader_epoch=4)
    leader.partition.record_follower_fetch(2, fetched, 0, leader.clock.monotonic_ms())
    await asyncio.sleep(0.1)
    assert leader.partition.isr.in_flight
    leader.store.held.set()
    await asyncio.sleep(0.1)
    assert [state.isr for state in leader.store.written] == [(1,), (1, 2)]
    assert leader.partition.isr == CommittedIsr(frozenset({1, 2}))
    assert (leader.me.metrics.manager.isr_shrinks, leader.me.metrics.manager.isr_expands) == (1, 1)


@in_virtual_time
async def test_a_replica_that_has_not_fetched_since_does_not_join_when_the_other_change_is_written() -> None:
    leader = Leader(8)
    leader.partition.followers[3].last_caught_up_ms = -1e9
    leader.store.held = asyncio.Event()
    leader.pending(PendingShrinkIsr(frozenset({1, 2}), frozenset({2})))
    fetched = FetchEntry(T0, 0, max_bytes=1, current_leader_epoch=4)
    leader.partition.record_follower_fetch(2, fetched, 0, leader.clock.monotonic_ms())
    await asyncio.sleep(RECENT_FETCH_MS / 1000 + 0.1)
    leader.store.held.set()
    await asyncio.sleep(0.1)
    assert leader.partition.isr == CommittedIsr(frozenset({1}))


@in_virtual_time
async def test_a_refused_change_is_counted_and_not_written_again() -> None:
    leader = Leader(None)
    leader.pending(PendingShrinkIsr(frozenset({1, 2}), frozenset({2})))
    await asyncio.sleep(100)
    assert leader.partition.isr.in_flight
    assert len(leader.store.written) == 1
    assert leader.me.metrics.manager.failed_isr_updates == 1


@in_virtual_time
async def test_a_new_role_ends_the_attempts_to_write_for_the_former_one() -> None:
    leader = Leader(*[ZkError("lost")] * 3, 8)
    leader.pending(PendingShrinkIsr(frozenset({1, 2}), frozenset({2})))
    await asyncio.sleep(0.5)
    leader.me.lead(5, isr=(1, 2))
    await asyncio.sleep(60)
    assert len(leader.store.written) == 1
    assert leader.partition.isr == CommittedIsr(frozenset({1, 2}))
    assert not leader.committed


@in_virtual_time
async def test_the_controller_hears_when_it_has_been_quiet_for_a_while() -> None:
    leader = Leader(8, 9)
    leader.pending(PendingExpandIsr(frozenset({1, 2}), adding=3))
    await asyncio.sleep(QUIET_MS / 1000)
    leader.updates.announce_if_due()
    assert leader.store.announced == []
    await asyncio.sleep(NOTICE_CHECK_MS / 1000)
    leader.updates.announce_if_due()
    await asyncio.sleep(0.01)
    assert leader.store.announced == [[T0]]
    leader.updates.announce_if_due()
    await asyncio.sleep(LONGEST_SILENCE_MS / 1000)
    leader.updates.announce_if_due()
    assert leader.store.announced == [[T0]]


@in_virtual_time
async def test_an_announcement_that_failed_is_made_again_and_later_ones_too() -> None:
    leader = Leader(8, 9, 10)
    leader.store.announcements = [ZkError("lost"), None, None]
    sets = (PendingExpandIsr(frozenset({1, 2}), adding=3), PendingShrinkIsr(frozenset({1, 2, 3}), frozenset({3})))
    for number, announced in ((0, 2), (1, 3)):
        leader.pending(sets[number])
        for _ in range(10):
            await asyncio.sleep(NOTICE_CHECK_MS / 1000)
            leader.updates.announce_if_due()
        assert leader.store.announced == [[T0]] * announced


@in_virtual_time
async def test_the_controller_hears_once_a_minute_though_there_is_never_quiet() -> None:
    leader = Leader(*range(100))
    sets = (PendingExpandIsr(frozenset({1, 2}), adding=3), PendingShrinkIsr(frozenset({1, 2, 3}), frozenset({3})))
    for number in range(30):
        leader.pending(sets[number % 2])
        await asyncio.sleep(NOTICE_CHECK_MS / 1000)
        leader.updates.announce_if_due()
    await asyncio.sleep(0.01)
    assert leader.store.announced == [[T0]]

"""Fetch sessions: what an incremental answer holds, and which sessions are kept (KIP-227)."""

import asyncio
import itertools
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.requests import fetch_contexts, fetch_session_cache
from kafka_py.broker.requests.fetch_contexts import FetchContext, IncrementalFetch, open_context, open_in_turns
from kafka_py.broker.requests.fetch_session_cache import SessionCache
from kafka_py.replication.state.reads import FetchEntry, FetchParams, Isolation, PartitionRead
from kafka_py.replication.state.roles import DELETED
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.logs import slice_bytes
from kafka_py.testing.fakes.replicas import ReplicaWorld, role
from kafka_py.wire.fetch_epochs import FINAL_EPOCH, INITIAL_EPOCH, MAX_EPOCH, NO_SESSION, next_epoch

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


class Reader:
    """A client that fetches through sessions of one broker."""

    def __init__(self, slots: int = 10) -> None:
        self.world = ReplicaWorld()
        ids = itertools.count(100)
        self.cache = SessionCache(slots, lambda: next(ids), self.world.registry)
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self.answers: list[dict[TopicPartition, PartitionRead]] = []

    def open(
        self, *entries: FetchEntry, forget: tuple[TopicPartition, ...] = (), is_privileged: bool = False
    ) -> FetchContext:
        return open_context(
            self.cache, self.session_id, self.epoch, list(entries), forget,
            is_privileged=is_privileged, now_ms=self.world.clock.monotonic_ms(),
        )  # fmt: skip

    def fetch(self, *entries: FetchEntry, forget: tuple[TopicPartition, ...] = (), max_wait_ms: int = 0,
              **limits: int) -> None:  # fmt: skip
        """One fetch; its answer goes to `answers`, now or when it is woken."""
        context = self.open(*entries, forget=forget)
        self.epoch = next_epoch(self.epoch)
        world = self.world
        world.fetched.clear()
        world.fetch(source=context, max_wait_ms=max_wait_ms, **limits)
        self.pending = context
        self.take()

    def take(self) -> None:
        """The answer, if it has come."""
        if self.world.fetched:
            self.session_id, changed = self.pending.finish(self.world.fetched.pop())
            self.answers.append({entry.topic_partition: read for entry, read in changed})

    @property
    def answer(self) -> dict[TopicPartition, PartitionRead]:
        return self.answers[-1]


@pytest.fixture
def reader() -> Reader:
    reader = Reader()
    for topic_partition in (T0, T1, T2):
        reader.world.lead(topic_partition)
    return reader


def entry(topic_partition: TopicPartition, offset: int = 0, max_bytes: int = 1000) -> FetchEntry:
    return FetchEntry(topic_partition, offset, max_bytes)


def test_a_full_fetch_opens_a_session_and_answers_everything(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1))
    assert reader.session_id == 100
    assert list(reader.answer) == [T0, T1]


def test_an_incremental_fetch_of_nothing_new_answers_no_partition_and_reads_none(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1))
    reader.fetch()
    reader.fetch()
    assert reader.answer == {}
    context = reader.open()
    assert isinstance(context, IncrementalFetch)
    assert context.entries() == []


def test_an_append_puts_just_that_partition_into_the_next_answer(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1), entry(T2))
    reader.fetch()
    reader.world.append(T1)
    reader.fetch()
    assert list(reader.answer) == [T1]
    assert slice_bytes(reader.answer[T1].records) == b"abc"


def test_records_come_again_until_the_reader_moves_on(reader: Reader) -> None:
    reader.fetch(entry(T0))
    reader.world.append(T0)
    reader.fetch()
    reader.fetch()
    assert list(reader.answer) == [T0]
    reader.fetch(entry(T0, 3))
    assert reader.answer == {}


def test_a_moved_high_watermark_is_told_without_records(reader: Reader) -> None:
    log = reader.world.lead(T0, isr=(1, 2))
    reader.world.append(T0)
    reader.fetch(entry(T0, 3))
    reader.fetch()
    assert reader.answer == {}
    reader.world.fetch(entry(T0, 3), replica_id=2, max_wait_ms=0)
    assert log.high_watermark == 3
    reader.fetch()
    assert reader.answer[T0].high_watermark == 3
    reader.fetch()
    assert reader.answer == {}


def test_a_moved_log_start_is_told(reader: Reader) -> None:
    reader.world.append(T0)
    reader.fetch(entry(T0, 3))
    reader.fetch()
    log = reader.world.log_dirs.logs[T0]
    log.log_start_offset = 2
    reader.world.manager.fetches.notice_log_starts()
    reader.fetch()
    assert reader.answer[T0].log_start_offset == 2


def test_an_error_is_told_each_time_and_the_watermark_again_after_it(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1))
    reader.fetch()
    partition = reader.world.partition(T0)
    partition.become_follower(role(leader=2, epoch=1), partition.log)  # type: ignore[arg-type]
    reader.world.manager.parked.complete(T0, partition)
    for _ in range(2):
        reader.fetch()
        assert reader.answer[T0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition.become_leader(role(epoch=2), partition.log, 0)  # type: ignore[arg-type]
    reader.fetch()
    assert reader.answer[T0].error is ErrorCode.NONE
    reader.fetch()
    assert reader.answer == {}


def test_an_unknown_partition_of_a_session_appears_when_it_comes_into_being(reader: Reader) -> None:
    new = TopicPartition("new", 0)
    reader.fetch(entry(T0), entry(new))
    assert reader.answer[new].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    reader.world.lead(new)
    reader.world.append(new)
    reader.fetch()
    assert slice_bytes(reader.answer[new].records) == b"abc"


def test_a_long_poll_of_a_session_is_woken_by_an_append_to_any_of_its_partitions(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1))
    reader.fetch(max_wait_ms=500)
    answered = len(reader.answers)
    reader.world.append(T1)
    reader.world.run_checks()
    reader.take()
    assert len(reader.answers) == answered + 1
    assert list(reader.answer) == [T1]


def test_a_long_poll_is_woken_by_the_partition_that_the_same_fetch_added(reader: Reader) -> None:
    """docs/reference/pitfalls.md, section 1: a long poll that is not woken by the session's new partition."""
    reader.fetch(entry(T0))
    reader.fetch(entry(T2), max_wait_ms=500)
    answered = len(reader.answers)
    reader.world.append(T2)
    reader.world.run_checks()
    reader.take()
    assert len(reader.answers) == answered + 1
    assert list(reader.answer) == [T2]


def test_a_long_poll_of_a_session_waits_for_min_bytes_over_what_has_news(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1))
    reader.fetch(max_wait_ms=500, min_bytes=6)
    answered = len(reader.answers)
    for one in (T0, T1):
        assert len(reader.answers) == answered
        reader.world.append(one)
        reader.world.run_checks()
        reader.take()
    assert set(reader.answer) == {T0, T1}


def test_a_long_poll_in_a_session_is_woken_when_its_partition_is_taken_away(reader: Reader) -> None:
    reader.fetch(entry(T0))
    reader.fetch(max_wait_ms=500)
    world = reader.world
    partition = world.manager.hosted.partitions.pop(T0)
    partition.leave(DELETED)
    world.known.discard(T0)
    world.manager.parked.complete(T0, partition)
    reader.take()
    assert reader.answer[T0].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_answered_partitions_come_last_next_time(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1), entry(T2))
    reader.fetch()
    reader.world.append(T0, T1)
    reader.fetch(max_bytes=3)
    assert list(reader.answer) == [T0, T1]  # T1 for its watermark alone: the limit was used up
    assert [reader.answer[one].size for one in (T0, T1)] == [3, 0]
    reader.world.append(T2)
    reader.fetch(max_bytes=3)
    assert next(iter(reader.answer)) == T2


def test_a_partition_that_the_limit_left_out_is_read_by_the_next_fetch(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1))
    reader.world.append(T0, T1)
    reader.fetch(max_bytes=3)
    reader.fetch(entry(T0, 3))
    assert slice_bytes(reader.answer[T1].records) == b"abc"


def test_forgotten_partitions_are_gone_after_the_additions(reader: Reader) -> None:
    reader.fetch(entry(T0), entry(T1))
    reader.fetch(entry(T2), forget=(T0, T2))
    session = reader.cache.get(reader.session_id)
    assert session is not None and list(session.entries) == [T1]
    reader.world.append(T0)
    reader.fetch()
    assert T0 not in reader.answer


def test_a_session_left_without_partitions_is_closed(reader: Reader) -> None:
    reader.fetch(entry(T0))
    reader.fetch(forget=(T0,))
    assert reader.session_id == NO_SESSION
    assert len(reader.cache) == 0


@pytest.mark.parametrize(
    ("session_id", "epoch", "code"),
    [
        (999, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (100, 5, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
    ],
)
def test_unknown_sessions_and_wrong_epochs_are_refused(
    reader: Reader, session_id: int, epoch: int, code: ErrorCode
) -> None:
    reader.fetch(entry(T0))
    reader.session_id, reader.epoch = session_id, epoch
    with pytest.raises(KafkaError) as error:
        reader.open()
    assert error.value.code is code


def test_a_full_fetch_drops_the_session_that_it_names(reader: Reader) -> None:
    reader.fetch(entry(T0))
    reader.epoch = FINAL_EPOCH
    reader.fetch(entry(T0))
    assert reader.session_id == NO_SESSION
    assert len(reader.cache) == 0
    assert reader.world.partition(T0).listeners == {}


def test_after_the_largest_epoch_comes_one() -> None:
    assert [next_epoch(epoch) for epoch in (0, 1, MAX_EPOCH)] == [1, 2, 1]


# Which sessions are kept


def cache_of(*sizes: int, slots: int = 2, privileged: bool = False) -> tuple[Reader, SessionCache]:
    reader = Reader(slots)
    for size in sizes:
        session = reader.cache.try_create(size, is_privileged=privileged, now_ms=0)
        assert session is not None
        for number in range(size):
            session.add(entry(TopicPartition("s", number)))
    return reader, reader.cache


def test_a_full_cache_refuses_a_consumer_while_all_sessions_are_young() -> None:
    _, cache = cache_of(1, 1)
    assert cache.try_create(50, is_privileged=False, now_ms=1000) is None


def test_a_session_idle_for_two_minutes_makes_room() -> None:
    _, cache = cache_of(5, 5)
    assert cache.try_create(1, is_privileged=False, now_ms=SessionCache.EVICTION_AGE_MS + 1) is not None
    assert cache.get(100) is None
    assert cache.metrics.evictions == 1


def test_a_follower_pushes_out_the_smallest_session_of_a_consumer() -> None:
    _, cache = cache_of(5, 3)
    assert cache.try_create(1, is_privileged=True, now_ms=1000) is not None
    assert cache.get(101) is None
    assert cache.get(100) is not None


def test_a_consumer_pushes_out_an_old_session_only_if_it_is_not_larger_and_not_a_followers() -> None:
    old = SessionCache.EVICTION_AGE_MS + 1
    for size, privileged, fits in ((2, False, False), (3, False, True), (50, True, False)):
        _, cache = cache_of(5, 3, privileged=privileged)
        for session_id in (100, 101):
            session = cache.get(session_id)
            assert session is not None
            cache.touch(session, old - 10)
        assert (cache.try_create(size, is_privileged=False, now_ms=old) is not None) is fits


def test_gauges_count_sessions_and_their_partitions() -> None:
    _, cache = cache_of(5, 3)
    assert (cache.metrics.sessions, cache.metrics.partitions) == (2, 8)


def test_a_watermark_that_the_fetch_itself_has_raised_is_told_by_the_next_one(reader: Reader) -> None:
    """The follower's position raises it after the read; another partition's records answer the fetch at once."""
    for topic_partition in (T0, T1):
        reader.world.lead(topic_partition, isr=(1, 2))
    reader.fetch(entry(T0), entry(T1), replica_id=2)
    reader.world.append(T0)
    reader.fetch(replica_id=2)
    assert reader.answer[T0].high_watermark == 0
    reader.world.append(T1)
    reader.fetch(entry(T0, 3), replica_id=2)
    assert list(reader.answer) == [T1]
    log = reader.world.partition(T0).log
    assert log is not None
    assert log.high_watermark == 3
    reader.fetch(entry(T1, 3), replica_id=2)
    assert reader.answer[T0].high_watermark == 3


def test_a_session_of_many_partitions_is_opened_in_turns_as_it_is_at_once() -> None:
    many = [TopicPartition("many", number) for number in range(600)]

    async def scenario(cache: SessionCache, *, in_turns: bool) -> tuple[int, list[TopicPartition], int]:
        reader = Reader()
        for one in many:
            reader.world.lead(one)
        wanted = [FetchEntry(one, 0, 1000) for one in many]
        params = FetchParams(-1, 0, 1, 1_000_000, Isolation.READ_UNCOMMITTED)
        for epoch, session_id in ((0, 0), (1, 7)):
            opening: dict[str, Any] = {"is_privileged": False, "now_ms": 0.0}
            entries = wanted if not epoch else wanted[:500]
            if in_turns:
                context = await open_in_turns(cache, session_id, epoch, entries, (), **opening)
                results = await reader.world.manager.fetches.fetch_in_turns(params, context)
                found, _ = await context.finish_in_turns(results)
            else:
                context = open_context(cache, session_id, epoch, entries, (), **opening)
                found, _ = context.finish(reader.world.manager.fetches.read_all(params, context.entries()))
        session = cache.get(found)
        assert session is not None
        return found, list(session.entries), len(session.changed)

    def fresh() -> SessionCache:
        return SessionCache(10, lambda: 7, MetricRegistry(ManualClock()))

    assert asyncio.run(scenario(fresh(), in_turns=True)) == asyncio.run(scenario(fresh(), in_turns=False))


def test_what_a_large_fetch_names_and_forgets_is_forgotten_and_the_rest_of_it_stays() -> None:
    """As a small one does it: first all is taken in that the fetch names, then it forgets."""
    many = [TopicPartition("many", number) for number in range(600)]

    async def scenario() -> None:
        reader = Reader()
        cache = SessionCache(10, lambda: 7, MetricRegistry(ManualClock()))
        opening: dict[str, Any] = {"is_privileged": False, "now_ms": 0.0}
        context = open_context(cache, 0, 0, [FetchEntry(T0, 0, 1000)], (), **opening)
        params = FetchParams(-1, 0, 1, 1_000_000, Isolation.READ_UNCOMMITTED)
        context.finish(reader.world.manager.fetches.read_all(params, context.entries()))
        wanted = [FetchEntry(one, 0, 1000) for one in many]
        forgotten = [T0, *many[:256], many[-1]]
        opened = await open_in_turns(cache, 7, 1, wanted, forgotten, **opening)
        assert isinstance(opened, IncrementalFetch)
        assert list(opened.session.entries) == many[256:-1]

    asyncio.run(scenario())


def test_a_session_that_is_pushed_out_while_its_fetch_is_throttled_listens_to_nothing(reader: Reader) -> None:
    reader.fetch(entry(T0))
    session = reader.cache.get(reader.session_id)
    assert session is not None
    context = reader.open()
    context.gave_nothing()
    assert list(session.entries) == [T0]
    reader.cache.remove(reader.session_id)
    partition = reader.world.partition(T0)
    session.add(entry(T0)).listen_to(partition)  # by what is read in the turns of the fetch
    context.gave_nothing()
    assert not partition.listeners


def test_a_session_that_is_pushed_out_while_it_is_opened_listens_to_nothing() -> None:
    many = [TopicPartition("many", number) for number in range(600)]

    async def scenario() -> None:
        reader = Reader()
        for one in many:
            reader.world.lead(one)
        cache = SessionCache(10, lambda: 7, MetricRegistry(ManualClock()))
        wanted = [FetchEntry(one, 0, 1000) for one in many]
        context = open_context(cache, 0, 0, wanted, (), is_privileged=False, now_ms=0.0)
        params = FetchParams(-1, 0, 1, 1_000_000, Isolation.READ_UNCOMMITTED)
        results = await reader.world.manager.fetches.fetch_in_turns(params, context)
        finishing = asyncio.ensure_future(context.finish_in_turns(results))
        await asyncio.sleep(0)
        cache.remove(7)
        await finishing
        assert not any(reader.world.partition(one).listeners for one in many)

    asyncio.run(scenario())


def test_a_consumers_session_cannot_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_session_cache, "MOST_PARTITIONS", 3)
    monkeypatch.setattr(fetch_contexts, "MOST_PARTITIONS", 3)
    reader = Reader()
    names = [FetchEntry(TopicPartition(f"invented-{number}", 0), 0, 1000) for number in range(5)]
    reader.fetch(*names[:2])
    assert len(reader.cache) == 1
    reader.fetch(names[2])
    for more in (names[3:4], names):
        with pytest.raises(KafkaError) as error:
            reader.open(*more)
        assert error.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert len(reader.cache) == 0
        reader.session_id, reader.epoch = NO_SESSION, INITIAL_EPOCH
        reader.fetch(*names[:2])


def test_sessions_of_consumers_have_a_bound_together_and_those_of_followers_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetch_session_cache, "MOST_PARTITIONS", 3)
    monkeypatch.setattr(fetch_contexts, "MOST_PARTITIONS", 3)
    monkeypatch.setattr(fetch_session_cache, "MOST_CACHED_PARTITIONS", 5)
    cache = SessionCache(10, iter(range(1, 100)).__next__, ReplicaWorld().registry)

    def session_of(size: int, *, is_privileged: bool = False) -> bool:
        made = cache.try_create(size, is_privileged=is_privileged, now_ms=0.0)
        for number in range(size if made is not None else 0):
            assert made is not None
            made.add(FetchEntry(TopicPartition("t", number), 0, 1000))
        return made is not None

    assert not session_of(4)
    assert session_of(3)
    assert not session_of(3)
    assert session_of(2)
    assert session_of(100, is_privileged=True)

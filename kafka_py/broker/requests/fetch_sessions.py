"""Fetch sessions (KIP-227): a reader names its partitions once, and each fetch then costs what has changed.

A session keeps the set of its partitions that can have news. Appends, watermark moves and role changes put partitions
into it (each partition tells its listeners); a read that finds nothing more takes them out. So an idle partition costs
nothing per fetch, neither in the request nor in the broker. Synchronous but for answers of very many partitions; knows
no versions and no sockets.
Source: docs/reference/replication.md, section 10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import NoReturn

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Gauge, Rate
from kafka_py.base.turns import sliced
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.progress import NEVER
from kafka_py.replication.state.reads import FetchEntry, FetchResults, PartitionRead, PlainSource

NO_SESSION = 0
"""The session id of a reader without one."""
INITIAL_EPOCH = 0
"""A full fetch that wants a new session."""
FINAL_EPOCH = -1
"""A full fetch without session; closes the one it names."""
MAX_EPOCH = (1 << 31) - 1
MOST_PARTITIONS = 20_000
"""Of one consumer's session; a consumer that reads more names them all each time. Followers have no bound."""
MOST_CACHED_PARTITIONS = 500_000
"""Of all sessions of consumers together, about 200 MB: a session may name partitions that do not exist."""


def next_epoch(epoch: int) -> int:
    """Epochs of incremental fetches go 1, 2, ... 2^31-1, 1."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


class SessionEntry(FetchEntry):
    """One partition of a session, with what was last sent of it.

    high_watermark: -1 when it must be sent again. order: position in the session; answered partitions move to the end.
    """

    __slots__ = ("heard_from", "high_watermark", "order", "sent_log_start_offset", "session")

    def __init__(self, session: FetchSession, entry: FetchEntry, order: int) -> None:
        super().__init__(
            entry.topic_partition,
            entry.fetch_offset,
            entry.max_bytes,
            entry.current_leader_epoch,
            entry.last_fetched_epoch,
            entry.log_start_offset,
        )
        self.session = session
        self.high_watermark = -1
        self.sent_log_start_offset = -1
        self.order = order
        self.heard_from: Partition | None = None

    @property
    def last_asked_ms(self) -> float:
        """As FetchEntry: -inf once the session has forgotten it."""
        session = self.session
        return session.last_used_ms if session.entries.get(self.topic_partition) is self else NEVER

    def on_news(self) -> Hashable | None:
        """The partition moved: the session has something to look at."""
        session = self.session
        session.news[self.topic_partition] = self
        if not session.is_parked:
            return None
        session.fresh[self] = None
        return session

    def take(self, wanted: FetchEntry) -> None:
        """What the request says of the partition now."""
        self.fetch_offset = wanted.fetch_offset
        self.max_bytes = wanted.max_bytes
        self.current_leader_epoch = wanted.current_leader_epoch
        self.last_fetched_epoch = wanted.last_fetched_epoch
        self.log_start_offset = wanted.log_start_offset

    def listen_to(self, partition: Partition | None) -> None:
        """Hears of this partition's news from now on, and no longer of the one before."""
        if partition is self.heard_from:
            return
        if self.heard_from is not None:
            self.heard_from.listeners.pop(self, None)
        if partition is not None:
            partition.listeners[self] = None
        self.heard_from = partition

    def note_answer(self, read: PartitionRead) -> bool:
        """Compares a read with what was sent last; returns whether the answer must name the partition.

        Notes the read as sent, and takes the partition off the news when nothing more is to be found in it.
        """
        if read.error is not ErrorCode.NONE:
            self.high_watermark = -1
            self.listen_to(None)
            return True
        must_answer = (
            read.size > 0
            or read.high_watermark != self.high_watermark
            or read.log_start_offset != self.sent_log_start_offset
            or read.preferred_read_replica >= 0
            or read.diverging is not None
        )
        self.high_watermark = read.high_watermark
        self.sent_log_start_offset = read.log_start_offset
        self.listen_to(read.partition)
        return must_answer


class FetchSession:
    """The state of one reader: its partitions in order, and those with news.

    epoch: the one the next incremental request must carry. fresh: those with news since its fetch was parked.
    """

    __slots__ = (
        "_next_order", "created_ms", "entries", "epoch", "fresh", "id", "is_parked", "is_privileged", "last_used_ms",
        "news",
    )  # fmt: skip

    def __init__(self, session_id: int, *, is_privileged: bool, now_ms: float) -> None:
        self.id = session_id
        self.is_privileged = is_privileged
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.entries: dict[TopicPartition, SessionEntry] = {}
        self.news: dict[TopicPartition, SessionEntry] = {}
        self.fresh: dict[SessionEntry, None] = {}
        self.is_parked = False
        self._next_order = 0

    def add(self, wanted: FetchEntry) -> SessionEntry:
        """A new partition, or new numbers for a known one; either way it may have news."""
        entry = self.entries.get(wanted.topic_partition)
        if entry is None:
            entry = self.entries[wanted.topic_partition] = SessionEntry(self, wanted, self._next_order)
            self._next_order += 1
        else:
            entry.take(wanted)
        self.news[wanted.topic_partition] = entry
        return entry

    def forget(self, topic_partition: TopicPartition) -> None:
        entry = self.entries.pop(topic_partition, None)
        if entry is not None:
            entry.listen_to(None)
            self.news.pop(topic_partition, None)

    def pending(self) -> list[SessionEntry]:
        """The partitions with news, in the order of the session."""
        return sorted(self.news.values(), key=_order_of)

    def answered(self, entry: SessionEntry) -> None:
        """It was named in an answer: the others come first next time."""
        entry.order = self._next_order
        self._next_order += 1

    def close(self) -> None:
        """No partition tells it anything any more."""
        for entry in self.entries.values():
            entry.listen_to(None)
        self.news.clear()


def _order_of(entry: SessionEntry) -> int:
    return entry.order


class SessionMetrics(MetricTable, group="kafka.server:type=FetchSessionCache"):
    """The owner is the cache."""

    sessions = Gauge("NumIncrementalFetchSessions", of=lambda cache: len(cache), about="Cached fetch sessions.")
    partitions = Gauge(
        "NumIncrementalFetchPartitionsCached",
        of=lambda cache: cache.partition_count(),
        about="Partitions over all cached sessions.",
    )
    evictions = Rate(
        "IncrementalFetchSessionEvictionsPerSec", unit="evictions", about="Sessions pushed out of the cache."
    )


class SessionCache:
    """At most `slots` sessions; a new one may push an idle or smaller one out.

    new_id: draws a random id from 1 to 2^31-1.
    """

    EVICTION_AGE_MS = 120_000

    def __init__(self, slots: int, new_id: Callable[[], int], registry: MetricRegistry) -> None:
        self._slots = slots
        self._new_id = new_id
        self._sessions: dict[int, FetchSession] = {}
        self.metrics = SessionMetrics(registry, self)

    def __len__(self) -> int:
        return len(self._sessions)

    def partition_count(self) -> int:
        return sum(len(session.entries) for session in self._sessions.values())

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def touch(self, session: FetchSession, now_ms: float) -> None:
        """Used just now: last in the line of those to be pushed out."""
        session.last_used_ms = now_ms
        self._sessions[session.id] = self._sessions.pop(session.id)

    def remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()

    def end_if_removed(self, session: FetchSession) -> None:
        """A session that was pushed out while a fetch of it took its turns must not listen to partitions."""
        if self._sessions.get(session.id) is not session:
            session.close()

    def try_create(self, size: int, *, is_privileged: bool, now_ms: float) -> FetchSession | None:
        """A new, empty session that will hold `size` partitions; None when it is not worth the room, or too large."""
        if not is_privileged and not self.has_room_for(size, size):
            return None
        if len(self._sessions) >= self._slots and not self._evict_for(size, is_privileged, now_ms):
            return None
        session_id = self._new_id()
        while session_id in self._sessions or session_id == NO_SESSION:
            session_id = self._new_id()
        session = self._sessions[session_id] = FetchSession(session_id, is_privileged=is_privileged, now_ms=now_ms)
        return session

    def has_room_for(self, size: int, more: int) -> bool:
        """Whether a consumer's session may have `size` partitions in all, of which `more` are not counted yet."""
        cached = sum(len(session.entries) for session in self._sessions.values() if not session.is_privileged)
        return size <= MOST_PARTITIONS and cached + more <= MOST_CACHED_PARTITIONS

    def _evict_for(self, size: int, is_privileged: bool, now_ms: float) -> bool:
        """Makes room: the longest idle one if stale; else the smallest one that the newcomer may push out.

        Followers (privileged) may push out any unprivileged or old session, consumers only old ones; and never a
        larger one than the newcomer, by (privileged, size).
        """
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.last_used_ms > self.EVICTION_AGE_MS:
            self._evict(oldest)
            return True
        candidates = [
            session
            for session in self._sessions.values()
            if now_ms - session.created_ms > self.EVICTION_AGE_MS or (is_privileged and not session.is_privileged)
        ]
        if not candidates:
            return False
        victim = min(candidates, key=lambda session: (session.is_privileged, len(session.entries), session.id))
        if (is_privileged, size) < (victim.is_privileged, len(victim.entries)):
            return False
        self._evict(victim)
        return True

    def _evict(self, session: FetchSession) -> None:
        self.remove(session.id)
        self.metrics.evictions += 1


class FullFetch(PlainSource):
    """A fetch that names all its partitions; with INITIAL_EPOCH it asks for a session as well."""

    __slots__ = ("_cache", "_is_privileged", "_now_ms", "_wants_session")

    def __init__(
        self, entries: list[FetchEntry], cache: SessionCache, *, wants_session: bool, is_privileged: bool, now_ms: float
    ) -> None:
        super().__init__(entries)
        self._cache = cache
        self._wants_session = wants_session
        self._is_privileged = is_privileged
        self._now_ms = now_ms

    def finish(self, results: FetchResults) -> tuple[int, FetchResults]:
        """(session id or NO_SESSION, the partitions to answer): all of them, and a session of just these."""
        session = self._new_session(results) if self._wants_session else None
        if session is None:
            return NO_SESSION, results
        for entry, read in results:
            session.add(entry).note_answer(read)
        return session.id, results

    async def finish_in_turns(self, results: FetchResults) -> tuple[int, FetchResults]:
        """As `finish`, in turns with other work."""
        session = self._new_session(results)
        if session is None:
            return NO_SESSION, results
        async for some in sliced(results):
            for entry, read in some:
                session.add(entry).note_answer(read)
        self._cache.end_if_removed(session)
        return session.id, results

    def _new_session(self, results: FetchResults) -> FetchSession | None:
        if not self._wants_session or not results:
            return None
        return self._cache.try_create(len(results), is_privileged=self._is_privileged, now_ms=self._now_ms)


class IncrementalFetch:
    """A fetch of a session: reads only what can have news, answers only what changed."""

    __slots__ = ("_cache", "session")

    def __init__(self, session: FetchSession, cache: SessionCache) -> None:
        self.session = session
        self._cache = cache

    @property
    def size(self) -> int:
        return len(self.session.news)

    def changed(self, key: Hashable) -> list[SessionEntry]:
        """Those with news since it was parked, or since the last call."""
        fresh, self.session.fresh = self.session.fresh, {}
        return list(fresh)

    def entries(self) -> list[SessionEntry]:
        return self.session.pending()

    def watch_keys(self) -> list[Hashable]:
        """The session itself: its partitions wake it through their listeners."""
        return [self.session] if self.session.entries else []

    def parked(self, results: FetchResults) -> None:
        """Makes sure that partitions new to the session are heard, too, or they could not wake it."""
        for entry, read in results:
            assert isinstance(entry, SessionEntry)
            entry.listen_to(read.partition)
        self.session.is_parked = True

    def unparked(self) -> None:
        self.session.is_parked = False
        self.session.fresh = {}

    def finish(self, results: FetchResults) -> tuple[int, FetchResults]:
        """(the session's id, the partitions to answer)."""
        return self.session.id, self._note(results)

    async def finish_in_turns(self, results: FetchResults) -> tuple[int, FetchResults]:
        """As `finish`, in turns with other work."""
        changed: FetchResults = []
        async for some in sliced(results):
            changed += self._note(some)
        self._cache.end_if_removed(self.session)
        return self.session.id, changed

    def _note(self, results: FetchResults) -> FetchResults:
        """Notes what is answered; returns the partitions that the answer must name."""
        session = self.session
        changed: FetchResults = []
        for entry, read in results:
            assert isinstance(entry, SessionEntry)
            if entry.note_answer(read):
                changed.append((entry, read))
                session.answered(entry)
            elif read.end_offset <= entry.fetch_offset and not _is_outdated(read):
                session.news.pop(entry.topic_partition, None)
        return changed


def _is_outdated(read: PartitionRead) -> bool:
    """Whether the high watermark has moved since: this very fetch may have moved it, by what it tells of a follower."""
    partition = read.partition
    return partition is not None and partition.log is not None and partition.log.high_watermark != read.high_watermark


FetchContext = FullFetch | IncrementalFetch


def open_context(
    cache: SessionCache,
    session_id: int,
    epoch: int,
    wanted: list[FetchEntry],
    forgotten: Iterable[TopicPartition],
    *,
    is_privileged: bool,
    now_ms: float,
) -> FetchContext:
    """Finds or drops the session that a fetch names, and applies what it adds, changes and forgets.

    Raises KafkaError(FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH) for the request as a whole; the former
    also for a consumer's session that has become too large, which is dropped.
    """
    if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if session_id != NO_SESSION:
            cache.remove(session_id)
        return FullFetch(
            wanted, cache, wants_session=epoch == INITIAL_EPOCH, is_privileged=is_privileged, now_ms=now_ms
        )
    session = _found(cache, session_id, epoch, wanted)
    before = len(session.entries)
    for entry in wanted:
        session.add(entry)
    for topic_partition in forgotten:
        session.forget(topic_partition)
    return _reopened(cache, session, before, now_ms)


async def open_in_turns(
    cache: SessionCache,
    session_id: int,
    epoch: int,
    wanted: list[FetchEntry],
    forgotten: Collection[TopicPartition],
    *,
    is_privileged: bool,
    now_ms: float,
) -> FetchContext:
    """As `open_context`, for very many partitions: a session takes them in in turns with other work."""
    if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        return open_context(cache, session_id, epoch, wanted, (), is_privileged=is_privileged, now_ms=now_ms)
    session = _found(cache, session_id, epoch, wanted)
    before = len(session.entries)
    async for some in sliced(wanted):
        for entry in some:
            session.add(entry)
    async for gone in sliced(forgotten):
        for topic_partition in gone:
            session.forget(topic_partition)
    return _reopened(cache, session, before, now_ms)


def _found(cache: SessionCache, session_id: int, epoch: int, wanted: list[FetchEntry]) -> FetchSession:
    """The session that an incremental fetch names; it expects the next epoch from now on. Raises as `open_context`."""
    session = cache.get(session_id)
    if session is None:
        raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"fetch session {session_id} is not known here")
    if session.epoch != epoch:
        raise KafkaError(
            ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"fetch session {session_id} expects {session.epoch}, not {epoch}"
        )
    if len(wanted) > MOST_PARTITIONS and not session.is_privileged:
        _drop_grown(cache, session)
    session.epoch = next_epoch(epoch)
    return session


def _reopened(cache: SessionCache, session: FetchSession, before: int, now_ms: float) -> FetchContext:
    """A session that has taken in what a fetch adds and forgets; it had `before` partitions. An empty one ends."""
    size = len(session.entries)
    if size > before and not session.is_privileged and not cache.has_room_for(size, 0):
        _drop_grown(cache, session)
    if not session.entries:
        cache.remove(session.id)
        return FullFetch([], cache, wants_session=False, is_privileged=session.is_privileged, now_ms=now_ms)
    cache.touch(session, now_ms)
    return IncrementalFetch(session, cache)


def _drop_grown(cache: SessionCache, session: FetchSession) -> NoReturn:
    cache.remove(session.id)
    raise KafkaError(
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        f"fetch session {session.id} became too large: at most {MOST_PARTITIONS} partitions of one consumer, "
        f"{MOST_CACHED_PARTITIONS} of all together",
    )

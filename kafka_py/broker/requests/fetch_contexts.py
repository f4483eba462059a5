"""The partitions that one fetch reads and returns: all in the request, or the changed ones of its session (KIP-227).

Synchronous except for responses with very many partitions; knows no versions and no sockets.
Source: docs/reference/replication.md, section 10.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import NoReturn

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import sliced
from kafka_py.broker.requests.fetch_session import FetchSession, SessionEntry
from kafka_py.broker.requests.fetch_session_cache import MOST_CACHED_PARTITIONS, MOST_PARTITIONS, SessionCache
from kafka_py.replication.state.reads import FetchEntry, FetchResults, PartitionRead, PlainSource
from kafka_py.wire.fetch_epochs import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, next_epoch


class FullFetch(PlainSource):
    """A full fetch request, with all its partitions; with INITIAL_EPOCH it also requests a session."""

    __slots__ = ("_cache", "_is_privileged", "_now_ms", "_wants_session")
    returns_all = True
    """Whether the response has every partition that was read."""
    known_id = NO_SESSION
    """The id of the session that the request named."""

    def __init__(
        self, entries: list[FetchEntry], cache: SessionCache, *, wants_session: bool, is_privileged: bool, now_ms: float
    ) -> None:
        super().__init__(entries)
        self._cache = cache
        self._wants_session = wants_session
        self._is_privileged = is_privileged
        self._now_ms = now_ms

    def finish(self, results: FetchResults) -> tuple[int, FetchResults]:
        """(session id or NO_SESSION, the partitions to return): all of them; creates the session if requested."""
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

    def gave_nothing(self) -> None:
        """The response to a fetch in turns had no partitions, so that there is no session."""

    def _new_session(self, results: FetchResults) -> FetchSession | None:
        if not self._wants_session or not results:
            return None
        return self._cache.try_create(len(results), is_privileged=self._is_privileged, now_ms=self._now_ms)


class IncrementalFetch:
    """An incremental fetch request: reads only partitions with possible changes, returns only changed ones."""

    __slots__ = ("_cache", "session")
    returns_all = False

    def __init__(self, session: FetchSession, cache: SessionCache) -> None:
        self.session = session
        self._cache = cache

    @property
    def known_id(self) -> int:
        """As FullFetch."""
        return self.session.id

    @property
    def size(self) -> int:
        return len(self.session.changed)

    def changed(self, key: Hashable) -> list[SessionEntry]:
        """The partitions with changes since the fetch was parked, or since the last call."""
        fresh, self.session.fresh = self.session.fresh, {}
        return list(fresh)

    def entries(self) -> list[SessionEntry]:
        return self.session.pending()

    def watch_keys(self) -> list[Hashable]:
        """The session itself; its partitions complete the fetch through their listeners."""
        return [self.session] if self.session.entries else []

    def parked(self, results: FetchResults) -> None:
        """Sets listeners on partitions that are new in the session, so that they complete the parked fetch too."""
        for entry, read in results:
            assert isinstance(entry, SessionEntry)
            entry.listen_to(read.partition)
        self.session.is_parked = True

    def unparked(self) -> None:
        self.session.is_parked = False
        self.session.fresh = {}

    def finish(self, results: FetchResults) -> tuple[int, FetchResults]:
        """(the session's id, the partitions to return)."""
        return self.session.id, self._note(results)

    async def finish_in_turns(self, results: FetchResults) -> tuple[int, FetchResults]:
        """As `finish`, in turns with other work."""
        changed: FetchResults = []
        async for some in sliced(results):
            changed += self._note(some)
        self._cache.end_if_removed(self.session)
        return self.session.id, changed

    def gave_nothing(self) -> None:
        """The response to a fetch in turns had no partitions; those with changes remain noted for the next one."""
        self._cache.end_if_removed(self.session)

    def _note(self, results: FetchResults) -> FetchResults:
        """Notes the results in the session; returns the partitions that the response must have."""
        session = self.session
        changed: FetchResults = []
        for entry, read in results:
            assert isinstance(entry, SessionEntry)
            if entry.note_answer(read):
                changed.append((entry, read))
                session.answered(entry)
            elif read.end_offset <= entry.fetch_offset and not _is_outdated(read):
                session.changed.pop(entry.topic_partition, None)
        return changed


def _is_outdated(read: PartitionRead) -> bool:
    """Whether the high watermark has moved since the read; a follower's fetch itself may have moved it."""
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
    """Finds or closes the session of a fetch, and adds, updates and removes its partitions.

    Raises KafkaError(FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH) for the request as a whole;
    FETCH_SESSION_ID_NOT_FOUND also for a consumer's session that has become too large, which is closed.
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
    """As `open_context`, for very many partitions, which are added in turns with other work."""
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
    """The session of an incremental fetch; increments its epoch. Raises as `open_context`."""
    session = cache.get(session_id)
    if session is None:
        raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"unknown fetch session {session_id}")
    if session.epoch != epoch:
        raise KafkaError(
            ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"fetch session {session_id} expects {session.epoch}, not {epoch}"
        )
    if len(wanted) > MOST_PARTITIONS and not session.is_privileged:
        _drop_grown(cache, session)
    session.epoch = next_epoch(epoch)
    return session


def _reopened(cache: SessionCache, session: FetchSession, before: int, now_ms: float) -> FetchContext:
    """The context of a session after its partitions were updated; it had `before` of them. Closes an empty session."""
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

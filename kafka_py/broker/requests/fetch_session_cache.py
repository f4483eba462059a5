"""The fetch session cache of a broker: its bounds, and the eviction for a new session (KIP-227).

Synchronous; knows no versions and no sockets. Source: docs/reference/replication.md, section 10.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.meters import MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Gauge, Rate
from kafka_py.broker.requests.fetch_session import FetchSession
from kafka_py.wire.fetch_epochs import NO_SESSION

MOST_PARTITIONS = 20_000
"""Most partitions of a consumer's session; a consumer with more sends full requests. Followers have no bound."""
MOST_CACHED_PARTITIONS = 500_000
"""Most partitions of all consumers' sessions, about 200 MB; bounded, because partitions need not exist."""


class FetchSessionMetrics(MetricTable, group="kafka.server:type=FetchSessionCache"):
    """Metrics of the cache, which is the owner."""

    sessions = Gauge("NumIncrementalFetchSessions", of=lambda cache: len(cache), about="Cached fetch sessions.")
    partitions = Gauge(
        "NumIncrementalFetchPartitionsCached",
        of=lambda cache: cache.partition_count(),
        about="Partitions over all cached sessions.",
    )
    evictions = Rate(
        "IncrementalFetchSessionEvictionsPerSec", unit="evictions", about="Sessions evicted from the cache."
    )


class SessionCache:
    """At most `slots` sessions; a new one may evict an idle or smaller one.

    new_id: draws a random id from 1 to 2^31-1.
    """

    EVICTION_AGE_MS = 120_000

    def __init__(self, slots: int, new_id: Callable[[], int], registry: MetricRegistry) -> None:
        self._slots = slots
        self._new_id = new_id
        self._sessions: dict[int, FetchSession] = {}
        self.metrics = FetchSessionMetrics(registry, self)

    def __len__(self) -> int:
        return len(self._sessions)

    def partition_count(self) -> int:
        return sum(len(session.entries) for session in self._sessions.values())

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def touch(self, session: FetchSession, now_ms: float) -> None:
        """Marks the session as used: it is the last one to be evicted."""
        session.last_used_ms = now_ms
        self._sessions[session.id] = self._sessions.pop(session.id)

    def remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()

    def end_if_removed(self, session: FetchSession) -> None:
        """Closes a session that was evicted during a fetch in turns, so that it does not listen to partitions."""
        if self._sessions.get(session.id) is not session:
            session.close()

    def try_create(self, size: int, *, is_privileged: bool, now_ms: float) -> FetchSession | None:
        """A new, empty session for `size` partitions; None when it may evict no other session, or is too large."""
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
        """Evicts the longest idle session if stale, else the smallest one that the new session may evict.

        Followers (privileged) may evict any unprivileged or old session, consumers only old ones; never one that is
        larger than the new session, by (privileged, size).
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

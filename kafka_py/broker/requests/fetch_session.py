"""A fetch session (KIP-227): a reader names its partitions once, and each fetch then costs what has changed.

A session keeps the set of its partitions that can have news. Appends, watermark moves and role changes put partitions
into it (each partition tells its listeners); a read that finds nothing more takes them out. So an idle partition costs
nothing per fetch, neither in the request nor in the broker. Synchronous; knows no versions and no sockets.
Source: docs/reference/replication.md, section 10.
"""

from __future__ import annotations

from collections.abc import Hashable

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.progress import NEVER
from kafka_py.replication.state.reads import FetchEntry, PartitionRead
from kafka_py.wire.fetch_epochs import INITIAL_EPOCH, next_epoch


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
        """Stops listening to its partitions."""
        for entry in self.entries.values():
            entry.listen_to(None)
        self.news.clear()


def _order_of(entry: SessionEntry) -> int:
    return entry.order

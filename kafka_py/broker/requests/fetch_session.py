"""A fetch session (KIP-227): a client sends its partitions once, and later fetches process only changes.

A session has the set of its partitions with possible changes. Appends, changes of the high watermark and role changes
add partitions (each partition calls its listeners); a read without further data removes them. So an idle partition
costs nothing per fetch, neither in the request nor in the broker. Synchronous; knows no versions and no sockets.
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
    """One partition of a session, with the values last sent for it.

    high_watermark: -1 when it must be sent again. order: position in the session; returned partitions move to the end.
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
        """As FetchEntry: -inf after it was removed from the session."""
        session = self.session
        return session.last_used_ms if session.entries.get(self.topic_partition) is self else NEVER

    def on_change(self) -> Hashable | None:
        """Listener of the partition: notes that it has changed."""
        session = self.session
        session.changed[self.topic_partition] = self
        if not session.is_parked:
            return None
        session.fresh[self] = None
        return session

    def take(self, wanted: FetchEntry) -> None:
        """Takes the partition's new values from a request."""
        self.fetch_offset = wanted.fetch_offset
        self.max_bytes = wanted.max_bytes
        self.current_leader_epoch = wanted.current_leader_epoch
        self.last_fetched_epoch = wanted.last_fetched_epoch
        self.log_start_offset = wanted.log_start_offset

    def listen_to(self, partition: Partition | None) -> None:
        """Listens to this partition from now on, and no longer to the previous one."""
        if partition is self.heard_from:
            return
        if self.heard_from is not None:
            self.heard_from.listeners.pop(self, None)
        if partition is not None:
            partition.listeners[self] = None
        self.heard_from = partition

    def note_answer(self, read: PartitionRead) -> bool:
        """Compares a read with the values last sent; returns whether the response must have the partition.

        Notes the read as sent, and removes the partition from the changed ones when it has no further data.
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
    """The state of one client: its partitions in order, and the changed ones.

    epoch: that of the next incremental request. fresh: the partitions changed since its fetch was parked.
    """

    __slots__ = (
        "_next_order",
        "changed",
        "created_ms",
        "entries",
        "epoch",
        "fresh",
        "id",
        "is_parked",
        "is_privileged",
        "last_used_ms",
    )  # fmt: skip

    def __init__(self, session_id: int, *, is_privileged: bool, now_ms: float) -> None:
        self.id = session_id
        self.is_privileged = is_privileged
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.entries: dict[TopicPartition, SessionEntry] = {}
        self.changed: dict[TopicPartition, SessionEntry] = {}
        self.fresh: dict[SessionEntry, None] = {}
        self.is_parked = False
        self._next_order = 0

    def add(self, wanted: FetchEntry) -> SessionEntry:
        """Adds a partition, or updates a known one; it counts as changed."""
        entry = self.entries.get(wanted.topic_partition)
        if entry is None:
            entry = self.entries[wanted.topic_partition] = SessionEntry(self, wanted, self._next_order)
            self._next_order += 1
        else:
            entry.take(wanted)
        self.changed[wanted.topic_partition] = entry
        return entry

    def forget(self, topic_partition: TopicPartition) -> None:
        entry = self.entries.pop(topic_partition, None)
        if entry is not None:
            entry.listen_to(None)
            self.changed.pop(topic_partition, None)

    def pending(self) -> list[SessionEntry]:
        """The changed partitions, in the order of the session."""
        return sorted(self.changed.values(), key=_order_of)

    def answered(self, entry: SessionEntry) -> None:
        """Moves a returned partition to the end, so that the others come first next time."""
        entry.order = self._next_order
        self._next_order += 1

    def close(self) -> None:
        """Stops listening to its partitions."""
        for entry in self.entries.values():
            entry.listen_to(None)
        self.changed.clear()


def _order_of(entry: SessionEntry) -> int:
    return entry.order

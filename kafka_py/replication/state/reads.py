"""What a fetch asks of partitions, and what one read of a partition brings back.

Values only. Source: docs/reference/replication.md, sections 2 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice

if TYPE_CHECKING:
    from kafka_py.replication.state.partition import Partition

CONSUMER = -1
"""The replica id of a fetch or ListOffsets that comes from a client."""
DEBUG_CONSUMER = -2
"""The replica id of an old debugging consumer: may read from any replica, up to the log end."""


class Isolation(IntEnum):
    """Up to where a reader sees the log: the first two are the wire's values, the third is for replicas."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    LOG_END = 2


class EpochEnd(NamedTuple):
    """Where a leader epoch ends in this log (exclusive); (-1, -1) when not known."""

    epoch: int
    end_offset: int


class FetchEntry:
    """One partition of a fetch. Epochs are -1 when the reader does not know (or its version cannot say) them."""

    __slots__ = (
        "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "max_bytes",
        "topic_partition",
    )  # fmt: skip

    def __init__(
        self,
        topic_partition: TopicPartition,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
    ) -> None:
        self.topic_partition = topic_partition
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset

    @property
    def last_asked_ms(self) -> float:
        """When the reader's session, if this is part of one, was used last, monotonic: it wanted this entry then."""
        return float("-inf")


class FetchParams(NamedTuple):
    """What holds for a whole fetch.

    replica_id: CONSUMER, or the broker that follows. hard_max_bytes: v0-2, not even one batch may exceed the limits.
    leader_only: whether a follower must refuse. rack: where the consumer is (KIP-392).
    may_read: says of a topic whether the reader may see it; None when everybody may.
    """

    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: Isolation
    hard_max_bytes: bool = False
    leader_only: bool = True
    rack: str = ""
    may_read: Callable[[str], bool] | None = None

    @property
    def from_follower(self) -> bool:
        return self.replica_id >= 0


class PartitionRead(NamedTuple):
    """What one read of a partition found; the offsets are those before the read took effect, -1 with an error.

    end_offset: where the reader's view of the log ends now; data beyond `fetch_offset` exists up to it.
    diverging: the reader's last epoch ends earlier here: it must truncate (KIP-595).
    aborted: (producer id, first offset) pairs, for read-committed readers only.
    partition: what was read, so that a session can ask it for news; None with an error.
    """

    error: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: FileSlice | None = None
    size: int = 0
    end_offset: int = -1
    diverging: EpochEnd | None = None
    aborted: list[tuple[int, int]] | None = None
    preferred_read_replica: int = -1
    partition: Partition | None = None


class NewsListener(Protocol):
    """Who wants to hear when a partition's end, watermark, start or role moves: a fetch session's entry."""

    def on_news(self) -> Hashable | None:
        """Notes the news; returns the purgatory key whose parked fetch should look again, if one is parked."""
        ...


class FetchSource(Protocol):
    """Which partitions a fetch reads, in order, and under which keys it parks.

    A plain fetch reads the same entries each time; a session gives only the entries that can have news, and needs to
    know while a fetch of it is parked: `parked` is called with what was read, all at once or a part at a time.
    size: of `entries`, or more. changed: the entries to which something happened since the last call or since it was
    parked; key: by which the fetch was woken.
    """

    @property
    def size(self) -> int: ...

    def entries(self) -> Sequence[FetchEntry]: ...

    def changed(self, key: Hashable) -> Sequence[FetchEntry]: ...

    def watch_keys(self) -> list[Hashable]: ...

    def parked(self, results: FetchResults) -> None: ...

    def unparked(self) -> None: ...


class PlainSource:
    """The fixed entries of a fetch without session."""

    __slots__ = ("_by_partition", "_entries", "size")

    def __init__(self, entries: list[FetchEntry]) -> None:
        self._entries = entries
        self._by_partition: dict[Hashable, FetchEntry] = {}
        self.size = len(entries)

    def changed(self, key: Hashable) -> list[FetchEntry]:
        """The one that is woken by that key: its partition."""
        if len(self._entries) == 1:
            return self._entries
        if not self._by_partition:
            self._by_partition = {entry.topic_partition: entry for entry in self._entries}
        return [self._by_partition[key]]

    def entries(self) -> list[FetchEntry]:
        return self._entries

    def watch_keys(self) -> list[Hashable]:
        return [entry.topic_partition for entry in self._entries]

    def parked(self, results: FetchResults) -> None:
        """It is parked under its partitions themselves; nothing to note."""

    def unparked(self) -> None:
        """It is parked under its partitions themselves; nothing to note."""


FetchResults = list[tuple[FetchEntry, PartitionRead]]
OnFetched = Callable[[FetchResults], None]

"""The parameters of a fetch, and the result of reading one partition.

Values only. Source: docs/reference/replication.md, sections 2 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.log.state.epochs import EpochEnd

if TYPE_CHECKING:
    from kafka_py.replication.state.partition import Partition


class Isolation(IntEnum):
    """Up to where a reader sees the log: the first two are values of the protocol, the third is for followers."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    LOG_END = 2


class FetchEntry:
    """One partition of a fetch. Epochs are -1 when the reader does not know them or its version lacks them."""

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
        """When the fetch session of this entry was used last (monotonic ms); -inf without a session."""
        return float("-inf")


class FetchParams(NamedTuple):
    """The parameters of a whole fetch.

    replica_id: CONSUMER_REPLICA_ID, or the id of the follower. hard_max_bytes: whether not even one batch may exceed
    the limits (versions 0 to 2). leader_only: whether only the leader may answer. rack: that of the consumer (KIP-392).
    may_read: whether the reader is authorized for a topic; None when it is for all.
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
    """The result of reading one partition; offsets are those before the fetch was recorded, -1 with an error.

    end_offset: the offset (exclusive) up to which the reader sees the log.
    diverging: where the reader's last epoch ends here, if that is earlier: it has to truncate (KIP-595).
    aborted: (producer id, first offset) pairs, for read_committed readers only.
    records: where the log has them; bytes where they were converted for the reader.
    partition: the partition, so that a fetch session can listen to its changes; None with an error.
    """

    error: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: FileSlice | bytes | None = None
    size: int = 0
    end_offset: int = -1
    diverging: EpochEnd | None = None
    aborted: list[tuple[int, int]] | None = None
    preferred_read_replica: int = -1
    partition: Partition | None = None


class ChangeListener(Protocol):
    """Is notified when a partition's end, high watermark, log start or role changes: an entry of a fetch session."""

    def on_change(self) -> Hashable | None:
        """Notes the change; returns the purgatory key of the session's parked fetch, which is checked; or None."""
        ...


class FetchSource(Protocol):
    """Which partitions a fetch reads, in order, and the keys under which it is watched in the purgatory.

    A fetch without session reads the same entries each time. A session returns only the entries that may have changed,
    and is notified while a fetch of it is parked: `parked` is called with the results, all at once or in parts.
    size: the number of entries, or more. changed: the entries that have changed since the last call or since the fetch
    was parked; key: the key under which the fetch was woken.
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
        """The entry of the partition that is the key."""
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
        """No-op: the fetch is watched under its partitions."""

    def unparked(self) -> None:
        """No-op: the fetch is watched under its partitions."""


FetchResults = list[tuple[FetchEntry, PartitionRead]]
OnFetched = Callable[[FetchResults], None]

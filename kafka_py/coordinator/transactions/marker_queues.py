"""The markers that are queued for each broker, and the effect of a broker's response on them.

Values in, values out: nothing here waits, sends or reads a clock; marker_channels.py does. The sending of a
transaction's markers ends when each of its partitions has its marker or no longer exists, or when it is fenced; until
then a partition without a marker is in exactly one place: queued for its leader, in a request (taken), or set aside
until its leader may be known or available.
Source: TransactionMarkerChannelManager; TransactionMarkerRequestCompletionHandler; KIP-98.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.markers import MarkerOutcome, MarkersDone, TransactionMarkers

ROUTED_AT_ONCE = 512
"""Partitions whose leaders are found in one go; each takes one to two microseconds."""

UNREACHABLE = -1
"""The leader of a partition that has none now, or whose leader has no address."""

FindLeader = Callable[[TopicPartition], int | None]
"""The broker to which a partition's marker is sent, UNREACHABLE, or None when there is no such partition."""


class Meaning(Enum):
    """What an error of one partition means for its marker."""

    DONE = "done"
    RETRY = "retry"
    FENCED = "fenced"
    UNFORESEEN = "unforeseen"


MEANINGS = {
    ErrorCode.NONE: Meaning.DONE,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: Meaning.DONE,  # a log of the old formats has no transactions
    ErrorCode.UNSUPPORTED_VERSION: Meaning.DONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Meaning.RETRY,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Meaning.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS: Meaning.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Meaning.RETRY,
    ErrorCode.REQUEST_TIMED_OUT: Meaning.RETRY,
    ErrorCode.KAFKA_STORAGE_ERROR: Meaning.RETRY,
    ErrorCode.INVALID_PRODUCER_EPOCH: Meaning.FENCED,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: Meaning.FENCED,
}
"""Any other error is unforeseen. Apache Kafka then ends its broker; here it is logged, and the marker sent again."""


class PendingMarkers:
    """A transaction whose markers are being written. partition: of `__transaction_state`. missing: those without."""

    __slots__ = ("markers", "missing", "on_done", "partition")

    def __init__(self, partition: int, markers: TransactionMarkers, on_done: MarkersDone) -> None:
        self.partition = partition
        self.markers = markers
        self.on_done = on_done
        self.missing = dict.fromkeys(markers.partitions)


class Share(NamedTuple):
    """The markers of a transaction that are sent to one broker, or set aside."""

    pending: PendingMarkers
    partitions: list[TopicPartition]


def pieces(share: Share) -> Iterator[Share]:
    """The share in parts that are routed in one go."""
    partitions = share.partitions
    for first in range(0, len(partitions), ROUTED_AT_ONCE):
        yield Share(share.pending, partitions[first : first + ROUTED_AT_ONCE])


class MarkerProgress(NamedTuple):
    """The effect of a response on a transaction. outcome: None while markers are missing. unforeseen: to be logged."""

    outcome: MarkerOutcome | None
    unforeseen: list[tuple[TopicPartition, ErrorCode]]


class MarkerQueues:
    """The markers that one coordinator has to send."""

    def __init__(self, find_leader: FindLeader) -> None:
        self._find_leader = find_leader
        self._pending: dict[int, dict[str, PendingMarkers]] = {}  # partition -> transactional id -> missing markers
        self._queues: dict[int, dict[PendingMarkers, list[TopicPartition]]] = {}  # by broker, oldest first
        self._aside: dict[PendingMarkers, list[TopicPartition]] = {}

    # ---- queries

    @property
    def has_aside(self) -> bool:
        """Whether any markers are set aside."""
        return bool(self._aside)

    @property
    def aside_count(self) -> int:
        """The transactions with markers that are set aside."""
        return len(self._aside)

    def brokers(self) -> list[int]:
        """The brokers with queued markers."""
        return list(self._queues)

    def is_pending(self, pending: PendingMarkers) -> bool:
        """Whether the transaction still has missing markers, and was not dropped or replaced by a later decision."""
        return self._pending.get(pending.partition, {}).get(pending.markers.transactional_id) is pending

    # ---- adding and dropping transactions

    def add(self, partition: int, markers: TransactionMarkers, on_done: MarkersDone) -> PendingMarkers:
        """Adds a decided transaction; `route` is next. Pending markers of the same transactional id are dropped."""
        pending = PendingMarkers(partition, markers, on_done)
        self._pending.setdefault(partition, {})[markers.transactional_id] = pending
        return pending

    def forget(self, partition: int) -> None:
        """Drops the partition, which has another coordinator now; its queued markers are skipped when taken."""
        self._pending.pop(partition, None)

    def _drop(self, pending: PendingMarkers) -> None:
        of_partition = self._pending[pending.partition]
        del of_partition[pending.markers.transactional_id]
        if not of_partition:
            del self._pending[pending.partition]

    # ---- from the queues to the brokers and back

    def route(self, pending: PendingMarkers, partitions: Iterable[TopicPartition]) -> MarkerOutcome | None:
        """Queues markers for the current leaders; returns the outcome if no marker is missing then."""
        if not self.is_pending(pending):
            return None
        for topic_partition in partitions:
            leader = self._find_leader(topic_partition)
            if leader is None:
                pending.missing.pop(topic_partition, None)
            elif leader == UNREACHABLE:
                self._aside.setdefault(pending, []).append(topic_partition)
            else:
                self._queues.setdefault(leader, {}).setdefault(pending, []).append(topic_partition)
        return self._outcome(pending)

    def take(self, broker: int, most: int) -> list[Share]:
        """Takes up to `most` markers for a broker out of its queue, the oldest first."""
        queue = self._queues.get(broker, {})
        taken: list[Share] = []
        while queue and most > 0:
            pending = next(iter(queue))
            partitions = queue.pop(pending)
            if not self.is_pending(pending):
                continue
            if len(partitions) > most:
                queue[pending] = partitions[most:]
                partitions = partitions[:most]
            most -= len(partitions)
            taken.append(Share(pending, partitions))
        if not queue:
            self._queues.pop(broker, None)
        return taken

    def take_aside(self) -> list[Share]:
        """Returns and clears what was set aside; `route` is next."""
        taken = [Share(*item) for item in self._aside.items()]
        self._aside = {}
        return taken

    def set_aside(self, share: Share) -> None:
        """The markers got no response: they may or may not be written, so they are set aside and sent again."""
        pending = share.pending
        if self.is_pending(pending):
            missing = pending.missing
            self._aside.setdefault(pending, []).extend(each for each in share.partitions if each in missing)

    def answered(self, share: Share, errors: Mapping[TopicPartition, ErrorCode]) -> MarkerProgress:
        """Applies a response to the markers that were sent; a partition missing in it is sent again."""
        pending = share.pending
        unforeseen: list[tuple[TopicPartition, ErrorCode]] = []
        if not self.is_pending(pending):
            return MarkerProgress(None, unforeseen)
        for topic_partition in share.partitions:
            error = errors.get(topic_partition, ErrorCode.UNKNOWN_SERVER_ERROR)
            meaning = MEANINGS.get(error, Meaning.UNFORESEEN)
            if meaning is Meaning.FENCED:
                self._drop(pending)
                return MarkerProgress(MarkerOutcome.FENCED, unforeseen)
            if meaning is Meaning.DONE:
                pending.missing.pop(topic_partition, None)
                continue
            if meaning is Meaning.UNFORESEEN:
                unforeseen.append((topic_partition, error))
            self._aside.setdefault(pending, []).append(topic_partition)
        return MarkerProgress(self._outcome(pending), unforeseen)

    def _outcome(self, pending: PendingMarkers) -> MarkerOutcome | None:
        if pending.missing:
            return None
        self._drop(pending)
        return MarkerOutcome.COMPLETE

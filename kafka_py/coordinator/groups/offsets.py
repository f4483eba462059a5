"""What a group has committed: the offsets that hold, and those on their way into the log.

A plain value beside the group's membership (group.py): knows no log, no clock and no group.
Source: docs/reference/groups.md, sections 7 and 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition

NO_OFFSET = -1
NO_EXPIRY = -1
NOT_APPENDED = -1


class CommittedOffset(NamedTuple):
    """One commit of one partition.

    offset: of the next record to read. leader_epoch: of the last record read, -1 unknown (KIP-320).
    expire_timestamp: wall clock ms of an expiry that the client asked for (v2-4); -1: the retention rules decide.
    record_offset: the base offset of the batch that holds the commit; of commits that race, the larger one wins.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_EXPIRY
    record_offset: int = NOT_APPENDED


class CommittingProducer(NamedTuple):
    """Who commits offsets as part of a transaction (KIP-98)."""

    id: int
    epoch: int


class TxnEnd(NamedTuple):
    """The end of a producer's transaction, as its marker in the log says."""

    producer_id: int
    marker_offset: int
    is_commit: bool


Commits = Mapping[TopicPartition, CommittedOffset]

_new = tuple.__new__


class Appending(dict[TopicPartition, CommittedOffset]):
    """Commits on their way into the log, the latest of each partition.

    overtaken: the earlier ones that are on their way as well, in order: what comes of a commit decides about itself
    alone.
    """

    __slots__ = ("overtaken",)

    def __init__(self) -> None:
        super().__init__()
        self.overtaken: dict[TopicPartition, list[CommittedOffset]] | None = None

    def add(self, commits: Commits) -> None:
        """These are about to be appended."""
        if self:
            for topic_partition in commits:
                earlier = self.get(topic_partition)
                if earlier is not None:
                    if self.overtaken is None:
                        self.overtaken = {}
                    self.overtaken.setdefault(topic_partition, []).append(earlier)
        self.update(commits)

    def take(self, topic_partition: TopicPartition, commit: CommittedOffset) -> bool:
        """The commit is no longer on its way; False when it was not, for its partition was forgotten meanwhile."""
        overtaken = self.overtaken
        earlier = None if overtaken is None else overtaken.get(topic_partition)
        if earlier is None:
            if self.get(topic_partition) is not commit:
                return False
            del self[topic_partition]
            return True
        if self.get(topic_partition) is commit:
            self[topic_partition] = earlier.pop()
        else:
            number = next((each for each, other in enumerate(earlier) if other is commit), None)
            if number is None:
                return False
            del earlier[number]
        if not earlier:
            del overtaken[topic_partition]  # type: ignore[union-attr]
        return True

    def forget(self, topic_partition: TopicPartition) -> None:
        """What comes of the commits of this partition no longer matters."""
        self.pop(topic_partition, None)
        if self.overtaken is not None:
            self.overtaken.pop(topic_partition, None)


class OpenTransaction:
    """What one producer has committed in a transaction whose marker has not come.

    appended: commits in the log. appending: commits on their way there. A partition may be in both: then the earlier
    commit counts unless the later one is appended as well. ends: markers that came while commits were on their way, for
    it is not known yet whether these are before or behind them.
    """

    __slots__ = ("appended", "appending", "ends")

    def __init__(self, appended: dict[TopicPartition, CommittedOffset] | None = None) -> None:
        self.appended: dict[TopicPartition, CommittedOffset] = {} if appended is None else appended
        self.appending = Appending()
        self.ends: list[TxnEnd] = []

    def end_of(self, record_offset: int) -> TxnEnd | None:
        """The marker that decides about a commit in the batch at `record_offset`; None when it has not come."""
        later = (end for end in self.ends if end.marker_offset > record_offset)
        return min(later, key=lambda end: end.marker_offset, default=None)

    def __contains__(self, topic_partition: object) -> bool:
        return topic_partition in self.appended or topic_partition in self.appending

    def __bool__(self) -> bool:
        return bool(self.appended or self.appending)


class GroupOffsets:
    """The offsets of one group.

    committed: what holds. pending: commits that are being appended. pending_txn: by producer id, commits that count
    once their transaction's marker says so; no transaction in it is without commits.
    has_plain, has_transactional: whether such commits came to this coordinator.
    """

    __slots__ = ("committed", "has_plain", "has_transactional", "pending", "pending_txn")

    def __init__(self) -> None:
        self.has_plain = False
        self.has_transactional = False
        self.committed: dict[TopicPartition, CommittedOffset] = {}
        self.pending = Appending()
        self.pending_txn: dict[int, OpenTransaction] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is committed and nothing is on its way."""
        return not (self.committed or self.pending or self.pending_txn)

    def is_pending(self, topic_partition: TopicPartition) -> bool:
        """Whether a commit of the partition is undecided: being appended, or part of an open transaction."""
        return topic_partition in self.pending or any(
            topic_partition in transaction for transaction in self.pending_txn.values()
        )

    def begins_to_mix(self, *, transactional: bool) -> bool:
        """Whether a commit of this kind is the first beside those of the other kind."""
        same, other = self.has_plain, self.has_transactional
        if transactional:
            same, other = other, same
        return other and not same

    # ---- commits

    def prepare(self, commits: Commits) -> None:
        """These are about to be appended."""
        self.has_plain = True
        self.pending.add(commits)

    def appended(self, commits: Commits, record_offset: int) -> None:
        """These are in the log, in the batch that begins at `record_offset`, and hold from now on.

        Not those whose partition was forgotten meanwhile, nor those that a later commit has overtaken.
        """
        pending, committed = self.pending, self.committed
        for topic_partition, commit in commits.items():
            if pending.take(topic_partition, commit):
                known = committed.get(topic_partition)
                if known is None or known[5] < record_offset:
                    committed[topic_partition] = _new(CommittedOffset, (*commit[:5], record_offset))

    def failed(self, commits: Commits) -> None:
        """These were not appended."""
        for topic_partition, commit in commits.items():
            self.pending.take(topic_partition, commit)

    # ---- transactions

    def prepare_txn(self, producer_id: int, commits: Commits) -> None:
        """These, of a producer's open transaction, are about to be appended; there is at least one."""
        self.has_transactional = True
        self.pending_txn.setdefault(producer_id, OpenTransaction()).appending.add(commits)

    def appended_txn(self, producer_id: int, commits: Commits, record_offset: int) -> None:
        """These are in the log, in the batch that begins at `record_offset`, and count when the marker says so.

        Not those whose partition was forgotten meanwhile.
        """
        transaction = self.pending_txn.get(producer_id)
        if transaction is None:
            return
        end = transaction.end_of(record_offset)
        decided = transaction.appended if end is None else self.committed if end.is_commit else {}
        for topic_partition, commit in commits.items():
            if transaction.appending.take(topic_partition, commit):
                _put(decided, topic_partition, commit._replace(record_offset=record_offset))
        self._settle(producer_id, transaction)

    def failed_txn(self, producer_id: int, commits: Commits) -> None:
        """These were not appended; an earlier commit of the same transaction counts still."""
        transaction = self.pending_txn.get(producer_id)
        if transaction is None:
            return
        for topic_partition, commit in commits.items():
            transaction.appending.take(topic_partition, commit)
        self._settle(producer_id, transaction)

    def complete_txn(self, end: TxnEnd) -> None:
        """The transaction of a producer is over: its commits hold if they are newer, or are dropped.

        Commits behind the marker belong to the producer's next transaction; of those on their way it is decided when
        their place in the log is known.
        """
        transaction = self.pending_txn.get(end.producer_id)
        if transaction is None:
            return
        for topic_partition, commit in list(transaction.appended.items()):
            if commit.record_offset > end.marker_offset:
                continue
            del transaction.appended[topic_partition]
            if end.is_commit:
                _put(self.committed, topic_partition, commit)
        transaction.ends.append(end)
        self._settle(end.producer_id, transaction)

    def _settle(self, producer_id: int, transaction: OpenTransaction) -> None:
        """Forgets the markers when nothing is on its way, and the transaction when it is left without commits."""
        if not transaction.appending:
            transaction.ends.clear()
        if not transaction:
            del self.pending_txn[producer_id]

    # ---- removal

    def remove(self, topic_partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Forgets the partitions, also what is on its way; those that were committed."""
        removed = []
        forgotten = dict.fromkeys(topic_partitions)
        for topic_partition in forgotten:
            self.pending.forget(topic_partition)
            if self.committed.pop(topic_partition, None) is not None:
                removed.append(topic_partition)
        for producer_id, transaction in list(self.pending_txn.items()):
            for topic_partition in forgotten.keys() & {*transaction.appended, *transaction.appending}:
                transaction.appended.pop(topic_partition, None)
                transaction.appending.forget(topic_partition)
            self._settle(producer_id, transaction)
        return removed

    def remove_all(self) -> list[TopicPartition]:
        """Forgets everything; the partitions that were committed."""
        removed = list(self.committed)
        self.committed.clear()
        self.pending = Appending()
        self.pending_txn.clear()
        return removed

    def of_topics(self, topics: Iterable[str]) -> list[TopicPartition]:
        """The partitions of these topics that are committed or on their way."""
        wanted = set(topics)
        known = dict.fromkeys((*self.committed, *self.pending))
        for transaction in self.pending_txn.values():
            known.update(dict.fromkeys((*transaction.appended, *transaction.appending)))
        return [topic_partition for topic_partition in known if topic_partition.topic in wanted]


def _put(
    offsets: dict[TopicPartition, CommittedOffset], topic_partition: TopicPartition, commit: CommittedOffset
) -> None:
    """Of two commits that of the later batch holds."""
    known = offsets.get(topic_partition)
    if known is None or known.record_offset < commit.record_offset:
        offsets[topic_partition] = commit

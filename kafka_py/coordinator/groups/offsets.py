"""The offsets of a group: committed ones, and those that are being appended.

A plain value next to the group's membership (group.py): knows no log, no clock and no group.
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
    """The producer and epoch of a transactional commit (KIP-98)."""

    id: int
    epoch: int


class TxnEnd(NamedTuple):
    """The end of a producer's transaction, as its marker in the log states it."""

    producer_id: int
    marker_offset: int
    is_commit: bool


Commits = Mapping[TopicPartition, CommittedOffset]

_new = tuple.__new__


class Appending(dict[TopicPartition, CommittedOffset]):
    """Commits that are being appended, the latest of each partition.

    overtaken: earlier commits that are being appended as well, in order: the result of an append decides only about
    its own commits.
    """

    __slots__ = ("overtaken",)

    def __init__(self) -> None:
        super().__init__()
        self.overtaken: dict[TopicPartition, list[CommittedOffset]] | None = None

    def add(self, commits: Commits) -> None:
        """Adds commits that are about to be appended."""
        if self:
            for topic_partition in commits:
                earlier = self.get(topic_partition)
                if earlier is not None:
                    if self.overtaken is None:
                        self.overtaken = {}
                    self.overtaken.setdefault(topic_partition, []).append(earlier)
        self.update(commits)

    def take(self, topic_partition: TopicPartition, commit: CommittedOffset) -> bool:
        """Removes a commit whose append has ended; False if it was not there, because its partition was removed."""
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
            self.overtaken = overtaken or None
        return True

    def forget(self, topic_partition: TopicPartition) -> None:
        """Removes the partition's commits, so that the result of their appends has no effect."""
        self.pop(topic_partition, None)
        if self.overtaken is not None:
            self.overtaken.pop(topic_partition, None)


class OpenTransaction:
    """The commits of one producer in a transaction whose marker has not been appended yet.

    appended: commits in the log. appending: commits that are being appended. A partition may be in both: then the
    earlier commit counts unless the later one is appended as well. ends: markers that were appended while commits were
    being appended, because it is not known yet which of the two comes first in the log.
    """

    __slots__ = ("appended", "appending", "ends")

    def __init__(self, appended: dict[TopicPartition, CommittedOffset] | None = None) -> None:
        self.appended: dict[TopicPartition, CommittedOffset] = {} if appended is None else appended
        self.appending = Appending()
        self.ends: list[TxnEnd] = []

    def end_of(self, record_offset: int) -> TxnEnd | None:
        """The marker that decides about a commit in the batch at `record_offset`; None if there is none yet."""
        later = (end for end in self.ends if end.marker_offset > record_offset)
        return min(later, key=lambda end: end.marker_offset, default=None)

    def __contains__(self, topic_partition: object) -> bool:
        return topic_partition in self.appended or topic_partition in self.appending

    def __bool__(self) -> bool:
        return bool(self.appended or self.appending)


class GroupOffsets:
    """The offsets of one group.

    committed: the valid commits. pending: commits that are being appended. pending_txn: by producer id, commits that
    become valid or are dropped with their transaction's marker; no entry is without commits.
    has_plain, has_transactional: whether this coordinator has received such commits.
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
        """Whether no commit is valid, pending or in a transaction."""
        return not (self.committed or self.pending or self.pending_txn)

    def is_pending(self, topic_partition: TopicPartition) -> bool:
        """Whether a commit of the partition is undecided: being appended, or part of an open transaction."""
        return topic_partition in self.pending or any(
            topic_partition in transaction for transaction in self.pending_txn.values()
        )

    def begins_to_mix(self, *, transactional: bool) -> bool:
        """Whether a commit of this kind is the first one, after commits of the other kind."""
        same, other = self.has_plain, self.has_transactional
        if transactional:
            same, other = other, same
        return other and not same

    # ---- commits

    def prepare(self, commits: Commits) -> None:
        """Adds commits that are about to be appended."""
        self.has_plain = True
        self.pending.add(commits)

    def appended(self, commits: Commits, record_offset: int) -> None:
        """Makes commits valid: they are in the log, in the batch that begins at `record_offset`.

        Except those whose partition was removed meanwhile, and those that a later commit has replaced.
        """
        pending, committed = self.pending, self.committed
        for topic_partition, commit in commits.items():
            if pending.overtaken is None and pending.get(topic_partition) is commit:  # as nearly always
                del pending[topic_partition]
            elif not pending.take(topic_partition, commit):
                continue
            known = committed.get(topic_partition)
            if known is None or known[5] < record_offset:
                committed[topic_partition] = _new(CommittedOffset, (*commit[:5], record_offset))

    def failed(self, commits: Commits) -> None:
        """Drops commits whose append failed."""
        for topic_partition, commit in commits.items():
            self.pending.take(topic_partition, commit)

    # ---- transactions

    def prepare_txn(self, producer_id: int, commits: Commits) -> None:
        """Adds one or more commits of a producer's open transaction, which are about to be appended."""
        self.has_transactional = True
        self.pending_txn.setdefault(producer_id, OpenTransaction()).appending.add(commits)

    def appended_txn(self, producer_id: int, commits: Commits, record_offset: int) -> None:
        """Notes that commits of a transaction are in the log, in the batch at `record_offset`; its marker decides.

        Except those whose partition was removed meanwhile.
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
        """Drops commits whose append failed; an earlier commit of the same transaction still counts."""
        transaction = self.pending_txn.get(producer_id)
        if transaction is None:
            return
        for topic_partition, commit in commits.items():
            transaction.appending.take(topic_partition, commit)
        self._settle(producer_id, transaction)

    def complete_txn(self, end: TxnEnd) -> None:
        """Ends the transaction of a producer: its commits become valid if they are newer, or are dropped.

        Commits after the marker belong to the producer's next transaction; commits that are being appended are decided
        when their position in the log is known.
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
        """Removes the markers when no append is pending, and the transaction when it has no commits."""
        if not transaction.appending:
            transaction.ends.clear()
        if not transaction:
            del self.pending_txn[producer_id]

    # ---- removal

    def remove(self, topic_partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Removes the partitions, including pending commits; returns those that had a valid commit."""
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
        """Removes all offsets; returns the partitions that had a valid commit."""
        removed = list(self.committed)
        self.committed.clear()
        self.pending = Appending()
        self.pending_txn.clear()
        return removed

    def of_topics(self, topics: Iterable[str]) -> list[TopicPartition]:
        """The partitions of these topics that have a commit, valid or pending."""
        wanted = set(topics)
        known = dict.fromkeys((*self.committed, *self.pending))
        for transaction in self.pending_txn.values():
            known.update(dict.fromkeys((*transaction.appended, *transaction.appending)))
        return [topic_partition for topic_partition in known if topic_partition.topic in wanted]


def _put(
    offsets: dict[TopicPartition, CommittedOffset], topic_partition: TopicPartition, commit: CommittedOffset
) -> None:
    """Whether a commit is newer: the one in the later batch wins."""
    known = offsets.get(topic_partition)
    if known is None or known.record_offset < commit.record_offset:
        offsets[topic_partition] = commit

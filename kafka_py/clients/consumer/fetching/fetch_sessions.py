"""The consumer's side of fetch sessions (KIP-227): a fetch names only partitions that changed since the last one.

Pure: builds the partition lists of the next request and takes the result of the last. If a broker keeps no session, it
responds with session id 0, and every request then names all partitions, those that have waited longest first. Followers
have a class of their own (replication/follower/fetch_session.py): they can fetch in versions without sessions, and
resend partitions whose response they have discarded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.wire.fetch_epochs import INITIAL_EPOCH, NO_SESSION, next_epoch


class PartitionFetch(NamedTuple):
    """The fetch of one partition. generation: that of its position (subscriptions.py)."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    generation: int = 0


class FetchSessionRequest(NamedTuple):
    """The session's part of a request: partitions to add or update, and those to forget.

    In a full request (epoch 0) `send` has all partitions.
    """

    session_id: int
    epoch: int
    send: dict[TopicPartition, PartitionFetch]
    forget: list[TopicPartition]


class ConsumerFetchSession:
    """The session with one broker.

    wanted: the partitions of the next request; those changed last come last. asked: the partitions of the last request,
    named in it or known from the session.
    """

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self.wanted: dict[TopicPartition, PartitionFetch] = {}
        self.asked: dict[TopicPartition, PartitionFetch] = {}
        self._changed: dict[TopicPartition, None] = {}

    def want(self, partition: TopicPartition, wanted: PartitionFetch) -> None:
        """Adds a partition, or changes its fetch."""
        before = self.wanted.get(partition)
        if before != wanted:
            if before is not None:
                del self.wanted[partition]
            self.wanted[partition] = wanted
            self._changed[partition] = None

    def drop(self, partition: TopicPartition) -> None:
        """Removes a partition."""
        if self.wanted.pop(partition, None) is not None:
            self._changed[partition] = None

    def build(self) -> FetchSessionRequest:
        """The next request; `succeeded` or `failed` has to follow."""
        changed, self._changed = self._changed, {}
        if self.session_id == NO_SESSION or self.epoch == INITIAL_EPOCH:
            self.asked = dict(self.wanted)
            return FetchSessionRequest(self.session_id, INITIAL_EPOCH, dict(self.wanted), [])
        send: dict[TopicPartition, PartitionFetch] = {}
        forget: list[TopicPartition] = []
        for partition in changed:
            wanted = self.wanted.get(partition)
            if wanted is None:
                if self.asked.pop(partition, None) is not None:
                    forget.append(partition)
            elif self.asked.get(partition) != wanted:
                send[partition] = self.asked[partition] = wanted
        return FetchSessionRequest(self.session_id, self.epoch, send, forget)

    def succeeded(self, session_id: int) -> None:
        """Takes a successful response. session_id: of the session that the broker keeps, 0 for none."""
        if session_id == NO_SESSION:
            self._start_over(NO_SESSION)
        elif session_id != self.session_id:
            self.session_id = session_id
            self.epoch = 1
        else:
            self.epoch = next_epoch(self.epoch)

    def failed(self, error: ErrorCode) -> None:
        """Takes an error for the whole request, or a lost response: the next request names all partitions."""
        keep = NO_SESSION if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND else self.session_id
        self._start_over(keep)

    def _start_over(self, session_id: int) -> None:
        self.session_id = session_id
        self.epoch = INITIAL_EPOCH


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers grouped by topic."""
    grouped: dict[str, list[int]] = {}
    for partition in partitions:
        grouped.setdefault(partition.topic, []).append(partition.partition)
    return grouped

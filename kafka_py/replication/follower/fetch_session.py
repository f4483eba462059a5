"""The follower's side of a fetch session (KIP-227): a request names a partition again only after its fetch has changed.

Pure: builds requests and takes the session fields of responses. An idle partition costs nothing per fetch. The leader's
side is the broker's fetch_session.py. Source: docs/reference/replication.md, section 10.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.wire.fetch_epochs import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, next_epoch
from kafka_py.wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic


class PartitionToFetch(Protocol):
    """A partition to fetch, in its present state."""

    @property
    def topic_partition(self) -> TopicPartition: ...

    def as_request(self) -> FetchPartition:
        """Its entry in the next request."""
        ...


class SessionFields(NamedTuple):
    """The session's part of a fetch request."""

    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]


class FollowerFetchSession:
    """The fetched partitions, and those that the leader's session has already.

    If the response for a partition was discarded, the partition is removed from the session and added again by the
    request after that. Otherwise the leader would assume that its high watermark was received, and not send it again.
    sessions: whether the version of Fetch has sessions; without them each request names every partition.
    sent: the state of each partition when it was named last, by which outdated responses are recognised.
    """

    def __init__(self, *, sessions: bool) -> None:
        self.sent: dict[TopicPartition, PartitionToFetch] = {}
        self._has_sessions = sessions
        self._wanted: dict[TopicPartition, PartitionToFetch] = {}
        self._changed: dict[TopicPartition, PartitionToFetch] = {}
        self._gone: dict[TopicPartition, None] = {}
        self._discarded: dict[TopicPartition, None] = {}
        self._session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH

    def __len__(self) -> int:
        return len(self._wanted)

    def put(self, one: PartitionToFetch) -> None:
        """Adds a partition, or notes that its fetch has changed."""
        topic_partition = one.topic_partition
        self._wanted[topic_partition] = one
        self._changed[topic_partition] = one
        if topic_partition not in self._discarded:
            self._gone.pop(topic_partition, None)

    def note_discarded(self, topic_partition: TopicPartition) -> None:
        """Marks the response for a partition as discarded, so that the partition is added to the session again."""
        if topic_partition in self.sent:
            self._discarded[topic_partition] = None
            self._gone[topic_partition] = None
            if topic_partition in self._wanted:
                self._changed[topic_partition] = self._wanted[topic_partition]

    def remove(self, topic_partition: TopicPartition) -> None:
        """Removes a partition."""
        self._wanted.pop(topic_partition, None)
        self._changed.pop(topic_partition, None)
        if topic_partition in self.sent:
            self._gone[topic_partition] = None

    @property
    def has_changes(self) -> bool:
        """Whether partitions were added or changed since the last request; the leader answers the next one at once."""
        return bool(self._changed)

    @property
    def is_full(self) -> bool:
        """Whether the next request names every partition."""
        return self._epoch == INITIAL_EPOCH or not self._has_sessions

    def next_request(self) -> SessionFields:
        """The session's part of the next request; `answered` or `failed` has to follow."""
        self._discarded.clear()
        if self.is_full:
            self.sent = dict(self._wanted)
            self._changed.clear()
            self._gone.clear()
            epoch = INITIAL_EPOCH if self._has_sessions else FINAL_EPOCH
            return SessionFields(self._session_id, epoch, _by_topic(self._wanted.values()), [])
        changed, self._changed = self._changed, {}
        gone, self._gone = self._gone, {}
        for topic_partition in gone:
            del self.sent[topic_partition]
            if topic_partition in changed:
                self._changed[topic_partition] = changed.pop(topic_partition)
        self.sent.update(changed)
        return SessionFields(self._session_id, self._epoch, _by_topic(changed.values()), _forgotten(gone))

    def answered(self, error: int, session_id: int) -> bool:
        """Takes the session fields of a response; returns whether its partitions are valid."""
        if error:
            self._restart(NO_SESSION if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND else self._session_id)
            return False
        if not self._has_sessions:
            return True
        if session_id == NO_SESSION:  # the leader's session cache is full, or it closed the session
            self._restart(NO_SESSION)
        elif session_id == self._session_id and self._epoch != INITIAL_EPOCH:
            self._epoch = next_epoch(self._epoch)
        else:
            self._session_id = session_id
            self._epoch = 1
        return True

    def failed(self) -> None:
        """Handles a lost response: the next request names all partitions and closes the old session."""
        self._restart(self._session_id)

    def _restart(self, close: int) -> None:
        self._session_id = close
        self._epoch = INITIAL_EPOCH


def _by_topic(partitions: Iterable[PartitionToFetch]) -> list[FetchTopic]:
    """The entries of a request; topics in the order of their first partition."""
    topics: dict[str, FetchTopic] = {}
    for one in partitions:
        topic = one.topic_partition[0]
        entry = topics.get(topic)
        if entry is None:
            entry = topics[topic] = FetchTopic(topic=topic, partitions=[])
        entry.partitions.append(one.as_request())
    return list(topics.values())


def _forgotten(gone: Iterable[TopicPartition]) -> list[ForgottenTopic]:
    topics: dict[str, ForgottenTopic] = {}
    for topic, partition in gone:
        entry = topics.get(topic)
        if entry is None:
            entry = topics[topic] = ForgottenTopic(topic=topic, partitions=[])
        entry.partitions.append(partition)
    return list(topics.values())

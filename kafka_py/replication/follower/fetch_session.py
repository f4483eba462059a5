"""The follower's side of a fetch session (KIP-227): it names a partition again only when its numbers changed.

Pure: builds requests and understands the answer's session fields. An idle partition costs nothing per fetch.
The leader's side is the broker's fetch_session.py. Source: docs/reference/replication.md, section 10.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.wire.fetch_epochs import FINAL_EPOCH, INITIAL_EPOCH, MAX_EPOCH, NO_SESSION
from kafka_py.wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic


class Wanted(Protocol):
    """A partition to fetch, as it is now."""

    @property
    def topic_partition(self) -> TopicPartition: ...

    def as_request(self) -> FetchPartition:
        """Its entry of the next request."""
        ...


class SessionRequest(NamedTuple):
    """The session's part of a fetch request."""

    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]


class FollowerSession:
    """Which partitions are fetched, and what the leader knows of that already.

    A partition of which an answer was not heeded is forgotten there first and named one request later: the leader,
    which believes its high watermark delivered, would not say it again.
    sessions: whether the fetch version has them; without, each request names every partition.
    sent: what each partition was when it was named last, by which an answer is recognised as outdated.
    """

    def __init__(self, *, sessions: bool) -> None:
        self.sent: dict[TopicPartition, Wanted] = {}
        self._sessions = sessions
        self._wanted: dict[TopicPartition, Wanted] = {}
        self._changed: dict[TopicPartition, Wanted] = {}
        self._gone: dict[TopicPartition, None] = {}
        self._unheeded: dict[TopicPartition, None] = {}
        self._session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH

    def __len__(self) -> int:
        return len(self._wanted)

    def want(self, one: Wanted) -> None:
        """Fetch it from now on, or: its numbers changed."""
        topic_partition = one.topic_partition
        self._wanted[topic_partition] = one
        self._changed[topic_partition] = one
        if topic_partition not in self._unheeded:
            self._gone.pop(topic_partition, None)

    def not_heeded(self, topic_partition: TopicPartition) -> None:
        """An answer said something of it that was not taken in; what the leader takes for said must be said anew."""
        if topic_partition in self.sent:
            self._unheeded[topic_partition] = None
            self._gone[topic_partition] = None
            if topic_partition in self._wanted:
                self._changed[topic_partition] = self._wanted[topic_partition]

    def forget(self, topic_partition: TopicPartition) -> None:
        """Fetch it no more."""
        self._wanted.pop(topic_partition, None)
        self._changed.pop(topic_partition, None)
        if topic_partition in self.sent:
            self._gone[topic_partition] = None

    @property
    def has_changes(self) -> bool:
        """Whether there is something to say that the last request did not: the next one is not to wait long."""
        return bool(self._changed)

    @property
    def is_full(self) -> bool:
        """Whether the next request names every partition."""
        return self._epoch == INITIAL_EPOCH or not self._sessions

    def next_request(self) -> SessionRequest:
        """What the next request says; to be followed by `answered` or `failed`."""
        self._unheeded.clear()
        if self.is_full:
            self.sent = dict(self._wanted)
            self._changed.clear()
            self._gone.clear()
            epoch = INITIAL_EPOCH if self._sessions else FINAL_EPOCH
            return SessionRequest(self._session_id, epoch, _by_topic(self._wanted.values()), [])
        changed, self._changed = self._changed, {}
        gone, self._gone = self._gone, {}
        for topic_partition in gone:
            del self.sent[topic_partition]
            if topic_partition in changed:
                self._changed[topic_partition] = changed.pop(topic_partition)
        self.sent.update(changed)
        return SessionRequest(self._session_id, self._epoch, _by_topic(changed.values()), _forgotten(gone))

    def answered(self, error: int, session_id: int) -> bool:
        """Takes the answer's session fields in; whether its partitions count."""
        if error:
            self._begin_anew(NO_SESSION if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND else self._session_id)
            return False
        if not self._sessions:
            return True
        if session_id == NO_SESSION:  # the leader has no room for one, or closed it
            self._begin_anew(NO_SESSION)
        elif session_id == self._session_id and self._epoch != INITIAL_EPOCH:
            self._epoch = 1 if self._epoch == MAX_EPOCH else self._epoch + 1
        else:
            self._session_id = session_id
            self._epoch = 1
        return True

    def failed(self) -> None:
        """No answer came: what the leader knows now is unclear, so all is said again; the old session is closed."""
        self._begin_anew(self._session_id)

    def _begin_anew(self, close: int) -> None:
        self._session_id = close
        self._epoch = INITIAL_EPOCH


def _by_topic(partitions: Iterable[Wanted]) -> list[FetchTopic]:
    """In the order of their first partition."""
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

"""The consumer's side of fetch sessions (KIP-227): say only what changed since the last fetch to a broker.

Pure: makes the partition lists of the next request and takes the outcome of the last. A broker that knows no sessions
answers with session id 0, and every request then names all partitions, first those that have waited longest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.wire.fetch_epochs import INITIAL_EPOCH, NO_SESSION


class Wanted(NamedTuple):
    """What one partition is asked for. generation: of its position (subscriptions.py)."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    generation: int = 0


class SessionRequest(NamedTuple):
    """What the next request carries: `send` partitions, `forget` others. In a full request `send` is all."""

    session_id: int
    epoch: int
    send: dict[TopicPartition, Wanted]
    forget: list[TopicPartition]


class FetchSession:
    """The session with one broker.

    wanted: what the next request asks for; what was wanted last comes last. asked: what the last request has asked for,
    directly or by not naming it in a session.
    """

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self.wanted: dict[TopicPartition, Wanted] = {}
        self.asked: dict[TopicPartition, Wanted] = {}
        self._changed: dict[TopicPartition, None] = {}

    def want(self, partition: TopicPartition, wanted: Wanted) -> None:
        """From now on this is asked of a partition."""
        before = self.wanted.get(partition)
        if before != wanted:
            if before is not None:
                del self.wanted[partition]
            self.wanted[partition] = wanted
            self._changed[partition] = None

    def drop(self, partition: TopicPartition) -> None:
        """From now on nothing is asked of a partition."""
        if self.wanted.pop(partition, None) is not None:
            self._changed[partition] = None

    def build(self) -> SessionRequest:
        """The next request."""
        changed, self._changed = self._changed, {}
        if self.session_id == NO_SESSION or self.epoch == INITIAL_EPOCH:
            self.asked = dict(self.wanted)
            return SessionRequest(self.session_id, INITIAL_EPOCH, dict(self.wanted), [])
        send: dict[TopicPartition, Wanted] = {}
        forget: list[TopicPartition] = []
        for partition in changed:
            wanted = self.wanted.get(partition)
            if wanted is None:
                if self.asked.pop(partition, None) is not None:
                    forget.append(partition)
            elif self.asked.get(partition) != wanted:
                send[partition] = self.asked[partition] = wanted
        return SessionRequest(self.session_id, self.epoch, send, forget)

    def succeeded(self, session_id: int) -> None:
        """The broker answered, with the session it keeps (0: none)."""
        if session_id == NO_SESSION:
            self._start_over(NO_SESSION)
        elif session_id != self.session_id:
            self.session_id = session_id
            self.epoch = 1
        else:
            self.epoch = 1 if self.epoch == 0x7FFFFFFF else self.epoch + 1

    def failed(self, error: ErrorCode) -> None:
        """The answer was an error for the whole request, or none came: begin again with all partitions."""
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

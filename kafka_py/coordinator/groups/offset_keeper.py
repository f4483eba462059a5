"""The entry point to the committed offsets of groups: commits, deletions, expiry.

Everything here runs on the broker's loop and is synchronous. commits.py and removal.py decide; their decisions are
carried out here, the records first, by metadata_store.py. Source: docs/reference/groups.md, sections 7 to 9 and 11.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.groups import commits, removal
from kafka_py.coordinator.groups.driver import GroupTimers
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.metadata_store import GroupStore
from kafka_py.coordinator.groups.removal import Removed
from kafka_py.coordinator.groups.requests import CommitRequest

_log = logging.getLogger(__name__)

_MINUTE_MS = 60_000


class OffsetKeeper:
    """The offsets of all groups that this broker coordinates.

    timers: of the members' sessions, which a commit extends. options: read for each request.
    committed_count: all offsets accepted for an append, whatever its result, as Apache Kafka 2.8.2 counts them.
    expired_count, deleted_count: all offsets removed so far; deleted_count has only those of OffsetDelete.
    """

    def __init__(
        self, store: GroupStore, timers: GroupTimers, clock: Clock, options: Callable[[], CoordinatorOptions]
    ) -> None:
        self.committed_count = 0
        self.expired_count = 0
        self.deleted_count = 0
        self._store = store
        self._timers = timers
        self._clock = clock
        self._options = options

    # ---- commits

    def building(self, group_id: str, request: CommitRequest) -> Generator[None, None, bytes]:
        """The batch for `commit`, if the commits are many; yields between portions."""
        return self._store.building(group_id, request.commits, request.producer)

    def commit(
        self, group_id: str, request: CommitRequest, answer: Callable[[ErrorCode], None], built: bytes | None = None
    ) -> None:
        """OffsetCommit, TxnOffsetCommit: responds when the record is acknowledged, or failed to be written.

        That may be at once. built: the batch, if it was built in turns. Raises KafkaError for the group or the
        member.
        """
        producer = request.producer
        group = self._group_to_commit(group_id, request)
        offsets = group.offsets
        is_mixed = (offsets.has_transactional or producer is not None) and offsets.begins_to_mix(
            transactional=producer is not None
        )
        change = commits.commit(group, request, self._clock.monotonic_ms())
        if change is not None:
            self._timers.change(group, change)
        if is_mixed:
            _log.warning(
                "Group %s has offset commits of its consumers and others of transactions: a commit of one kind may "
                "replace one of the other. A group should use one kind", group.id,
            )  # fmt: skip
        if not request.commits:
            answer(ErrorCode.OFFSET_METADATA_TOO_LARGE)
            return

        def appended(error: ErrorCode, record_offset: int) -> None:
            self.committed_count += len(request.commits)
            result = commits.written(group, request, error, record_offset)
            if producer is not None and error is not ErrorCode.NONE:
                self._store.note_failed(group, producer.id)
            answer(result)

        if producer is not None:
            self._store.note_open(group, producer.id)
        try:
            self._store.append_commits(group_id, request.commits, producer, appended, built)
        except Exception:
            commits.written(group, request, ErrorCode.UNKNOWN_SERVER_ERROR, -1)
            if producer is not None:
                self._store.note_failed(group, producer.id)
            raise

    def _group_to_commit(self, group_id: str, request: CommitRequest) -> Group:
        """Creates a missing group for a consumer that assigns itself its partitions, and for any transaction.

        Raises KafkaError.
        """
        store, is_plain = self._store, request.producer is None
        store.check(group_id, may_be_empty=is_plain)
        group = store.get(group_id)
        if group is None:
            if is_plain and request.generation >= 0:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"there is no group {group_id}")
            group = store.get_or_create(group_id)
        return group

    # ---- removal

    def delete(self, group_id: str, asked: Sequence[TopicPartition]) -> list[TopicPartition]:
        """OffsetDelete: the partitions whose offsets were removed; members subscribe to the topics of the others.

        Raises KafkaError for the group as a whole.
        """
        self._store.check(group_id)
        group = self._store.get(group_id)
        unread = removal.unsubscribed(group, group_id, asked)
        if group is not None:
            removed = removal.remove_offsets(group, unread, self._clock.wall_ms())
            self.deleted_count += self._bury(group, removed)
        return unread

    def remove_topics(self, topics: Iterable[str]) -> Iterator[object]:
        """Removes the offsets of deleted topics from every group. Yields after each group."""
        gone = frozenset(topics)
        for group in list(self._store.groups()):
            with self._store.guard(group):
                self._bury(group, removal.remove_topics(group, gone, self._clock.wall_ms()))
            yield group

    def remove_expired(self) -> Iterator[object]:
        """Removes offsets that have expired, and groups that are empty after that."""
        retention_ms = self._options().offsets_retention_minutes * _MINUTE_MS
        for group in list(self._store.groups()):
            with self._store.guard(group):
                expired = self._bury(group, removal.remove_expired(group, self._clock.wall_ms(), retention_ms))
                if expired:
                    self.expired_count += expired
                    _log.info("Group %s: %d offsets have expired", group.id, expired)
            yield group

    def _bury(self, group: Group, removed: Removed) -> int:
        """How many offsets were removed."""
        self._store.bury(group, removed)
        return len(removed.offsets)

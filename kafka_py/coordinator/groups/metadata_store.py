"""Stores groups: in memory and in the logs of the partitions of `__consumer_offsets` that this broker leads.

The only writer of group and offset records; replay.py loads a partition. machine.py, commits.py and removal.py decide
what is appended and what is removed; the broker handles the requests.
Source: docs/reference/groups.md, sections 2 and 7 to 10.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import GROUP_METADATA_TOPIC
from kafka_py.base.supervision import Guard
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.groups.commits import group_error
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import Commits, CommittingProducer, GroupOffsets, TxnEnd
from kafka_py.coordinator.groups.records import ValueVersions, group_key, group_value, offset_keys, offset_value
from kafka_py.coordinator.groups.removal import Removed
from kafka_py.coordinator.groups.replay import GroupReplay
from kafka_py.coordinator.groups.states import DEAD
from kafka_py.coordinator.runtime import Appended, CoordinatorRuntime, RuntimeServices
from kafka_py.records.builder import BatchBuilder, record_size_bound
from kafka_py.records.compression import Codec

_log = logging.getLogger(__name__)

TOPIC = GROUP_METADATA_TOPIC

OnDone = Callable[[ErrorCode], None]

_COMMITS_A_STEP = 256
_NO_WAIT = 0


class GroupListener(Protocol):
    """Is notified when groups are loaded and unloaded with their partition: starts and stops membership's timers."""

    def on_loaded(self, group: Group) -> None: ...

    def on_unloaded(self, group: Group) -> None: ...


class GroupStore:
    """All groups that this broker coordinates.

    options, versions: read for each request. partition_count: of the offsets topic.
    """

    def __init__(
        self,
        options: Callable[[], CoordinatorOptions],
        versions: Callable[[], ValueVersions],
        partition_count: int,
        around: RuntimeServices,
    ) -> None:
        self._listener: GroupListener | None = None
        self._is_active = True
        self._options = options
        self._versions = versions
        self._clock: Clock = around.clock
        self._groups: dict[int, dict[str, Group]] = {}
        self._open: dict[int, dict[int, dict[str, Group]]] = {}
        """By partition and producer id, the groups that may have commits in that producer's open transaction."""
        self._late_markers: dict[int, list[TxnEnd]] = {}
        self.runtime = CoordinatorRuntime(
            TOPIC, partition_count, self, around, buffer_bytes=options().offsets_load_buffer_size
        )

    def attach(self, listener: GroupListener) -> None:
        """Sets what is notified of groups; called before the first partition is loaded."""
        self._listener = listener

    def close(self) -> None:
        """The broker stops: from now on no callback is called."""
        self._is_active = False

    # ---- queries of membership and the handlers

    def check(self, group_id: str | None, *, may_be_empty: bool = False) -> None:
        """Raises KafkaError: INVALID_GROUP_ID, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS,
        NOT_COORDINATOR. may_be_empty: the API accepts an empty group id.
        """
        if group_id is None or not (group_id or may_be_empty):
            raise KafkaError(ErrorCode.INVALID_GROUP_ID, "the group id must not be empty")
        if not self._is_active:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker is about to stop")
        self.runtime.check(self.runtime.partition_for(group_id))

    def get(self, group_id: str) -> Group | None:
        """The group; None also when its coordinator is another broker."""
        groups = self._groups.get(self.runtime.partition_for(group_id))
        return None if groups is None else groups.get(group_id)

    def get_or_create(self, group_id: str) -> Group:
        """The group, created Empty if it does not exist. `check` has to be called before."""
        groups = self._groups.setdefault(self.runtime.partition_for(group_id), {})
        group = groups.get(group_id)
        if group is None:
            group = groups[group_id] = Group(group_id, GroupOffsets(), self._clock.wall_ms())
        return group

    def groups(self) -> Iterable[Group]:
        """All groups whose partition is loaded."""
        owned = self.runtime.owned
        return chain.from_iterable(groups.values() for partition, groups in self._groups.items() if partition in owned)

    @property
    def loading(self) -> bool:
        """Whether some partition is still being loaded, so that `groups` is incomplete."""
        return self.runtime.is_loading

    # ---- appends

    def persist(self, group: Group, assignments: Mapping[str, bytes], on_done: OnDone) -> None:
        """Appends the group as it is now, with the members' assignments.

        on_done: called with NONE or the error for the members, perhaps before this returns.
        """
        options = self._options()
        batch = self._builder(options)
        batch.append(
            self._clock.wall_ms(), group_key(group.id), group_value(group, assignments, self._versions().group)
        )
        self.runtime.append(
            self.runtime.partition_for(group.id),
            batch.build(),
            options.offsets_commit_required_acks,
            options.offsets_commit_timeout_ms,
            lambda code, _base_offset: on_done(group_error(code)),
        )

    def building(
        self, group_id: str, commits: Commits, producer: CommittingProducer | None = None
    ) -> Generator[None, None, bytes]:
        """The batch with which `append_commits` stores these commits; yields between portions."""
        version = self._versions().offset
        now_ms = self._clock.wall_ms()
        batch = self._builder(self._options(), producer)
        remaining = iter(commits.items())
        while some := dict(islice(remaining, _COMMITS_A_STEP)):
            for key, commit in zip(offset_keys(group_id, some), some.values(), strict=True):
                batch.append(now_ms, key, offset_value(commit, version))
            yield
        return batch.build()

    def append_commits(
        self,
        group_id: str,
        commits: Commits,
        producer: CommittingProducer | None,
        on_done: Appended,
        built: bytes | None = None,
    ) -> None:
        """Appends one or more commits of one group, as a batch of the producer's transaction if there is one.

        on_done: called when they are acknowledged or failed to be written, perhaps before this returns.
        built: their batch, if it was built in turns because they are many.
        """
        options = self._options()
        if built is None:
            version = self._versions().offset
            now_ms = self._clock.wall_ms()
            batch = self._builder(options, producer)
            for key, commit in zip(offset_keys(group_id, commits), commits.values(), strict=True):
                batch.append(now_ms, key, offset_value(commit, version))
            built = batch.build()
        self.runtime.append(
            self.runtime.partition_for(group_id),
            built,
            options.offsets_commit_required_acks,
            options.offsets_commit_timeout_ms,
            on_done,
        )

    # ---- transactions

    def note_open(self, group: Group, producer_id: int) -> None:
        """Notes that the group has commits in a transaction of this producer."""
        of_producers = self._open.setdefault(self.runtime.partition_for(group.id), {})
        of_producers.setdefault(producer_id, {})[group.id] = group

    def note_failed(self, group: Group, producer_id: int) -> None:
        """Commits in a transaction of this producer were not appended; undoes `note_open` if the group has no other."""
        if producer_id in group.offsets.pending_txn:
            return
        of_producers = self._open.get(self.runtime.partition_for(group.id), {})
        groups = of_producers.get(producer_id, {})
        if groups.get(group.id) is group:
            del groups[group.id]
            if not groups:
                del of_producers[producer_id]

    def complete_txn(self, partition: int, marker: TxnEnd) -> None:
        """A marker was appended to a partition: the transaction's commits become valid in its groups, or are dropped.

        A marker during loading is kept, because the loader may already have read the log to its end.
        """
        of_producers = self._open.get(partition)
        if of_producers is not None:
            for group in of_producers.pop(marker.producer_id, {}).values():
                group.offsets.complete_txn(marker)
                if marker.producer_id in group.offsets.pending_txn:
                    self.note_open(group, marker.producer_id)
        elif self.runtime.is_loading_partition(partition):
            self._late_markers.setdefault(partition, []).append(marker)

    def bury(self, group: Group, removed: Removed) -> None:
        """Appends tombstones for what was removed from a group, and forgets the group if it was removed itself.

        The result is not awaited: what a lost tombstone leaves behind is found and removed again.
        """
        partition = self.runtime.partition_for(group.id)
        keys = offset_keys(group.id, removed.offsets)
        groups = self._groups.get(partition)
        if removed.group and groups is not None and groups.get(group.id) is group:
            del groups[group.id]
            if removed.has_record:
                keys.append(group_key(group.id))
        if keys:
            self._append_tombstones(partition, keys)

    def _append_tombstones(self, partition: int, keys: Iterable[bytes]) -> None:
        options = self._options()
        now_ms = self._clock.wall_ms()
        most_bytes = self.runtime.tombstone_bytes(partition)
        batch = self._builder(options)
        size = 0
        for key in keys:
            size += (added := record_size_bound(key, None))
            if size > most_bytes and batch.record_count:
                self._append_unawaited(partition, batch.build())
                batch = self._builder(options)
                size = added
            batch.append(now_ms, key, None)
        if batch.record_count:
            self._append_unawaited(partition, batch.build())

    def _append_unawaited(self, partition: int, batch: bytes) -> None:
        def done(code: ErrorCode, _base_offset: int) -> None:
            if code is not ErrorCode.NONE:
                _log.warning("Tombstones for %s-%d were not written: %s", TOPIC, partition, code.name)

        self.runtime.append(partition, batch, 0, _NO_WAIT, done)

    def _builder(self, options: CoordinatorOptions, producer: CommittingProducer | None = None) -> BatchBuilder:
        """No sequences are checked here: every batch of a coordinator in a transaction begins with 0 (KIP-98)."""
        codec = Codec(options.offsets_topic_compression_codec)
        if producer is None:
            return BatchBuilder(codec)
        return BatchBuilder(
            codec, producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=0, transactional=True
        )

    # ---- partitions are loaded and unloaded (KeptState)

    def replay(self, partition: int) -> GroupReplay:
        return GroupReplay(
            self._clock, partial(self._take_over, partition), self._tell_loaded, self.runtime.supervisor
        )

    def _take_over(
        self, partition: int, groups: dict[str, Group], open_transactions: dict[int, dict[str, Group]]
    ) -> None:
        self._groups[partition] = groups
        self._open[partition] = open_transactions
        for marker in self._late_markers.pop(partition, ()):
            self.complete_txn(partition, marker)

    def _tell_loaded(self, group: Group) -> None:
        if self._listener is not None:
            self._listener.on_loaded(group)

    def unload(self, partition: int) -> Iterator[object]:
        self._late_markers.pop(partition, None)
        self._open.pop(partition, None)
        for group in self._groups.pop(partition, {}).values():
            if self._listener is not None:
                with self.guard(group):
                    self._listener.on_unloaded(group)
            if not group.is_dead:
                group.become(DEAD, self._clock.wall_ms())
            yield group

    def guard(self, group: Group) -> Guard:
        """Around work on one of many groups: an exception is reported, and the other groups are still handled."""
        return self.runtime.supervisor.guard("upkeep of groups", group.id)

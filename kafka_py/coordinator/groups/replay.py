"""Loads groups from one partition of `__consumer_offsets`.

The last record of each key counts; commits of a transaction count once its marker is read. Unreadable records are
skipped and logged. Knows records and groups, no files. Source: docs/reference/groups.md, section 10.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets, OpenTransaction
from kafka_py.coordinator.groups.records import (
    KeyReader,
    OffsetKey,
    UnreadableRecord,
    partition_position,
    read_group_value,
    read_offset_value,
)
from kafka_py.records.batch import BatchHeader
from kafka_py.records.record import Record
from kafka_py.wire.messages.group_metadata_record import GroupMetadataValue, MemberMetadata

_log = logging.getLogger(__name__)

_ACTIVITY = "loading of groups"
_MOST_WARNINGS = 20
_Keyed = dict[str, dict[TopicPartition, CommittedOffset]]


class GroupReplay:
    """Takes records, and hands the groups over when all are read.

    take_over: called once with all groups by id, and those with commits in open transactions by producer id.
    tell_loaded: called with each group afterwards.
    """

    def __init__(
        self,
        clock: Clock,
        take_over: Callable[[dict[str, Group], dict[int, dict[str, Group]]], None],
        tell_loaded: Callable[[Group], None],
        supervisor: Supervisor,
    ) -> None:
        self._clock = clock
        self._supervisor = supervisor
        self._take_over = take_over
        self._tell_loaded = tell_loaded
        self._offsets: _Keyed = {}
        self._in_transactions: dict[int, _Keyed] = {}
        self._groups: dict[str, GroupMetadataValue] = {}
        self._keys = KeyReader()
        self._skipped = 0

    # ---- records

    def records(self, header: BatchHeader, records: list[Record]) -> None:
        """Applies the records in order. A run of commits of one group looks the group up once: runs are the rule."""
        base_offset, read_key, partitions = header.base_offset, self._keys.read, self._keys.partitions
        offsets = self._offsets
        if header.is_transactional:
            offsets = self._in_transactions.setdefault(header.producer_id, {})
        same_group: bytes | tuple[()] = ()  # how the keys of the group with `of_group` begin; (): no key begins so
        of_group: dict[TopicPartition, CommittedOffset] = {}
        for offset, _timestamp, key, value, _headers in records:
            try:
                if key is None:
                    raise UnreadableRecord("it has no key")
                if value is not None and key.startswith(same_group):
                    topic_partition = partitions.get(key[len(same_group) :])
                    if topic_partition is not None:
                        of_group[topic_partition] = read_offset_value(value, base_offset)
                        continue
                found = read_key(key)
                if type(found) is OffsetKey:
                    if value is None:
                        self._drop_offset(offsets, found)
                        same_group = ()
                    else:
                        of_group = offsets.setdefault(found[0], {})
                        same_group = key[: partition_position(key)]
                        of_group[found[1]] = read_offset_value(value, base_offset)
                elif value is None:
                    self._groups.pop(found[0], None)
                else:
                    self._groups[found[0]] = read_group_value(value)
            except UnreadableRecord as error:
                self._note_unreadable(offset, error)

    @staticmethod
    def _drop_offset(offsets: _Keyed, key: OffsetKey) -> None:
        of_group = offsets.get(key.group)
        if of_group is not None:
            of_group.pop(key.topic_partition, None)
            if not of_group:
                del offsets[key.group]

    def _note_unreadable(self, offset: int, error: UnreadableRecord) -> None:
        self._skipped += 1
        if self._skipped <= _MOST_WARNINGS:
            _log.error("The record at offset %d of the offsets topic is left out: %s", offset, error)

    def marker(self, header: BatchHeader, *, committed: bool) -> None:
        for group, commits in self._in_transactions.pop(header.producer_id, {}).items():
            if committed:
                offsets = self._offsets.setdefault(group, {})
                for topic_partition, commit in commits.items():
                    known = offsets.get(topic_partition)
                    if known is None or known.record_offset < commit.record_offset:
                        offsets[topic_partition] = commit

    def damaged(self, offset: int, reason: Exception) -> None:
        """Nothing: the commits in it are lost, and the group reads from the commit before, as after a crash.

        To refuse the partition would stop all of its groups for the commits of a few.
        """

    # ---- groups

    def finish(self) -> Iterator[object]:
        """Creates a group for each group id with a record of its own, offsets, or commits in open transactions."""
        if self._skipped:
            _log.error("%d records of the offsets topic were left out", self._skipped)
        now_ms = self._clock.wall_ms()
        groups: dict[str, Group] = {}
        in_doubt: dict[str, dict[int, OpenTransaction]] = {}
        open_of: dict[int, dict[str, Group]] = {}
        for producer_id, by_group in self._in_transactions.items():
            for group_id, commits in by_group.items():
                if commits:
                    in_doubt.setdefault(group_id, {})[producer_id] = OpenTransaction(commits)
        for group_id in dict.fromkeys((*self._groups, *self._offsets, *in_doubt)):
            offsets = GroupOffsets()
            offsets.committed = self._offsets.pop(group_id, {})
            offsets.pending_txn = in_doubt.get(group_id, {})
            group = groups[group_id] = Group(group_id, offsets, now_ms)
            for producer_id in offsets.pending_txn:
                open_of.setdefault(producer_id, {})[group_id] = group
            value = self._groups.get(group_id)
            if value is not None:
                with self._supervisor.guard(_ACTIVITY, group_id):
                    restore(group, value)
            yield group
        self._take_over(groups, open_of)
        for group in groups.values():
            with self._supervisor.guard(_ACTIVITY, group.id):
                self._tell_loaded(group)
            yield group


def restore(group: Group, value: GroupMetadataValue) -> None:
    """Restores a new group from its record."""
    timestamp = value.current_state_timestamp
    group.restore(
        generation=value.generation,
        protocol_type=value.protocol_type,
        protocol=value.protocol,
        leader=value.leader,
        current_state_timestamp=None if timestamp == -1 else timestamp,
        members=[_member(member, value.protocol or "") for member in value.members],
    )


def _member(stored: MemberMetadata, protocol: str) -> Member:
    """Restores a member; until it joins again it supports only the strategy that was chosen.

    Records of version 0 have no rebalance time-out; the session time-out is used instead.
    """
    return Member(
        member_id=stored.member_id,
        group_instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.rebalance_timeout or stored.session_timeout,
        session_timeout_ms=stored.session_timeout,
        protocols=((protocol, bytes(stored.subscription)),),
        assignment=bytes(stored.assignment),
    )

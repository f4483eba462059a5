"""Removal of a group's offsets, when they expire, are deleted or their topic is deleted; and of the group itself.

Pure: changes the group, a value in memory, and returns what must be deleted from the log as well. The tombstones are
not awaited: what a lost one leaves behind is found and removed again.
Source: docs/reference/groups.md, sections 7, 8 and 11; KIP-211, KIP-496.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from kafka_py.coordinator.groups.states import DEAD, STABLE
from kafka_py.wire.compiler import decode
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_py.wire.primitives import MalformedMessage

CONSUMER = "consumer"
"""The protocol type whose members state the topics to which they subscribe."""

_VERSION_SIZE = 2


class Removed(NamedTuple):
    """What was removed from a group.

    offsets: the partitions whose commits were removed. group: whether the group is removed too. has_record: whether
    the group has a record of its own; a group that only stored offsets has none.
    """

    offsets: Sequence[TopicPartition]
    group: bool
    has_record: bool


NOTHING = Removed((), group=False, has_record=False)


def remove_expired(group: Group, wall_ms: int, retention_ms: int) -> Removed:
    """Removes expired offsets, and the group if it is empty after that."""
    if group.is_dead:
        return NOTHING
    expired = expired_offsets(group, wall_ms, retention_ms)
    for topic_partition in expired:
        del group.offsets.committed[topic_partition]
    return _removed(group, expired, wall_ms)


def remove_topics(group: Group, topics: Collection[str], wall_ms: int) -> Removed:
    """Removes the offsets of deleted topics, including pending ones."""
    found = [] if group.is_dead else group.offsets.of_topics(topics)
    return _removed(group, group.offsets.remove(found), wall_ms) if found else NOTHING


def remove_offsets(group: Group, topic_partitions: Sequence[TopicPartition], wall_ms: int) -> Removed:
    """Removes the group's offsets of these partitions, and the group if it is empty after that."""
    return _removed(group, group.offsets.remove(topic_partitions), wall_ms)


def remove_group(group: Group) -> Removed:
    """Removes all offsets of the group, which is Dead."""
    return Removed(group.offsets.remove_all(), group=True, has_record=group.generation > 0)


def unsubscribed(group: Group | None, group_id: str, asked: Sequence[TopicPartition]) -> list[TopicPartition]:
    """The partitions whose offsets OffsetDelete may remove: those of topics to which no member subscribes.

    Raises KafkaError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP for an active group that is not a consumer group.
    """
    if group is None or group.is_dead:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id}")
    if group.is_empty:
        return list(asked)
    if group.protocol_type != CONSUMER:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP, f"group {group_id} has members")
    read = subscribed_topics(group)
    return [] if read is None else [found for found in asked if found.topic not in read]


def _removed(group: Group, offsets: Sequence[TopicPartition], wall_ms: int) -> Removed:
    """What was removed. An Empty group without offsets, pending ones and pending members becomes Dead."""
    if group.is_empty and group.offsets.is_empty and not group.pending_members:
        group.become(DEAD, wall_ms)
    return Removed(offsets, group=group.is_dead, has_record=group.generation > 0)


# ---- expiry


def expired_offsets(group: Group, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The partitions whose commit has expired; never one with another commit pending.

    A group that has lost its members keeps its offsets for the retention time from that moment on, a simple consumer
    from each commit on; an active group keeps those of subscribed topics. Any other group keeps all.
    now_ms: wall clock. An expiry that a client has asked for replaces the retention time.
    """
    empty_since_ms = group.current_state_timestamp
    if group.protocol_type is None:
        return _past(group, now_ms, retention_ms, _committed)
    if group.is_empty:
        if empty_since_ms is None:
            return _past(group, now_ms, retention_ms, _committed)
        return _past(group, now_ms, retention_ms, lambda _: empty_since_ms)
    if group.protocol_type == CONSUMER and group.state is STABLE:
        past = _past(group, now_ms, retention_ms, _committed)
        subscribed = subscribed_topics(group) if past else None
        return [] if subscribed is None else [found for found in past if found.topic not in subscribed]
    return []


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """The topics to which members subscribe; None if a subscription is unreadable: then it may be any topic."""
    if group.protocol_type != CONSUMER:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        try:
            metadata = member.metadata(group.protocol or "")
            topics.update(decode(ConsumerProtocolSubscription, 0, metadata, _VERSION_SIZE).topics)
        except (KeyError, MalformedMessage):
            return None
    return frozenset(topics)


def _committed(commit: CommittedOffset) -> int:
    return commit.commit_timestamp


def _past(
    group: Group, now_ms: int, retention_ms: int, base_of: Callable[[CommittedOffset], int]
) -> list[TopicPartition]:
    pending = group.offsets.pending
    return [
        topic_partition
        for topic_partition, commit in group.offsets.committed.items()
        if topic_partition not in pending
        and (
            now_ms - base_of(commit) >= retention_ms
            if commit.expire_timestamp == NO_EXPIRY
            else now_ms >= commit.expire_timestamp
        )
    ]

"""Which committed offsets have been kept long enough (KIP-211).

Pure: looks at one group and a moment. Removing them, and the group when nothing is left of it, is metadata_store.py's.
Source: docs/reference/groups.md, section 11.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from kafka_py.coordinator.groups.states import STABLE
from kafka_py.wire.compiler import decode
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_py.wire.primitives import MalformedMessage

CONSUMER = "consumer"
"""The protocol type whose members say which topics they read."""

_VERSION_SIZE = 2


def expired_offsets(group: Group, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The partitions whose commit nobody will miss; never one with another commit on its way.

    A group that has lost its members keeps its offsets for the retention from that moment on, a simple consumer from
    each commit on, and members that are at work keep those of the topics they read. Any other group keeps all.
    now_ms: wall clock. An expiry that a client has asked for counts in place of the retention.
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
    """What the members of a consumer group read; None when it cannot be told, for then it may be anything."""
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

"""Descriptions of consumer groups, made from responses to DescribeGroups.

Source: docs/reference/groups.md, sections 2 and 8; ConsumerGroupDescription.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.core import error_of
from kafka_py.clients.admin.results import operations_of
from kafka_py.clients.metadata import Node
from kafka_py.wire.compiler import decode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from kafka_py.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kafka_py.wire.primitives import MalformedMessage

CONSUMER_TYPES = ("consumer", "")
"""Protocol types of consumer groups; the empty one belongs to groups that only store offsets."""


class ConsumerGroupState(StrEnum):
    """The states of a group, by their names in responses. A group that does not exist is described as DEAD."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"

    @classmethod
    def of(cls, name: str) -> ConsumerGroupState:
        """The state of that name, UNKNOWN for an unknown name."""
        return cls(name) if name in cls._value2member_map_ else cls.UNKNOWN


class ConsumerGroupListing(NamedTuple):
    """A group by id. is_simple: no member ever joined, it only stores offsets. state: None from brokers before 2.6."""

    group_id: str
    is_simple: bool
    state: ConsumerGroupState | None


class MemberDescription(NamedTuple):
    """A member of a group. host: its address, seen by the coordinator, with a leading slash."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]


class ConsumerGroupDescription(NamedTuple):
    """A group with its members. authorized_operations: bits, None when not asked for."""

    group_id: str
    is_simple: bool
    members: list[MemberDescription]
    partition_assignor: str
    state: ConsumerGroupState
    coordinator: Node
    authorized_operations: int | None = None


class MemberToRemove(NamedTuple):
    """A static member by its group.instance.id, or any member by its member id."""

    group_instance_id: str | None = None
    member_id: str = ""


def described(group: DescribedGroup, coordinator: Node) -> ConsumerGroupDescription | KafkaError:
    failure = error_of(group.error_code, None, group.group_id)
    if failure is not None:
        return failure
    if group.protocol_type not in CONSUMER_TYPES:
        detail = f"group {group.group_id} is not a consumer group: it has protocol type {group.protocol_type!r}"
        return KafkaError(ErrorCode.INVALID_REQUEST, detail)
    return ConsumerGroupDescription(
        group.group_id,
        not group.protocol_type,
        members_of(group),
        group.protocol_data,
        ConsumerGroupState.of(group.group_state),
        coordinator,
        operations_of(group.authorized_operations),
    )


def members_of(group: DescribedGroup) -> list[MemberDescription]:
    """The members of a described group of any protocol; what is assigned to them only for consumers."""
    return [_member(each) for each in group.members]


def _member(member: DescribedGroupMember) -> MemberDescription:
    assigned: tuple[TopicPartition, ...] = ()
    if member.member_assignment:
        try:
            _, body = decode_versioned(ConsumerProtocolAssignment, bytes(member.member_assignment), newest_known=True)
        except MalformedMessage:
            pass  # the assignment of another client may have another format
        else:
            assigned = tuple(
                TopicPartition(each.topic, number) for each in body.assigned_partitions for number in each.partitions
            )
    return MemberDescription(member.member_id, member.group_instance_id, member.client_id, member.client_host, assigned)

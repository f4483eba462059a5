"""The view of administrators: descriptions and lists of groups, and which groups may be deleted.

Source: docs/reference/groups.md, sections 2 and 8; KIP-229 (delete), KIP-518 (list by state).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.context import Store
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.states import DEAD, STABLE


class DescribedMember(NamedTuple):
    """metadata, assignment: opaque bytes, empty unless the group is stable."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes = b""
    assignment: bytes = b""


class GroupDescription(NamedTuple):
    """state: its name in the protocol; "Dead" for a group that does not exist."""

    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()


class GroupOverview(NamedTuple):
    group_id: str
    protocol_type: str
    state: str


UNKNOWN_GROUP = GroupDescription(DEAD.value)


def describe(store: Store, group_id: str) -> GroupDescription:
    """The group as it is now; one that does not exist is Dead. Raises KafkaError as Store.check does."""
    store.check(group_id, may_be_empty=True)
    group = store.get(group_id)
    return UNKNOWN_GROUP if group is None else _description(group)


def _description(group: Group) -> GroupDescription:
    protocol = (group.protocol if group.state is STABLE else None) or ""
    members = tuple(_described(member, protocol) for member in group.members.values())
    return GroupDescription(group.state.value, group.protocol_type or "", protocol, members)


def _described(member: Member, protocol: str) -> DescribedMember:
    who = (member.member_id, member.group_instance_id, member.client_id, member.client_host)
    return DescribedMember(*who, member.metadata(protocol), member.assignment) if protocol else DescribedMember(*who)


def list_groups(store: Store, states: Collection[str] = ()) -> list[GroupOverview]:
    """All groups here, or those in one of `states` (exact names)."""
    return [
        GroupOverview(group.id, group.protocol_type or "", group.state.value)
        for group in store.groups()
        if not states or group.state.value in states
    ]


def deletable(store: Store, group_id: str) -> Group:
    """The group, which is empty, so that it and its offsets may be removed.

    Raises KafkaError: as Store.check does, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    """
    store.check(group_id, may_be_empty=True)
    group = store.get(group_id)
    if group is None or group.is_dead:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    return group

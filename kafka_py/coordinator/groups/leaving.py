"""LeaveGroup: members go by themselves, or are sent away by an administrator.

Source: docs/reference/groups.md, section 5; KIP-345.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.answers import NO_MEMBER_ID
from kafka_py.coordinator.groups.context import Context
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.rebalancing import Rebalancing

log = logging.getLogger(__name__)


class Leaver(NamedTuple):
    """Who is to go: a member by its id, or a static one by its instance id and an empty member id."""

    member_id: str
    group_instance_id: str | None = None


class Leaving:
    """Lets members go."""

    def __init__(self, context: Context, rebalancing: Rebalancing) -> None:
        self._context = context
        self._rebalancing = rebalancing

    def leave(self, group_id: str, leavers: Sequence[Leaver]) -> list[ErrorCode]:
        """How it went for each. Raises KafkaError for what concerns the group as a whole."""
        store = self._context.store
        store.check(group_id)
        group = store.get(group_id)
        if group is None:
            return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leavers)
        if group.is_dead:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return [self._leave(group, leaver) for leaver in leavers]

    def _leave(self, group: Group, leaver: Leaver) -> ErrorCode:
        member_id, instance_id = leaver
        if member_id != NO_MEMBER_ID and group.is_fenced(instance_id, member_id):
            return ErrorCode.FENCED_INSTANCE_ID
        if member_id in group.pending_members:
            self._rebalancing.remove_pending(group, member_id)
            return ErrorCode.NONE
        if instance_id is not None:
            member_id = group.static_members.get(instance_id, member_id)
        member = group.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        log.info("Member %s leaves group %s", member_id, group.id)
        self._rebalancing.remove_member(group, member, f"member {member_id} left")
        return ErrorCode.NONE

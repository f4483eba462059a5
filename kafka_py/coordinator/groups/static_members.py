"""A static member comes back after a restart: it takes over its former self's place, mostly without a rebalance.

Source: docs/reference/groups.md, section 6; KIP-345.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.answers import NO_MEMBER_ID, AnswerJoin, JoinResult, refused_join, refused_sync
from kafka_py.coordinator.groups.context import Context
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member, Protocols
from kafka_py.coordinator.groups.rebalancing import Rebalancing
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE, STABLE

if TYPE_CHECKING:
    from kafka_py.coordinator.groups.joining import JoinRequest

log = logging.getLogger(__name__)


def replace_static_member(
    context: Context, rebalancing: Rebalancing, group: Group, request: JoinRequest, new_id: str, answer: AnswerJoin
) -> None:
    """The owner of a registered instance id joins without a member id: it becomes `new_id`, its former self is fenced.

    In a stable group whose strategy stays the chosen one it goes on with its former assignment as soon as its new id
    is written. Otherwise it takes part in the round that runs, or begins one.
    """
    instance_id = request.group_instance_id
    assert instance_id is not None
    old_id = group.static_members[instance_id]
    old_leader = group.leader
    member = group.members[old_id]
    old_protocols = member.protocols
    log.info("Static member %s of group %s rejoins as %s in place of %s", instance_id, group.id, new_id, old_id)
    group.answer_join(old_id, refused_join(old_id, ErrorCode.FENCED_INSTANCE_ID))
    group.answer_sync(old_id, refused_sync(ErrorCode.FENCED_INSTANCE_ID))
    group.rename(member, new_id)
    group.set_protocols(member, request.protocols)
    member.session_timeout_ms = request.session_timeout_ms
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    rebalancing.sessions.touch(group, member)
    group.park_join(new_id, answer)
    if group.state is STABLE and group.select_protocol() == group.protocol:
        _take_over(context, rebalancing, group, member, _Former(old_id, old_leader, old_protocols))
    elif group.state in (STABLE, COMPLETING_REBALANCE):
        # The leader may be busy with an assignment for the former id, of which the new one would get nothing.
        rebalancing.prepare(group, f"static member {instance_id} came back as {new_id}")


class _Former:
    """What a static member was before it came back. leader: the group's."""

    __slots__ = ("leader", "member_id", "protocols")

    def __init__(self, member_id: str, leader: str | None, protocols: Protocols) -> None:
        self.member_id = member_id
        self.leader = leader
        self.protocols = protocols


def _take_over(context: Context, rebalancing: Rebalancing, group: Group, member: Member, former: _Former) -> None:
    """Has the new id written and then lets the member go on; if that fails it stays what it was."""
    new_id = member.member_id
    generation = group.generation

    def persisted(error: ErrorCode) -> None:
        if group.state is not STABLE or group.generation != generation or group.members.get(new_id) is not member:
            return  # a round began meanwhile, and answers it; or it went, and was told so
        if error is not ErrorCode.NONE:
            log.warning("Group %s: the new id %s of a static member was not written: %s", group.id, new_id, error.name)
            leader = former.leader or NO_MEMBER_ID
            group.answer_join(new_id, JoinResult(NO_MEMBER_ID, generation, leader=leader, error=error))
            group.rename(member, former.member_id)
            group.set_protocols(member, former.protocols)
        else:
            # Naming the former leader keeps a leader that came back from assigning: nobody would get what it assigns.
            result = JoinResult(new_id, generation, group.protocol_type, group.protocol, former.leader or NO_MEMBER_ID)
            group.answer_join(new_id, result)
        rebalancing.sessions.touch(group, member)

    assignments = {each.member_id: each.assignment for each in group.members.values()}
    context.store.persist(group, assignments, persisted)

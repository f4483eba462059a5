"""JoinGroup: who may become or stay a member, and whether that begins a new round.

The guards stand in Kafka's order.
Source: docs/reference/groups.md, section 3; KIP-62 (rebalance time-out), KIP-345 (static members), KIP-389
(group.max.size), KIP-394 (a member id first).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.answers import NO_MEMBER_ID, AnswerJoin, JoinResult, refused_join
from kafka_py.coordinator.groups.context import Context
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import NEW_MEMBER_TIMEOUT_MS, Member, Protocols
from kafka_py.coordinator.groups.rebalancing import Rebalancing, joined
from kafka_py.coordinator.groups.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from kafka_py.coordinator.groups.static_members import replace_static_member

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A request to join.

    member_id: empty for a new member. group_instance_id: None for a dynamic one.
    needs_known_id: a new dynamic member is first given an id and has to come back with it (v4+).
    client_host: as Java prints an address, `/10.0.0.1`.
    """

    group_id: str
    member_id: str
    group_instance_id: str | None
    needs_known_id: bool
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols

    @property
    def protocol_names(self) -> list[str]:
        return [name for name, _ in self.protocols]


class Joining:
    """Takes joins in. new_id: a random text that is never given twice; a test may put in another."""

    def __init__(self, context: Context, rebalancing: Rebalancing, new_id: Callable[[], str]) -> None:
        self._context = context
        self._rebalancing = rebalancing
        self.new_id = new_id

    def join(self, request: JoinRequest, answer: AnswerJoin) -> None:
        """Answers at once, or when the round of joining ends."""
        try:
            group = self._group_of(request)
            if not self._has_room(group, request):
                self._turn_away(group, request, answer)
            elif request.member_id == NO_MEMBER_ID:
                self._join_unknown(group, request, answer)
            else:
                self._join_known(group, request, answer)
        except KafkaError as error:
            answer(refused_join(request.member_id, error.code))
            return
        self._rebalancing.progress(group)

    def _group_of(self, request: JoinRequest) -> Group:
        """Only somebody who does not claim to be a member brings a group into being."""
        store, limits = self._context.store, self._context.limits()
        store.check(request.group_id)
        if not (
            limits.group_min_session_timeout_ms <= request.session_timeout_ms <= limits.group_max_session_timeout_ms
        ):
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        if request.member_id == NO_MEMBER_ID:
            return store.get_or_create(request.group_id)
        group = store.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    # ---- group.max.size

    def _has_room(self, group: Group, request: JoinRequest) -> bool:
        """Whether the group takes this member. While members join, those count who are here: the rest may not come.

        A static member that comes back under a new id takes its former self's place.
        """
        most = self._context.limits().group_max_size
        member_id = request.member_id or group.static_members.get(request.group_instance_id or "", NO_MEMBER_ID)
        if group.state in (EMPTY, DEAD):
            return True
        if group.state is PREPARING_REBALANCE:
            return member_id in group.joins or len(group.joins) < most
        return member_id in group.members or len(group.members) < most

    def _turn_away(self, group: Group, request: JoinRequest, answer: AnswerJoin) -> None:
        """One too many, even if it was a member until now."""
        member = group.members.get(request.member_id)
        if member is not None:
            self._rebalancing.remove_member(group, member, f"group.max.size: no room for {member.member_id}")
        group.forget_pending(request.member_id)
        answer(refused_join(NO_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED))

    # ---- new members

    def _join_unknown(self, group: Group, request: JoinRequest, answer: AnswerJoin) -> None:
        _check_open(group, request)
        instance_id = request.group_instance_id
        member_id = f"{request.client_id if instance_id is None else instance_id}-{self.new_id()}"
        if instance_id is not None and instance_id in group.static_members:
            replace_static_member(self._context, self._rebalancing, group, request, member_id, answer)
        elif request.needs_known_id and instance_id is None:
            self._rebalancing.sessions.expect(group, member_id, request.session_timeout_ms)
            answer(refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED))
        else:
            self._add(group, request, member_id, answer)

    def _add(self, group: Group, request: JoinRequest, member_id: str, answer: AnswerJoin) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
            is_new=True,
        )
        if group.state is PREPARING_REBALANCE and group.generation == 0:
            group.new_member_added = True
        if not group.members:
            group.protocol_type = request.protocol_type
        group.add(member)
        group.park_join(member_id, answer)
        # It does not know its id yet and so cannot send heartbeats, nor do we see it go: a generous limit of its own.
        self._rebalancing.sessions.extend(group, member, NEW_MEMBER_TIMEOUT_MS)
        self._rebalancing.maybe_prepare(group, f"adding new member {member_id}")

    # ---- those who have an id

    def _join_known(self, group: Group, request: JoinRequest, answer: AnswerJoin) -> None:
        _check_open(group, request)
        member_id, instance_id = request.member_id, request.group_instance_id
        if instance_id is None and group.forget_pending(member_id):
            self._add(group, request, member_id, answer)
            return
        if group.is_fenced(instance_id, member_id):
            raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = group.members.get(member_id)
        if member is None or (instance_id is not None and instance_id not in group.static_members):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        self._rejoin(group, member, request, answer)

    def _rejoin(self, group: Group, member: Member, request: JoinRequest, answer: AnswerJoin) -> None:
        """A member joins again. A new round begins only if there is reason to: the leader may see new partitions, and
        changed metadata may change the assignment.
        """
        member_id = member.member_id
        unchanged = member.protocols == request.protocols
        if group.state is COMPLETING_REBALANCE and unchanged:
            answer(joined(group, member_id))  # it missed the answer to its first join
        elif group.state is STABLE and unchanged and member_id != group.leader:
            answer(JoinResult(member_id, group.generation, group.protocol_type, group.protocol, group.leader or ""))
        else:
            self._update(group, member, request, answer)

    def _update(self, group: Group, member: Member, request: JoinRequest, answer: AnswerJoin) -> None:
        group.set_protocols(member, request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        group.park_join(member.member_id, answer)
        self._rebalancing.maybe_prepare(group, f"member {member.member_id} joins in {group.state.value}")


def _check_open(group: Group, request: JoinRequest) -> None:
    """Raises KafkaError for a group that is gone, or one with which the member shares no strategy."""
    if group.is_dead:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if not group.supports(request.protocol_type, request.protocol_names):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

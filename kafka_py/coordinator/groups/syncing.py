"""SyncGroup: the leader hands in what everybody is to work on, everybody collects it.

The assignment is in the log before anyone is told of it, so that a coordinator that takes over knows it too.
Source: docs/reference/groups.md, section 5; KIP-559 (protocol type and name are checked).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.answers import AnswerSync, SyncResult, refused_sync
from kafka_py.coordinator.groups.context import Context
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.rebalancing import Rebalancing
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """A request for one's assignment.

    protocol_type, protocol: what the member believes (v5+); None is not checked. assignments: by member id, from the
    leader alone.
    """

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)


class Syncing:
    """Takes syncs in."""

    def __init__(self, context: Context, rebalancing: Rebalancing) -> None:
        self._context = context
        self._rebalancing = rebalancing

    def sync(self, request: SyncRequest, answer: AnswerSync) -> None:
        """Answers at once, or when the leader's assignment is written."""
        try:
            group, member = self._find(request)
            if group.state is STABLE:
                self._rebalancing.synced(group, member.member_id)
                self._rebalancing.sessions.touch(group, member)
                answer(SyncResult(group.protocol_type, group.protocol, member.assignment))
                return
        except KafkaError as error:
            answer(refused_sync(error.code))
            return
        group.park_sync(member.member_id, answer)
        self._rebalancing.synced(group, member.member_id)
        if member.member_id == group.leader:
            self._take_assignment(group, request.assignments)

    def _find(self, request: SyncRequest) -> tuple[Group, Member]:
        """The group, in a state in which there is or will be an assignment, and its member. Raises KafkaError."""
        store = self._context.store
        try:
            store.check(request.group_id)
        except KafkaError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                # The round is lost with the coordinator that ran it: the member may as well rejoin at once.
                raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS) from None
            raise
        group = store.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = group.speaker(request.member_id, request.group_instance_id, request.generation)
        if request.protocol_type is not None and request.protocol_type != group.protocol_type:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.protocol is not None and request.protocol != group.protocol:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.state is PREPARING_REBALANCE:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        return group, member

    def _take_assignment(self, group: Group, given: Mapping[str, bytes]) -> None:
        """The leader's word: written first, then told to all. Members it forgot get nothing, strangers are ignored."""
        generation = group.generation
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        log.info("Group %s: the leader has assigned generation %d, %d members", group.id, generation, len(assignments))

        def persisted(error: ErrorCode) -> None:
            if group.state is not COMPLETING_REBALANCE or group.generation != generation:
                return  # another round began meanwhile, and those who waited were told
            if error is ErrorCode.NONE:
                self._assign(group, assignments)
            else:
                self._rebalancing.withdraw_assignment(group, error)
                self._rebalancing.maybe_prepare(group, f"the assignment was not written: {error.name}")

        self._context.store.persist(group, assignments, persisted)
        self._context.on_rebalance_completed()

    def _assign(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        group.become(STABLE, self._context.clock.wall_ms())
        self._rebalancing.answer_syncs(group)

"""A group's round of joining: how it begins, how long it may take, and the generation in which it ends.

A round is parked in the purgatory under its group and ends when every member waits in it, or when its time is over;
the first round of a group waits for more members to come (`group.initial.rebalance.delay.ms`). After the round
everybody has to sync; who does not within the rebalance time-out is removed, and the next round begins.
Source: docs/reference/groups.md, section 4; KIP-134 (initial delay).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode
from kafka_py.base.purgatory import DelayedOperation
from kafka_py.coordinator.groups.answers import JoinResult, SyncResult, refused_join, refused_sync
from kafka_py.coordinator.groups.context import Context
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.sessions import Sessions
from kafka_py.coordinator.groups.states import (
    CAN_REBALANCE,
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)

log = logging.getLogger(__name__)

WRITE_AGAIN_MS = 1_000
"""After a failed write of a generation without members, until the next attempt."""


class Rebalancing:
    """Begins rounds and ends them. Owns the sessions, for it is what acts on a member's death."""

    def __init__(self, context: Context) -> None:
        self.sessions = Sessions(context.clock, context.timers, self._on_session_expired, self._on_pending_expired)
        self._context = context

    # ---- how a round begins

    def maybe_prepare(self, group: Group, reason: str) -> None:
        """Begins a round unless one is under way (or the group is gone)."""
        if group.state in CAN_REBALANCE:
            self.prepare(group, reason)

    def prepare(self, group: Group, reason: str) -> None:
        """Begins a round: whoever waits for an assignment has to join again."""
        context = self._context
        if group.state is COMPLETING_REBALANCE:
            self.withdraw_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS)
        context.rebalances.cancel_for_key((group, _SYNC))
        delay_ms = context.limits().group_initial_rebalance_delay_ms
        is_first = group.state is EMPTY
        group.become(PREPARING_REBALANCE, context.clock.wall_ms())
        log.info("Group %s rebalances after generation %d: %s", group.id, group.generation, reason)
        if is_first:
            self._park(_FirstRound(self, group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0)), delay_ms)
        else:
            self._park(_Round(self, group), group.rebalance_timeout_ms)

    def progress(self, group: Group) -> None:
        """Somebody joined, left or died: perhaps the round can end."""
        if group.state is PREPARING_REBALANCE:
            self._context.rebalances.check_and_complete((group, _JOIN))

    def _park(self, joining: _Round, timeout_ms: float) -> None:
        self._context.rebalances.try_complete_else_watch(joining, ((joining.group, _JOIN),), timeout_ms)

    def withdraw_assignment(self, group: Group, error: ErrorCode) -> None:
        """Nobody has anything to work on; those who wait for it are told `error`."""
        for member in group.members.values():
            member.assignment = b""
        self.answer_syncs(group, error)

    def answer_syncs(self, group: Group, error: ErrorCode = ErrorCode.NONE) -> None:
        """Gives everybody who waits for it the member's assignment, or the error."""
        failed = refused_sync(error) if error is not ErrorCode.NONE else None
        for member_id in list(group.syncs):
            member = group.members[member_id]
            result = failed or SyncResult(group.protocol_type, group.protocol, member.assignment)
            self.sessions.touch(group, member)
            group.answer_sync(member_id, result)

    # ---- how it ends

    def continue_first_round(self, group: Group, last_delay_ms: int, remaining_ms: int) -> None:
        """The initial delay is over: another one while members keep coming and the limit allows, or the end."""
        if group.is_dead:
            return
        if group.new_member_added and remaining_ms:
            group.new_member_added = False
            delay_ms = min(self._context.limits().group_initial_rebalance_delay_ms, remaining_ms)
            left_ms = max(remaining_ms - last_delay_ms, 0)
            self._park(_FirstRound(self, group, delay_ms, left_ms), delay_ms)
        else:
            self.complete_round(group)

    def complete_round(self, group: Group) -> None:
        """Everybody is here, or the time is over: who did not come is out (static members stay), and the next
        generation begins with the rest.
        """
        if group.is_dead:
            return
        self._remove_absent(group)
        if group.members and not self._elect_present_leader(group):
            log.error("Group %s could not complete its rebalance, for none of its static members rejoined", group.id)
            self._park(_Round(self, group), group.rebalance_timeout_ms)
            return
        group.new_member_added = False
        if group.members:
            self._begin_generation(group)
        else:
            self._begin_empty_generation(group)

    def _remove_absent(self, group: Group) -> None:
        absent = [
            member for member in group.members.values() if member.member_id not in group.joins and not member.is_static
        ]
        if absent:
            log.info("Group %s removes the members that did not rejoin: %s",
                     group.id, ", ".join(member.member_id for member in absent))  # fmt: skip
        for member in absent:
            self._forget(group, member)

    def _elect_present_leader(self, group: Group) -> bool:
        """A leader who is not here hands over to the eldest who is; False when nobody is."""
        if group.leader not in group.joins:
            present = next((member_id for member_id in group.members if member_id in group.joins), None)
            if present is None:
                return False
            log.info("Group %s: leader %s did not rejoin, %s leads", group.id, group.leader, present)
            group.leader = present
        return True

    def _begin_empty_generation(self, group: Group) -> None:
        """Nobody is left: that is written, and holds once it is. Members may come meanwhile; their round comes after.

        Apache Kafka 2.8.2 has the group empty before it is written: after a failed write and a fail-over the members
        that left are back until they expire.
        """
        now_ms = self._context.clock.wall_ms()
        following = group.next_without_members(now_ms)
        waiting: list[Callable[[], object]] = []
        group.being_emptied = waiting

        def persisted(error: ErrorCode) -> None:
            group.being_emptied = None
            with store.guard(group):
                if group.state is PREPARING_REBALANCE:  # else its coordinator has moved
                    if error is ErrorCode.NONE:
                        self._emptied(group, following)
                    else:
                        log.warning("Group %s: that it is empty was not written: %s", group.id, error.name)
                        self._try_again(group)
            for then in waiting:
                with store.guard(group):
                    then()

        store = self._context.store
        with store.guard(group) as guard:
            store.persist(following, {}, persisted)
        if guard.error is not None and group.being_emptied is waiting:
            persisted(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _emptied(self, group: Group, following: Group) -> None:
        group.generation = following.generation
        group.protocol = None
        group.become(EMPTY, self._context.clock.wall_ms())
        log.info("Group %s has no members left; generation %d", group.id, group.generation)
        if group.members:
            self.prepare(group, "members came while it became empty")

    def _try_again(self, group: Group) -> None:
        """The group stays what it was; the next generation begins when members have come, or after a pause."""
        if group.members:
            self._park(_Round(self, group), group.rebalance_timeout_ms)
        else:
            self._park(_NextAttempt(self, group), WRITE_AGAIN_MS)

    def _begin_generation(self, group: Group) -> None:
        group.generation += 1
        group.protocol = group.select_protocol()
        group.become(COMPLETING_REBALANCE, self._context.clock.wall_ms())
        group.pending_syncs = set(group.members)
        log.info("Group %s has %d members in generation %d", group.id, len(group.members), group.generation)
        assert group.leader is not None
        for member in list(group.members.values()):
            member.is_new = False
            self.sessions.touch(group, member)
            group.answer_join(member.member_id, joined(group, member.member_id))
        self._context.rebalances.try_complete_else_watch(
            _AwaitSyncs(self, group), ((group, _SYNC),), group.rebalance_timeout_ms
        )

    # ---- syncs that do not come

    def synced(self, group: Group, member_id: str) -> None:
        """The member's sync has come."""
        group.pending_syncs.discard(member_id)
        self._context.rebalances.check_and_complete((group, _SYNC))

    def syncs_overdue(self, group: Group, generation: int) -> None:
        """A rebalance time-out after the round: members that have not synced are out."""
        if group.generation != generation or group.state not in (COMPLETING_REBALANCE, STABLE):
            return
        late = [group.members[member_id] for member_id in group.pending_syncs]
        if not late:
            return
        for member in late:
            self._forget(group, member)
        names = ", ".join(member.member_id for member in late)
        self.prepare(group, f"removing members that did not sync in time: {names}")

    # ---- members that go

    def remove_member(self, group: Group, member: Member, reason: str) -> None:
        """A member left, or died: a new round begins without it, or the one under way may end."""
        self._forget(group, member)
        self.maybe_prepare(group, reason)
        self.progress(group)

    def remove_pending(self, group: Group, member_id: str) -> None:
        """The owner of a new id will not come."""
        group.forget_pending(member_id)
        self.progress(group)

    def _forget(self, group: Group, member: Member) -> None:
        """Out of the group; what it waited for is answered so that a client that is still there starts anew."""
        self.sessions.end(member)
        group.answer_join(member.member_id, refused_join("", ErrorCode.UNKNOWN_MEMBER_ID))
        group.answer_sync(member.member_id, refused_sync(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    def _on_session_expired(self, group: Group, member: Member) -> None:
        log.info("Group %s removes member %s, which sent no heartbeat in time", group.id, member.member_id)
        self.remove_member(group, member, f"no heartbeat of {member.member_id}")

    def _on_pending_expired(self, group: Group, member_id: str) -> None:
        log.info("Pending member %s in group %s did not come back", member_id, group.id)
        self.remove_pending(group, member_id)

    def forget_rounds(self, group: Group) -> None:
        """The group is gone: nothing of it waits for time to pass any more."""
        for kind in (_JOIN, _SYNC):
            self._context.rebalances.cancel_for_key((group, kind))
        for member in group.members.values():
            self.sessions.end(member)
        for member_id in list(group.pending_members):
            group.forget_pending(member_id)


def joined(group: Group, member_id: str) -> JoinResult:
    """The answer to a member of the present generation; the leader is told of all."""
    leader = group.leader or ""
    members = group.joined_members() if member_id == leader else ()
    return JoinResult(member_id, group.generation, group.protocol_type, group.protocol, leader, members)


_JOIN = "join"
_SYNC = "sync"


class _Round(DelayedOperation):
    """Waits until all members have joined, or for the rebalance time-out."""

    __slots__ = ("_rebalancing", "group")

    def __init__(self, rebalancing: Rebalancing, group: Group) -> None:
        super().__init__()
        self._rebalancing = rebalancing
        self.group = group

    def try_complete(self) -> bool:
        return self.group.has_all_joined and self.complete()

    def on_complete(self) -> None:
        self._rebalancing.complete_round(self.group)


class _NextAttempt(_Round):
    """Waits out a pause after a failed write, unless members come."""

    __slots__ = ()

    def try_complete(self) -> bool:
        return bool(self.group.members) and super().try_complete()


class _FirstRound(_Round):
    """Waits for its delay in any case: more members may come."""

    __slots__ = ("_delay_ms", "_remaining_ms")

    def __init__(self, rebalancing: Rebalancing, group: Group, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(rebalancing, group)
        self._delay_ms = delay_ms
        self._remaining_ms = remaining_ms

    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        self._rebalancing.continue_first_round(self.group, self._delay_ms, self._remaining_ms)


class _AwaitSyncs(DelayedOperation):
    """Waits until all members of a generation have synced, or for the rebalance time-out."""

    __slots__ = ("_generation", "_group", "_rebalancing")

    def __init__(self, rebalancing: Rebalancing, group: Group) -> None:
        super().__init__()
        self._rebalancing = rebalancing
        self._group = group
        self._generation = group.generation

    def try_complete(self) -> bool:
        return not self._group.pending_syncs and self.complete()

    def on_expire(self) -> None:
        self._rebalancing.syncs_overdue(self._group, self._generation)

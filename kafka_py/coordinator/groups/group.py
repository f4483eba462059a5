"""One consumer group as a value: its state, generation, members, and their parked requests.

Keeps its own parts consistent (the mapping of static members, the counts of supported protocols) and changes state by
the table of states.py. Decides nothing (machine.py and its neighbours do); has no clock, store, timers or callbacks.
A decision changes a copy, which the driver applies to the group.
Source: docs/reference/groups.md, section 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.member import Member, Protocols
from kafka_py.coordinator.groups.requests import JoinedMember, Ticket
from kafka_py.coordinator.groups.states import DEAD, EMPTY, MOVES, STABLE, GroupState

if TYPE_CHECKING:
    from kafka_py.coordinator.groups.offsets import GroupOffsets


class JoinPhaseKind(Enum):
    """What a join phase waits for, at most until its timer fires."""

    FIRST = "first"  # for its full delay, because more members may join
    OPEN = "open"  # all members
    NEXT_ATTEMPT = "next attempt"  # any member, after a failed write
    EMPTYING = "emptying"  # the record of a generation without members to be written; has no timer


class JoinPhase(NamedTuple):
    """A join phase in progress. delay_ms, remaining_ms: of a group's first one, this delay and the rest allowed."""

    kind: JoinPhaseKind
    delay_ms: int = 0
    remaining_ms: int = 0


class Group:
    """A group. Only the coordinator's own loop touches it.

    Decisions about members change a copy of it, which `adopt` applies. Only two things change in place: a member's
    session, which every request of it extends, and the state of a group without members that is removed.

    generation: 0 until the first join phase is complete; each one increments it.
    protocol_type: the kind of group ("consumer", "connect"); None before the first join. protocol: the strategy chosen
        for this generation. leader: member id.
    members: by member id, in the order in which they joined. static_members: instance id -> member id (KIP-345).
    pending_members: ids issued with MEMBER_ID_REQUIRED that have not rejoined yet (KIP-394), in order.
    joins, syncs: the parked requests by member id; their keys are members.
    round: what the join phase in progress waits for; None outside of PreparingRebalance.
    pending_syncs: members of this generation whose SyncGroup has not arrived.
    new_member_added: a member joined during the group's initial rebalance delay.
    current_state_timestamp: wall clock ms when the group entered its state; None if an old record lacks it.
    offsets: the committed offsets of the group.
    supporters: how many members support each strategy. own: of a copy, the members that it does not share.
    """

    __slots__ = (
        "current_state_timestamp",
        "generation",
        "id",
        "joins",
        "leader",
        "members",
        "new_member_added",
        "offsets",
        "own",
        "pending_members",
        "pending_syncs",
        "protocol",
        "protocol_type",
        "round",
        "state",
        "static_members",
        "supporters",
        "syncs",
    )

    def __init__(self, group_id: str, offsets: GroupOffsets, now_ms: int) -> None:
        """A new group: Empty since `now_ms` (wall clock)."""
        self.id = group_id
        self.state = EMPTY
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_members: dict[str, None] = {}
        self.joins: dict[str, Ticket] = {}
        self.syncs: dict[str, Ticket] = {}
        self.round: JoinPhase | None = None
        self.pending_syncs: set[str] = set()
        self.new_member_added = False
        self.current_state_timestamp: int | None = now_ms
        self.offsets = offsets
        self.supporters: dict[str, int] = {}
        self.own: set[str] = set()

    def restore(
        self,
        *,
        generation: int,
        protocol_type: str | None,
        protocol: str | None,
        leader: str | None,
        current_state_timestamp: int | None,
        members: Iterable[Member],
    ) -> None:
        """Restores the group from a record of the offsets topic: Stable with members, Empty without.

        An empty protocol type means none. Each member should support only the chosen protocol.
        """
        self.generation = generation
        self.protocol_type = protocol_type or None
        self.protocol = protocol
        self.current_state_timestamp = current_state_timestamp
        for member in members:
            self.add(member)
        self.leader = leader
        self.state = STABLE if self.members else EMPTY

    # ---- copies

    def copy(self) -> Group:
        """A copy for a decision to change; it shares the members until `changing` asks for one."""
        other = Group.__new__(Group)
        other.id = self.id
        other.state = self.state
        other.generation = self.generation
        other.protocol_type = self.protocol_type
        other.protocol = self.protocol
        other.leader = self.leader
        other.members = self.members.copy()
        other.static_members = self.static_members.copy()
        other.pending_members = self.pending_members.copy()
        other.joins = self.joins.copy()
        other.syncs = self.syncs.copy()
        other.round = self.round
        other.pending_syncs = self.pending_syncs.copy()
        other.new_member_added = self.new_member_added
        other.current_state_timestamp = self.current_state_timestamp
        other.offsets = self.offsets
        other.supporters = self.supporters.copy()
        other.own = set()
        return other

    def adopt(self, after: Group) -> None:
        """Applies a decision: becomes equal to the copy that it changed, which must not be changed afterwards."""
        for name in Group.__slots__:
            setattr(self, name, getattr(after, name))

    def changing(self, member_id: str) -> Member:
        """A member that is about to be changed: this copy's own, so that the group's is not. Raises KeyError."""
        member = self.members[member_id]
        if member_id not in self.own:
            member = self.members[member_id] = member.copy()
            self.own.add(member_id)
        return member

    # ---- state

    def become(self, state: GroupState, now_ms: int) -> None:
        """Moves to `state` at `now_ms` (wall clock). Raises IllegalMove."""
        self.state = MOVES.after(self.state, state)
        self.current_state_timestamp = now_ms

    def next_without_members(self, now_ms: int) -> Group:
        """A copy as of when the last member has left: Empty since `now_ms` (wall clock), in the next generation."""
        following = Group(self.id, self.offsets, now_ms)
        following.generation = self.generation + 1
        following.protocol_type = self.protocol_type
        return following

    @property
    def is_dead(self) -> bool:
        return self.state is DEAD

    @property
    def is_being_emptied(self) -> bool:
        """Whether the record of a generation without members is being written."""
        return self.round is not None and self.round.kind is JoinPhaseKind.EMPTYING

    @property
    def is_empty(self) -> bool:
        """Whether its state is Empty; a group without members may also be in a rebalance."""
        return self.state is EMPTY

    # ---- members

    def add(self, member: Member) -> None:
        """Adds a member; the first one leads. Its id must not be pending. The caller sets the protocol type."""
        instance_id = member.group_instance_id
        if instance_id is not None:
            if instance_id in self.static_members:
                raise ValueError(f"static member {instance_id} is in group {self.id} already")
            self.static_members[instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self.own.add(member.member_id)
        self._count_protocols(member, 1)

    def remove(self, member_id: str) -> Member:
        """Removes a member and its instance id; if it led, the longest-standing other member leads. Raises KeyError.

        Its parked requests must have been answered before.
        """
        member = self.members.pop(member_id)
        self.own.discard(member_id)
        self._count_protocols(member, -1)
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        assert not self.is_waiting(member_id)
        self.pending_syncs.discard(member_id)
        return member

    def rename(self, old_id: str, new_id: str) -> Member:
        """Gives a static member a new id; it keeps its place in the order and its leadership (KIP-345).

        Its parked requests must have been answered before. Returns the member, to be changed. Raises KeyError.
        """
        member = self.changing(old_id)
        self.own.remove(old_id)
        self.own.add(new_id)
        self.members = {new_id if key == old_id else key: value for key, value in self.members.items()}
        member.member_id = new_id
        assert member.group_instance_id is not None
        self.static_members[member.group_instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.pending_syncs:
            self.pending_syncs.remove(old_id)
            self.pending_syncs.add(new_id)
        return member

    def set_protocols(self, member_id: str, protocols: Protocols) -> None:
        """Replaces the member's strategies and their metadata."""
        member = self.changing(member_id)
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)

    def _count_protocols(self, member: Member, change: int) -> None:
        for name in member.protocol_names:
            count = self.supporters.get(name, 0) + change
            if count:
                self.supporters[name] = count
            else:
                del self.supporters[name]

    def is_fenced(self, instance_id: str | None, member_id: str) -> bool:
        """Whether the instance id now belongs to another member."""
        return instance_id is not None and self.static_members.get(instance_id, member_id) != member_id

    def speaker(self, member_id: str, instance_id: str | None, generation: int) -> Member:
        """The member that sent a request, if it is part of this generation.

        Raises KafkaError: COORDINATOR_NOT_AVAILABLE for a removed group, FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID,
        ILLEGAL_GENERATION, in this order.
        """
        if self.is_dead:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"group {self.id} was removed")
        if self.is_fenced(instance_id, member_id):
            raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, f"{instance_id} is another member of group {self.id} by now")
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is no member of group {self.id}")
        if generation != self.generation:
            raise KafkaError(
                ErrorCode.ILLEGAL_GENERATION, f"group {self.id} is in generation {self.generation}, not {generation}"
            )
        return member

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the join phase may take: the longest rebalance time-out of the members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # ---- protocols

    @property
    def common_protocols(self) -> set[str]:
        """The strategies that every member supports."""
        count = len(self.members)
        return {name for name, supporters in self.supporters.items() if supporters == count}

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these strategies can join."""
        names = set(names)
        if self.is_empty:
            return bool(protocol_type) and bool(names)
        if protocol_type != self.protocol_type:
            return False
        return not names.isdisjoint(self.common_protocols) if self.members else bool(names)

    def select_protocol(self) -> str:
        """The common strategy with the most votes; of equal ones the first voted for. Needs members."""
        candidates = self.common_protocols
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def joined_members(self) -> list[JoinedMember]:
        """All members, as the response to the leader's join lists them."""
        assert self.protocol is not None
        return [
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        ]

    @property
    def has_all_joined(self) -> bool:
        """Whether the join phase can end: every member has a parked join, and no issued id is pending."""
        return len(self.joins) == len(self.members) and not self.pending_members

    def is_waiting(self, member_id: str) -> bool:
        """Whether a join or sync of the member is parked."""
        return member_id in self.joins or member_id in self.syncs

    def __repr__(self) -> str:
        return f"<Group {self.id} {self.state.value} generation {self.generation}, {len(self.members)} members>"

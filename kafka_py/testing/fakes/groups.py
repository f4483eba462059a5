"""Consumer groups to test with: membership on a clock that the test moves, over a store in memory.

    world = GroupWorld()
    a = world.join("a")              # parked
    world.pass_ms(3000)              # the initial delay
    assert a.result.generation == 1

Every request is an AwaitedReply, whose `result` is None while it is parked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Guard, Supervisor
from kafka_py.base.timers import Timers
from kafka_py.coordinator.groups.coordinator import Membership
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Protocols
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.coordinator.groups.removal import Removed
from kafka_py.coordinator.groups.requests import JoinRequest, JoinResult, Leaver, SyncRequest, SyncResult
from kafka_py.testing.clock import ManualClock

T = TypeVar("T")
OnPersisted = Callable[[ErrorCode], None]

GROUP = "g"
RANGE: Protocols = (("range", b"topics"),)
SESSION_MS = 10_000
REBALANCE_MS = 60_000


@dataclass
class FakeGroupConfig:
    """The settings of membership, with Kafka's defaults."""

    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3000
    group_max_size: int = (1 << 31) - 1


@dataclass
class AwaitedReply(Generic[T]):
    """What came back for a request, if anything did yet. answers: how often it was answered, at most once."""

    result: T | None = None
    answers: int = 0

    def __call__(self, result: T) -> None:
        self.result = result
        self.answers += 1
        assert self.answers == 1, f"answered again: {result}"

    @property
    def is_parked(self) -> bool:
        return self.answers == 0

    @property
    def value(self) -> T:
        assert self.result is not None, "not answered yet"
        return self.result


@dataclass
class Persisted:
    """A group that was to be written. members: id -> assignment."""

    group_id: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[str, ...]
    assignments: dict[str, bytes]


class MemoryStore:
    """Groups in a dict. refusal: what `check` raises. error: what writes end with. holding: writes wait for
    `release`. fault: what writes raise. persisted, removed: what was written.
    """

    def __init__(self, clock: ManualClock) -> None:
        self.refusal: ErrorCode | None = None
        self.error = ErrorCode.NONE
        self.holding = False
        self.loading = False
        self.persisted: list[Persisted] = []
        self.removed: list[str] = []
        self.by_id: dict[str, Group] = {}
        self.fault: Exception | None = None
        self._clock = clock
        self._held: list[OnPersisted] = []
        self.supervisor = Supervisor(clock)

    def check(self, group_id: str, *, may_be_empty: bool = False) -> None:
        if not (group_id or may_be_empty):
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        if self.refusal is not None:
            raise KafkaError(self.refusal)

    def get(self, group_id: str) -> Group | None:
        return self.by_id.get(group_id)

    def get_or_create(self, group_id: str) -> Group:
        group = self.by_id.get(group_id)
        if group is None:
            group = self.by_id[group_id] = Group(group_id, GroupOffsets(), self._clock.wall_ms())
        return group

    def groups(self) -> Iterable[Group]:
        return self.by_id.values()

    def persist(self, group: Group, assignments: Mapping[str, bytes], on_done: OnPersisted) -> None:
        self.persisted.append(
            Persisted(group.id, group.generation, group.protocol, group.leader, tuple(group.members), dict(assignments))
        )
        if self.fault is not None:
            raise self.fault
        if self.holding:
            self._held.append(on_done)
        else:
            on_done(self.error)

    def guard(self, group: Group) -> Guard:
        return self.supervisor.guard("upkeep of groups", group.id)

    def release(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """The writes that wait are done, or fail."""
        held, self._held = self._held, []
        for on_done in held:
            on_done(error)

    def bury(self, group: Group, removed: Removed) -> None:
        if removed.group:
            self.removed.append(group.id)
            self.by_id.pop(group.id, None)


@dataclass
class GroupWorld:
    """One group coordinator and short ways to speak to it. Member ids are `<client id>-<n>`, n counting from 1."""

    limits: FakeGroupConfig = field(default_factory=FakeGroupConfig)

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        self.timers = Timers(self.clock, self.clock.call_later)
        self.store = MemoryStore(self.clock)
        self.completed = 0
        numbers = count(1)
        self.membership = Membership(
            self.store,
            self.clock,
            self.timers,
            lambda: self.limits,
            on_rebalance_completed=self._count,
            new_id=lambda: str(next(numbers)),
        )

    def _count(self) -> None:
        self.completed += 1

    def pass_ms(self, ms: int) -> None:
        """Lets time pass."""
        self.clock.advance(ms)

    @property
    def group(self) -> Group:
        return self.store.by_id[GROUP]

    @property
    def state(self) -> str:
        return self.group.state.value

    # ---- requests

    def join(
        self,
        client_id: str = "c",
        member_id: str = "",
        *,
        instance: str | None = None,
        needs_known_id: bool = False,
        protocols: Protocols = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        group_id: str = GROUP,
    ) -> AwaitedReply[JoinResult]:
        reply: AwaitedReply[JoinResult] = AwaitedReply()
        request = JoinRequest(
            group_id, member_id, instance, needs_known_id, client_id, "/127.0.0.1", session_ms, rebalance_ms,
            protocol_type, protocols,
        )  # fmt: skip
        self.membership.join(request, reply)
        return reply

    def sync(
        self,
        member_id: str,
        generation: int | None = None,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol: str | None = None,
        group_id: str = GROUP,
    ) -> AwaitedReply[SyncResult]:
        """generation: None for the group's own."""
        reply: AwaitedReply[SyncResult] = AwaitedReply()
        if generation is None:
            generation = self.group.generation
        self.membership.sync(
            SyncRequest(group_id, generation, member_id, instance, protocol_type, protocol, assignments or {}), reply
        )
        return reply

    def heartbeat(
        self, member_id: str, generation: int | None = None, *, instance: str | None = None, group_id: str = GROUP
    ) -> ErrorCode:
        if generation is None:
            generation = self.group.generation
        return self.membership.heartbeat(group_id, member_id, generation, instance)

    def leave(self, *leavers: Leaver | str, group_id: str = GROUP) -> list[ErrorCode]:
        """Leavers, or ids of members."""
        return self.membership.leave(
            group_id, [Leaver(leaver) if isinstance(leaver, str) else leaver for leaver in leavers]
        )

    # ---- whole stories

    def joined(self, *client_ids: str, protocols: Protocols = RANGE) -> list[str]:
        """A group of new members that have all joined its first generation; their ids, the leader first."""
        replies = [self.join(client_id, protocols=protocols) for client_id in client_ids]
        while replies[0].is_parked:
            self.pass_ms(self.limits.group_initial_rebalance_delay_ms)
        return [reply.value.member_id for reply in replies]

    def stable(self, *client_ids: str, protocols: Protocols = RANGE) -> list[str]:
        """The same, synced; each member's assignment is its id."""
        members = self.joined(*client_ids, protocols=protocols)
        self.sync_all(members)
        return members

    def sync_all(self, members: Iterable[str]) -> None:
        """All these sync, the leader with an assignment in which each member's is its id."""
        plan = {member_id: member_id.encode() for member_id in members}
        for member_id in plan:
            self.sync(member_id, assignments=plan if member_id == self.group.leader else None)
        assert self.state == "Stable"

"""Groups under random requests, time, failing writes and moves of the coordinator: what must hold at every moment.

Every request is answered at most once (an AwaitedReply sees to that), and all are answered in the end.
"""

import random
from collections import Counter

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.member import Protocols
from kafka_py.coordinator.groups.requests import JoinResult, Leaver
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from kafka_py.testing.fakes.groups import GROUP, AwaitedReply, FakeGroupConfig, GroupWorld

STEPS = 300
SEEDS = range(25)
INSTANCES = (None, None, None, "i", "j")
PROTOCOLS: tuple[Protocols, ...] = (
    (("range", b"1"),),
    (("range", b"2"),),
    (("sticky", b""), ("range", b"1")),
    (("range", b"1"), ("sticky", b"")),
    (("own", b""),),
)
WRITE_ERRORS = (ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_COORDINATOR)


class Schedule:
    """One run. known: member ids that were ever handed out."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = GroupWorld(FakeGroupConfig(group_max_size=self.chance.choice((3, 100))))
        self.known: list[str] = ["never-1"]
        self.replies: list[AwaitedReply] = []  # type: ignore[type-arg]
        self.generation = 0

    def step(self) -> None:
        chance, world = self.chance, self.world
        world.store.holding = chance.random() < 0.5
        world.store.error = chance.choice(WRITE_ERRORS)
        actions = (self.join, self.join, self.rejoin, self.rejoin, self.sync, self.sync, self.heartbeat, self.leave,
                   self.pass_time, self.pass_time, self.release, self.move)  # fmt: skip
        chance.choice(actions)()
        answers = [reply.result for reply in self.replies if isinstance(reply.result, JoinResult)]
        self.known += [answer.member_id for answer in answers if answer.member_id not in self.known]
        self.check()

    def join(self) -> None:
        chance = self.chance
        self.replies.append(
            self.world.join(
                "c", instance=chance.choice(INSTANCES), needs_known_id=chance.random() < 0.5,
                protocols=chance.choice(PROTOCOLS), rebalance_ms=chance.choice((5000, 60_000)),
            )
        )  # fmt: skip

    def rejoin(self) -> None:
        chance = self.chance
        self.replies.append(
            self.world.join(
                "c", chance.choice(self.known), instance=chance.choice(INSTANCES), protocols=chance.choice(PROTOCOLS)
            )
        )

    def sync(self) -> None:
        if GROUP in self.world.store.by_id:
            group = self.world.group
            member_id = self.chance.choice([*group.members, self.chance.choice(self.known)])
            plan = {member_id: b"work", "stranger": b""}
            self.replies.append(self.world.sync(member_id, assignments=plan))

    def heartbeat(self) -> None:
        if GROUP in self.world.store.by_id:
            self.world.heartbeat(self.chance.choice(self.known), self.world.group.generation)

    def leave(self) -> None:
        chance = self.chance
        self.world.leave(Leaver(chance.choice(self.known)), Leaver("", chance.choice(INSTANCES)))

    def pass_time(self) -> None:
        self.world.pass_ms(self.chance.choice((10, 1000, 3000, 9000, 30_000)))

    def release(self) -> None:
        self.world.store.release(self.chance.choice(WRITE_ERRORS))

    def move(self) -> None:
        """Now and then another broker takes over and gives the group back, without its members."""
        if self.chance.random() < 0.1 and GROUP in self.world.store.by_id:
            self.world.membership.on_unloaded(self.world.store.by_id.pop(GROUP))
            self.generation = 0

    def check(self) -> None:
        group = self.world.store.by_id.get(GROUP)
        if group is None:
            return
        members = set(group.members)
        assert {id(member): key for key, member in group.members.items()} == {
            id(member): member.member_id for member in group.members.values()
        }
        assert set(group.joins) | set(group.syncs) | group.pending_syncs <= members
        assert not members & set(group.pending_members)
        assert group.static_members == {
            member.group_instance_id: key for key, member in group.members.items() if member.group_instance_id
        }
        assert (group.leader in members) if members else (group.leader is None)
        supporters = Counter(name for member in group.members.values() for name in member.protocol_names)
        assert group.common_protocols == {name for name, count in supporters.items() if count == len(members)}
        assert not members or group.common_protocols
        assert group.generation >= self.generation
        self.generation = group.generation
        if group.state is EMPTY:
            assert not members
        if group.state in (STABLE, COMPLETING_REBALANCE):
            assert members
            assert all(group.protocol in member.protocol_names for member in group.members.values())
        if group.state is STABLE:
            assert not group.syncs
        if group.state is not COMPLETING_REBALANCE:
            assert not group.syncs
        if group.state is not PREPARING_REBALANCE:
            # Only a static member whose new id is being written waits outside a round.
            assert all(group.members[key].is_static for key in group.joins)
        for member in group.members.values():
            assert member.looks_at_ms is not None or group.is_waiting(member.member_id)

    def end(self) -> None:
        """Nobody says anything any more, and every write succeeds."""
        self.world.store.holding = False
        self.world.store.error = ErrorCode.NONE
        self.world.store.release()
        for _ in range(60):
            self.world.pass_ms(60_000)
            self.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_must_hold_holds_at_every_moment(seed: int) -> None:
    schedule = Schedule(seed)
    for _ in range(STEPS):
        schedule.step()
    schedule.end()
    assert [reply for reply in schedule.replies if reply.is_parked] == []
    group = schedule.world.store.by_id.get(GROUP)
    if group is not None:
        assert (group.state, group.members, group.pending_members) == (EMPTY, {}, {})
    assert schedule.world.timers.pending == 0
    assert schedule.world.membership.sessions.watched == 0

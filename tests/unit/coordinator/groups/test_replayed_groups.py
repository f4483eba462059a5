"""What is written of a group makes the same group again: compared after every step of random schedules."""

import random

import pytest

from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from kafka_py.testing.fakes.group_transcripts import GroupScript

STEPS = 400
SEEDS = range(20)
ERRORS = ("", "", "", "NOT_COORDINATOR")


def seen(group: Group) -> tuple[object, ...]:
    """What a coordinator that takes over has to know."""
    members = [(each.member_id, each.group_instance_id, each.assignment) for each in group.members.values()]
    return (group.state, group.generation, group.protocol, group.leader, group.static_members, members)


def likely(chance: random.Random, script: GroupScript) -> str:
    """What helps the group on its way to the next generation."""
    group = script.group
    if script.unwritten:
        error = chance.choice(ERRORS)
        return f"failed {error}" if error else "written"
    absent = [each for each in group.members.values() if each.member_id not in group.joins]
    if group.state is PREPARING_REBALANCE and absent:
        return f"join id={absent[0].member_id}" + named(absent[0].group_instance_id)
    if group.state is COMPLETING_REBALANCE:
        work = ",".join(f"{member_id}:{chance.randrange(9)}" for member_id in group.members)
        return f"sync {chance.choice(list(group.members))} assign={work}"
    return "pass 3000"


def unlikely(chance: random.Random, script: GroupScript) -> str:
    """What disturbs it."""
    group = script.group
    member_id = chance.choice([*group.members, *group.pending_members, "nobody"])
    member = group.members.get(member_id)
    protocols = chance.choice(("range:1", "range:2", "sticky:,range:1"))
    commands = (
        f"join c protocols={protocols}",
        "join c needs-id",
        f"join instance={chance.choice('ij')} protocols={protocols}",
        f"join id={member_id} protocols={protocols}" + named(member.group_instance_id if member else None),
        f"heartbeat {member_id}",
        f"leave {member_id}",
        f"pass {chance.choice((10, 1000, 9000))}",
        "fail-over",
    )
    return chance.choice(commands)


def named(instance_id: str | None) -> str:
    return "" if instance_id is None else f" instance={instance_id}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_that_is_stable_or_empty_is_what_its_record_says(seed: int) -> None:
    chance = random.Random(seed)
    script = GroupScript()
    script.perform("stable instance:i c")
    generations = set()
    for _ in range(STEPS):
        script.perform(chance.choice((likely, likely, unlikely))(chance, script))
        group = script.group
        if group.state in (STABLE, EMPTY) and not script.unwritten:
            generations.add(group.generation)
            assert seen(script.replayed()) == seen(group)
    assert len(generations) > 5

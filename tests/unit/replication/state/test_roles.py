"""The table of roles, walked in full, and that a Partition moves through it alone."""

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.roles import DELETED, FOLLOWER, LEADER, MOVES, NONE, OFFLINE, Role
from kafka_py.testing.fakes.logs import FIRST, MemoryLog
from kafka_py.testing.fakes.replicas import role as role_state

LEGAL = {(move.state, move.next_state) for move in MOVES}


def change(partition: Partition, to: Role) -> None:
    log = MemoryLog()
    if to is LEADER:
        partition.become_leader(role_state(leader=1, replicas=(1, 2)), log, 0)  # type: ignore[arg-type]
    elif to is FOLLOWER:
        partition.become_follower(role_state(leader=2, replicas=(1, 2)), log)  # type: ignore[arg-type]
    else:
        partition.leave(to)


def partition_in(role: Role) -> Partition:
    partition = Partition(FIRST, 1, 30_000)
    if role is not NONE:
        change(partition, role)
    assert partition.role is role
    return partition


@pytest.mark.parametrize("to", [one for one in Role if one is not NONE])
@pytest.mark.parametrize("role", Role)
def test_every_move_of_the_table_can_be_made_and_no_other(role: Role, to: Role) -> None:
    partition = partition_in(role)
    if (role, to) in LEGAL:
        change(partition, to)
        assert partition.role is to
        assert partition.is_leader is (to is LEADER)
    else:
        with pytest.raises(IllegalMove):
            change(partition, to)


def test_nothing_leads_back_to_no_role_and_what_has_left_stays_away() -> None:
    assert MOVES.before(NONE) == ()
    assert MOVES.events(DELETED) == MOVES.events(OFFLINE) == ()


@pytest.mark.parametrize("role", [DELETED, OFFLINE])
def test_what_has_left_has_no_log_and_nobody_in_sync(role: Role) -> None:
    partition = partition_in(LEADER)
    partition.leave(role)
    assert partition.log is None
    assert partition.leader_epoch_start is None
    assert not partition.isr.members

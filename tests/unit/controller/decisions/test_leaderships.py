"""Deciding and writing leaders: lost races are run again, newer controllers win, writes are fenced."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_py.base.ids import NO_LEADER, TopicPartition
from kafka_py.controller.decisions.leaderships import (
    Decided,
    MoveFailed,
    Outcomes,
    bump_epochs,
    create,
    refresh,
    revise,
    successor,
)
from kafka_py.controller.decisions.plan import Plan, Step
from kafka_py.controller.decisions.znode_steps import UpdateLeaderships
from kafka_py.controller.model.controller_context import ControllerContext, Leadership
from kafka_py.controller.model.elections import Elected
from kafka_py.testing.fakes.controller_znodes import ControllerZnodes, result_of
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.partitions import StateUpdates
from kafka_py.zk.session import ZkError

T0, T1, T7 = (TopicPartition("t", number) for number in (0, 1, 7))


@pytest.fixture
def cluster() -> ControllerContext:
    return ControllerContext(1)


@pytest.fixture
def znodes() -> ControllerZnodes:
    return ControllerZnodes()


def made(cluster: ControllerContext, znodes: ControllerZnodes) -> Outcomes:
    wanted = {T0: Elected(1, (1, 2), (1, 2)), T1: Elected(2, (2, 1), (1, 2))}
    return result_of(create(cluster, wanted), znodes.perform)


def test_first_leaders_are_written_once(cluster: ControllerContext, znodes: ControllerZnodes) -> None:
    assert made(cluster, znodes) == {T0: (1, 0, (1, 2), 1, 0), T1: (2, 0, (2, 1), 1, 0)}
    assert cluster.leadership(T0) == znodes.leaderships[T0]
    again = result_of(create(cluster, {T0: Elected(2, (1, 2), (1, 2))}), znodes.perform)
    assert isinstance(again[T0], ZkError)
    assert cluster.leadership(T0) == (1, 0, (1, 2), 1, 0)


def test_a_lost_race_is_run_again_on_what_is_there_now(cluster: ControllerContext, znodes: ControllerZnodes) -> None:
    made(cluster, znodes)
    seen = []

    def decide(found: Mapping[TopicPartition, Leadership]) -> Plan[dict[TopicPartition, Decided]]:
        seen.append({partition: one.isr for partition, one in found.items()})
        if len(seen) == 1:
            znodes.write_isr(T0, (1,))  # meanwhile its leader shrinks the in-sync set
        yield from ()
        return {partition: successor(cluster, one, 2, one.isr) for partition, one in found.items()}

    outcomes = result_of(revise(cluster, [T0, T1], decide), znodes.perform)
    assert seen == [{T0: (1, 2), T1: (2, 1)}, {T0: (1,)}]
    assert outcomes == {T0: (2, 1, (1,), 1, 2), T1: (2, 1, (2, 1), 1, 1)}
    assert cluster.leadership(T0) == znodes.leaderships[T0]


def test_what_is_left_alone_counts_as_ours_and_is_not_written(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)

    def leave(found: Mapping[TopicPartition, Leadership]) -> Plan[dict[TopicPartition, Decided]]:
        yield from ()
        return dict.fromkeys(found)

    assert result_of(revise(cluster, [T0], leave), znodes.perform) == {T0: (1, 0, (1, 2), 1, 0)}
    assert znodes.leaderships[T0].zk_version == 0


def test_missing_states_and_those_of_a_newer_controller_fail_alone(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    newer = znodes.leaderships[T1] = Leadership(2, 3, (2,), 9, 1)
    outcomes = result_of(bump_epochs(cluster, [T0, T1, T7]), znodes.perform)
    assert outcomes[T0] == (1, 1, (1, 2), 1, 1)
    assert isinstance(outcomes[T1], MoveFailed)
    assert isinstance(outcomes[T7], MoveFailed)
    assert znodes.leaderships[T1] == newer


def test_a_write_that_is_fenced_off_is_raised_and_changes_nothing(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    znodes.is_moved = True
    with pytest.raises(ControllerMoved):
        result_of(bump_epochs(cluster, [T0]), znodes.perform)
    assert cluster.leadership(T0) == (1, 0, (1, 2), 1, 0)


def test_refresh_takes_over_what_leaders_wrote(cluster: ControllerContext, znodes: ControllerZnodes) -> None:
    made(cluster, znodes)
    znodes.write_isr(T0, (1,))
    result_of(refresh(cluster, [T0, T7]), znodes.perform)
    assert cluster.leadership(T0) == (1, 0, (1,), 1, 1)
    assert cluster.leadership(T7) is None


def overwrite(znodes: ControllerZnodes, leader: int, epoch: int) -> None:
    """A former leader writes an in-sync set with the leader and epoch that it had before the topic was made again."""
    znodes.write_isr(T0, (2,))
    znodes.leaderships[T0] = znodes.leaderships[T0]._replace(leader=leader, leader_epoch=epoch)


@pytest.mark.parametrize("leader, epoch", [(2, 0), (2, 7), (1, 7)])
def test_a_late_write_of_a_former_leader_is_replaced(
    cluster: ControllerContext, znodes: ControllerZnodes, leader: int, epoch: int
) -> None:
    made(cluster, znodes)
    overwrite(znodes, leader, epoch)
    assert result_of(refresh(cluster, [T0, T1]), znodes.perform) == [T0]
    assert cluster.leadership(T0) == (1, 0, (1, 2), 1, 0)
    result_of(bump_epochs(cluster, [T0]), znodes.perform)
    assert cluster.leadership(T0) == znodes.leaderships[T0] == (1, epoch + 1, (1, 2), 1, 2)


def test_a_late_write_is_replaced_although_nothing_else_is_to_be_written(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    overwrite(znodes, 2, 3)

    def leave(found: Mapping[TopicPartition, Leadership]) -> Plan[dict[TopicPartition, Decided]]:
        yield from ()
        return dict.fromkeys(found)

    result_of(revise(cluster, [T0], leave), znodes.perform)
    assert cluster.leadership(T0) == znodes.leaderships[T0] == (1, 4, (1, 2), 1, 2)


def test_after_an_unknown_change_and_a_late_write_the_leader_alone_is_in_sync(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    znodes.write_isr(T0, (1,))  # replica 2 is behind from now on
    overwrite(znodes, 2, 3)
    result_of(bump_epochs(cluster, [T0]), znodes.perform)
    assert znodes.leaderships[T0] == (1, 4, (1,), 1, 3)


def test_without_a_leader_all_known_replicas_stay_in_sync_after_late_writes(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    leaderless = Leadership(NO_LEADER, 1, (1, 2), 1, 1)
    cluster.set_leadership(T0, leaderless)
    znodes.leaderships[T0] = leaderless
    znodes.write_isr(T0, (2, 1))
    overwrite(znodes, 2, 3)
    result_of(bump_epochs(cluster, [T0]), znodes.perform)
    assert znodes.leaderships[T0] == (NO_LEADER, 4, (1, 2), 1, 4)


def test_a_late_write_with_the_leader_and_epoch_that_were_to_be_written_is_one(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    znodes.leaderships[T0] = Leadership(1, 1, (1,), 1, 1)
    result_of(bump_epochs(cluster, [T0]), znodes.perform)
    assert znodes.leaderships[T0] == (1, 2, (1, 2), 1, 2)


def test_after_an_unknown_change_a_write_whose_response_was_lost_is_no_late_one(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    znodes.write_isr(T0, (1, 3))
    writes = []

    def perform(step: Step[Any]) -> Any:
        result = znodes.perform(step)
        if isinstance(step, UpdateLeaderships):
            writes.append(step)
            if len(writes) == 2:
                return StateUpdates({}, [T0], {})
        return result

    result_of(bump_epochs(cluster, [T0]), perform)
    assert znodes.leaderships[T0] == (1, 2, (1, 3), 1, 3)


def test_a_write_of_this_controller_whose_response_was_lost_is_no_late_one(
    cluster: ControllerContext, znodes: ControllerZnodes
) -> None:
    made(cluster, znodes)
    znodes.leaderships[T0] = Leadership(1, 1, (1, 2), 1, 1)  # what bump_epochs writes
    result_of(bump_epochs(cluster, [T0]), znodes.perform)
    assert znodes.leaderships[T0] == (1, 2, (1, 2), 1, 2)

"""Moves of partitions: who is to lead under each strategy, and what becomes of a move that fails."""

from typing import Any

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.leaderships import MoveFailed
from kafka_py.controller.decisions.notes import LogLine
from kafka_py.controller.decisions.partition_moves import bring_online, election_of, move_partitions
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.decisions.steps import PartitionsMoved, Send
from kafka_py.controller.decisions.znode_steps import ReadUncleanPermissions, UpdateLeaderships
from kafka_py.controller.model.controller_context import ControllerContext, Leadership, PartitionAssignment
from kafka_py.controller.model.elections import Elected, Strategy
from kafka_py.controller.model.partition_states import NEW, OFFLINE, ONLINE
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import TABLE, ControllerZnodes, result_of
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.session import ConnectionLoss

T0 = TopicPartition("t", 0)


def cluster_of(*brokers: int, replicas: tuple[int, ...] = (1, 2, 3)) -> ControllerContext:
    """Those brokers are alive."""
    script = ControllerScript()
    script.perform(f"brokers {' '.join(map(str, brokers))}")
    script.cluster.set_assignment(T0, PartitionAssignment(replicas))
    return script.cluster


def led(leader: int, *isr: int) -> Leadership:
    return Leadership(leader, 4, isr, 1, 7)


@pytest.mark.parametrize(
    ("strategy", "alive", "leadership", "winner"),
    [
        (Strategy.OFFLINE, (2, 3), led(1, 1, 3), 3),
        (Strategy.OFFLINE, (2,), led(1, 1, 3), None),
        (Strategy.UNCLEAN, (2, 3), led(1, 1, 3), 3),
        (Strategy.PREFERRED, (1, 2), led(2, 1, 2), 1),
        (Strategy.PREFERRED, (1, 2), led(2, 2), None),
        (Strategy.REASSIGN, (2, 3), led(1, 1, 2), 2),
        (Strategy.CONTROLLED_SHUTDOWN, (1, 2), led(1, 1, 2), 1),
    ],
)
def test_each_strategy_has_its_winner(
    strategy: Strategy, alive: tuple[int, ...], leadership: Leadership, winner: int | None
) -> None:
    elected = election_of(cluster_of(*alive), T0, leadership, strategy, False)
    assert (elected.leader if isinstance(elected, Elected) else None) == winner
    assert winner is not None or isinstance(elected, MoveFailed)


def test_brokers_that_shut_down_are_led_away_from_but_told() -> None:
    cluster = cluster_of(1, 2)
    cluster.shutting_down.add(1)
    elected = election_of(cluster, T0, led(1, 1, 2), Strategy.CONTROLLED_SHUTDOWN, False)
    assert elected == Elected(2, (2,), (1, 2))


def test_a_permission_that_is_not_known_matters_only_where_it_is_needed() -> None:
    unknown = ConnectionLoss("/config/topics/t")
    assert election_of(cluster_of(2), T0, led(1, 1, 3), Strategy.OFFLINE, unknown) is unknown
    elected = election_of(cluster_of(3), T0, led(1, 1, 3), Strategy.OFFLINE, unknown)
    assert isinstance(elected, Elected)
    permitted = election_of(cluster_of(2), T0, led(1, 1, 3), Strategy.OFFLINE, True)
    assert isinstance(permitted, Elected)
    assert permitted.unclean


class Steps:
    """Does what is asked for, and notes the steps. failing: a step that raises, and what."""

    def __init__(self, failing: type[Step[Any]] | None = None, error: Exception | None = None) -> None:
        self.znodes = ControllerZnodes()
        self.asked: list[Step[Any]] = []
        self._failing = failing
        self._error = error or ValueError("why")

    def perform(self, step: Step[Any]) -> Any:
        self.asked.append(step)
        if type(step) is self._failing:
            raise self._error
        return self.znodes.perform(step) if type(step) in TABLE else None

    def of(self, kind: type[Step[Any]]) -> list[Any]:
        return [step for step in self.asked if isinstance(step, kind)]


def offline(steps: Steps, *alive: int) -> ControllerContext:
    """t-0, led by broker 1 which is gone, with broker 2 in sync."""
    cluster = cluster_of(*alive)
    steps.znodes.leaderships[T0] = led(1, 1, 2)
    cluster.set_leadership(T0, led(1, 1, 2))
    cluster.set_partition_state(T0, OFFLINE)
    return cluster


def test_nothing_is_asked_for_no_partitions() -> None:
    steps = Steps()
    assert result_of(move_partitions(cluster_of(1), [], ONLINE), steps.perform) == {}
    assert steps.asked == []


def test_an_illegal_move_is_logged_and_leaves_the_state() -> None:
    steps, cluster = Steps(), cluster_of(1)
    assert result_of(move_partitions(cluster, [T0], ONLINE), steps.perform) == {}
    assert [str(note) for note in steps.of(LogLine)] == ["Illegal move of partition t-0 from NON_EXISTENT to ONLINE"]
    result_of(move_partitions(cluster, [T0], NEW), steps.perform)
    assert cluster.partition_state(T0) is NEW


def test_permissions_are_read_only_where_no_replica_in_sync_is_alive() -> None:
    steps = Steps()
    result_of(bring_online(offline(steps, 2, 3)), steps.perform)
    assert not steps.of(ReadUncleanPermissions)
    steps = Steps()
    cluster = offline(steps, 3)
    result_of(bring_online(cluster), steps.perform)
    assert steps.of(ReadUncleanPermissions)[0].topics == ["t"]
    assert cluster.partition_state(T0) is OFFLINE


def test_a_move_that_fails_is_the_outcome_of_each_partition() -> None:
    steps = Steps(UpdateLeaderships)
    cluster = offline(steps, 2)
    outcomes = result_of(move_partitions(cluster, [T0], ONLINE), steps.perform)
    assert isinstance(outcomes[T0], ValueError)
    assert cluster.partition_state(T0) is OFFLINE
    assert not steps.of(Send)
    assert isinstance(steps.of(LogLine)[0].error, ValueError)


def test_that_another_controller_was_elected_is_raised() -> None:
    steps = Steps(UpdateLeaderships, ControllerMoved())
    with pytest.raises(ControllerMoved):
        result_of(move_partitions(offline(steps, 2), [T0], ONLINE), steps.perform)
    assert not steps.of(PartitionsMoved)

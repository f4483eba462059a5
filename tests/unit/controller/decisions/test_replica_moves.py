"""Moves of replicas: out of in-sync sets, into requests, in one batch of all of them."""

from typing import Any

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.notes import LogLine
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.decisions.replica_moves import leadership_without, move_replicas
from kafka_py.controller.decisions.steps import Send
from kafka_py.controller.model.controller_context import (
    ControllerContext,
    Leadership,
    PartitionAndReplica,
    PartitionAssignment,
)
from kafka_py.controller.model.replica_states import NEW, NON_EXISTENT, OFFLINE, ONLINE, ReplicaState
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import TABLE, ControllerZnodes, result_of

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize(
    ("broker", "before", "after"),
    [
        (1, Leadership(1, 4, (1, 2), 1, 7), Leadership(-1, 5, (2,), 3, 7)),
        (2, Leadership(1, 4, (1, 2), 1, 7), Leadership(1, 5, (1,), 3, 7)),
        (1, Leadership(1, 4, (1,), 1, 7), Leadership(-1, 5, (1,), 3, 7)),  # the last one stays in the set
        (3, Leadership(1, 4, (1, 2), 1, 7), None),
    ],
)
def test_a_broker_leaves_the_in_sync_set_and_the_lead(
    broker: int, before: Leadership, after: Leadership | None
) -> None:
    assert leadership_without(ControllerContext(3), broker, before) == after


class World:
    """Brokers 1 and 2 live, t-0 and t-1 are on both and led by broker 1. sent: how many batches."""

    def __init__(self) -> None:
        script = ControllerScript()
        script.perform("brokers 1 2")
        script.perform("topic t 1,2 1,2")
        self.cluster: ControllerContext = script.cluster
        self.znodes: ControllerZnodes = script.znodes
        self.notes: list[str] = []
        self.sent = 0

    def perform(self, step: Step[Any]) -> Any:
        if isinstance(step, LogLine):
            self.notes.append(str(step))
        self.sent += isinstance(step, Send)
        return self.znodes.perform(step) if type(step) in TABLE else None

    def move(self, replicas: list[PartitionAndReplica], target: ReplicaState) -> None:
        result_of(move_replicas(self.cluster, replicas, target), self.perform)


def test_all_requests_of_a_call_are_one_batch() -> None:
    world = World()
    replicas = list(world.cluster.replicas())
    world.move(replicas, OFFLINE)
    assert world.sent == 1
    assert {world.cluster.replica_state(replica) for replica in replicas} == {OFFLINE}
    assert world.znodes.leaderships[T0][:3] == (-1, 2, (2,))
    world.move([], ONLINE)
    assert world.sent == 1


def test_a_replica_whose_state_cannot_be_changed_stays_as_it_is() -> None:
    world = World()
    del world.znodes.leaderships[T1]
    world.move([PartitionAndReplica("t", 0, 2), PartitionAndReplica("t", 1, 2)], OFFLINE)
    assert world.cluster.replica_state(PartitionAndReplica("t", 0, 2)) is OFFLINE
    assert world.cluster.replica_state(PartitionAndReplica("t", 1, 2)) is ONLINE
    assert world.notes == [
        "Replica 2 of t-1 was not removed from the in-sync set: its state in ZooKeeper is missing or cannot be read"
    ]


def test_the_leader_of_a_partition_is_no_new_replica() -> None:
    world = World()
    leader, added = PartitionAndReplica("t", 0, 1), PartitionAndReplica("t", 0, 3)
    world.cluster.set_replica_state(leader, NON_EXISTENT)
    world.move([leader, added], NEW)
    assert world.cluster.replica_state(leader) is NON_EXISTENT
    assert world.cluster.replica_state(added) is NEW
    assert world.notes == ["Replica t-0 on 1 cannot become NEW: it is the leader"]


def test_a_new_replica_that_nobody_assigned_is_added_to_the_assignment() -> None:
    world = World()
    world.move([PartitionAndReplica("t", 0, 3)], NEW)
    world.move([PartitionAndReplica("t", 0, 3)], ONLINE)
    assert world.cluster.assignment(T0) == PartitionAssignment((1, 2, 3))
    assert len(world.notes) == 1


def test_an_illegal_move_is_logged() -> None:
    world = World()
    world.move([PartitionAndReplica("t", 0, 2)], NEW)
    assert world.cluster.replica_state(PartitionAndReplica("t", 0, 2)) is ONLINE
    assert world.notes == ["Illegal move of replica t-0 on 2 from ONLINE to NEW"]

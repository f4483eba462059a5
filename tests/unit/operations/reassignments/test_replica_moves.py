"""What moves when a plan is carried out, and who sends and receives (KIP-455)."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.reassignments import replica_moves
from kafka_py.operations.reassignments.plans import PlanError
from kafka_py.operations.rebalancing.throttles import ReplicaMove, moving_brokers

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_move_reads_from_all_present_replicas_and_a_running_one_keeps_its_sources():
    running = {T1: PartitionReassignment([4, 1, 2], [4], [2])}
    moves = replica_moves.planned_moves(running, {T0: [2, 3], T1: [5]}, {T0: [1, 2], T1: [4, 1, 2]})
    assert moves == {T1: ReplicaMove([1, 2], [5]), T0: ReplicaMove([1, 2], [3])}
    assert moving_brokers(moves) == [1, 2, 5, 3]
    with pytest.raises(PlanError, match="with 0 replicas"):
        replica_moves.planned_moves({}, {T0: [1]}, {})

"""What moves between brokers when a plan is carried out beside the moves that run.

Source: KIP-455.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.reassignments.plans import PlanError, Replicas
from kafka_py.operations.rebalancing.throttles import Moves, ReplicaMove, moves_under_way


def planned_moves(
    reassignments: Mapping[TopicPartition, PartitionReassignment],
    targets: Replicas,
    current: Replicas,
) -> Moves:
    """The moves that run and those that the targets ask for; a partition on its way keeps its sources.

    Raises PlanError for a partition that has no replicas.
    """
    moves = moves_under_way(reassignments)
    for partition, target in targets.items():
        if partition not in moves and not current.get(partition):
            raise PlanError(f"Trying to reassign a topic partition {partition} with 0 replicas")
        sources = moves[partition].sources if partition in moves else list(current[partition])
        moves[partition] = ReplicaMove(sources, [broker for broker in target if broker not in sources])
    return moves

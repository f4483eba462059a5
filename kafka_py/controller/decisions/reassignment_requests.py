"""Checks the targets of AlterPartitionReassignments. Source: docs/reference/controller.md, section 8; KIP-455."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAssignment

_MOST_SHOWN = 100
"""The most broker ids that an error message lists, so that it fits into a string of the protocol."""


def requested_assignment(
    cluster: ControllerContext, partition: TopicPartition, target: Sequence[int] | None
) -> PartitionAssignment:
    """The assignment that a request asks for.

    target: the wanted replicas; None cancels the running reassignment.
    Raises KafkaError(INVALID_REPLICA_ASSIGNMENT), or KafkaError(NO_REASSIGNMENT_IN_PROGRESS) with nothing to cancel.
    """
    current = cluster.assignment(partition)
    if target is None:
        if not current.is_being_reassigned:
            raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
        return current.reassign_to(current.origin)
    live = cluster.live_brokers
    target = target[: len(current.origin) + len(live) + 1]  # a longer one is invalid already within this prefix
    wanted = current.reassign_to(target)
    fault = _fault_of(target, wanted.adding, live)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, fault)
    return wanted


def _fault_of(target: Sequence[int], adding: Sequence[int], live: Collection[int]) -> str | None:
    """Why a target is invalid, in the text of Apache Kafka; None if it is valid."""
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) < len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {_shown('ArrayBuffer', target)}"
    if min(target) < 0:
        return f"Invalid broker id in replica list: {_shown('ArrayBuffer', target)}"
    if not set(adding) <= set(live):
        return (f"Replica assignment has brokers that are not alive. Replica list: {_shown('ArrayBuffer', adding)}, "
                f"live broker list: {_shown('Set', sorted(live))}")  # fmt: skip
    return None


def _shown(collection: str, ids: Sequence[int]) -> str:
    more = ", ..." if len(ids) > _MOST_SHOWN else ""
    return f"{collection}({', '.join(map(str, ids[:_MOST_SHOWN]))}{more})"

"""Plans as documents: the JSON of kafka-reassign-partitions.sh, and the whole proposal for programs.

Source: docs/reference/tools.md, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.model import BrokerLoad, GoalViolation, Proposal

ANY_LOG_DIR = "any"
PLAN_VERSION = 1
NO_PLACES: Mapping[TopicPartition, Mapping[int, str]] = MappingProxyType({})


def reassignment_document(
    assignment: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[TopicPartition, Mapping[int, str]] = NO_PLACES
) -> dict[str, Any]:
    """An assignment as a --reassignment-json-file has it. log_dirs: directories by broker; any for all others."""
    rows = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": list(ids),
         "log_dirs": [log_dirs.get(tp, {}).get(id_, ANY_LOG_DIR) for id_ in ids]}
        for tp, ids in sorted(assignment.items())
    ]  # fmt: skip
    return {"version": PLAN_VERSION, "partitions": rows}


def proposal_document(proposal: Proposal) -> dict[str, Any]:
    """The proposal for programs; `rollback` leads back to the replicas as they are now."""
    request = proposal.request
    return {
        "action": str(request.action),
        "brokers_of_action": sorted(request.brokers),
        "moved_replicas": proposal.moved_replicas,
        "moved_bytes": proposal.moved_bytes,
        "brokers": [_load(before, after) for before, after in zip(proposal.before, proposal.after, strict=True)],
        "violations_before": [_violation(one) for one in proposal.violations],
        "violations_after": [_violation(one) for one in proposal.remaining],
        "notes": list(proposal.notes),
        "moves": [
            {"topic": one.partition.topic, "partition": one.partition.partition, "before": list(one.before),
             "after": list(one.after), "size_bytes": one.size_bytes, "moved_bytes": one.moved_bytes}
            for one in proposal.changes
        ],
        "elections": [{"topic": one.topic, "partition": one.partition} for one in proposal.elections],
        "reassignment": reassignment_document(proposal.targets),
        "rollback": reassignment_document({one.partition: one.before for one in proposal.changes}),
    }  # fmt: skip


def _load(before: BrokerLoad, after: BrokerLoad) -> dict[str, Any]:
    numbers = ("replicas", "preferred", "leads", "size_bytes", "violations")
    return {
        "broker": before.broker, "rack": before.rack, "is_live": before.is_live,
        "before": {name: getattr(before, name) for name in numbers},
        "after": {name: getattr(after, name) for name in numbers},
    }  # fmt: skip


def _violation(one: GoalViolation) -> dict[str, Any]:
    return {"goal": str(one.goal), "hard": one.goal.is_hard, "broker": one.broker, "text": one.text}

"""The state of a plan for log directories that is carried out, as the file of `kafka-py rebalance --state` has it.

It is written before each step that changes the cluster, so that an interrupted run can be resumed, or cancelled, by
another process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.directories.model import DirectoriesProposal, DirectoryMove, ReplicaId
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import (
    PlanStep,
    RunState,
    StepState,
    overrides_of,
    own_values_of,
    write_whole,
)

KIND = "log-dirs"
FILE_VERSION = 1


class DirectoriesState(RunState[ReplicaId, DirectoryMove]):
    """All of a plan for log directories: these moves have no throttles by topic."""

    __slots__ = ()


def new_directories_state(
    proposal: DirectoriesProposal, cluster_id: str | None, throttle: int | None, limits: BatchLimits
) -> DirectoriesState:
    """The state of a plan of which nothing is done."""
    steps = {move.replica: PlanStep(move) for move in proposal.moves}
    return DirectoriesState(cluster_id, steps, throttle, limits)


def is_of_directories(text: str) -> bool:
    """Whether a state file is of moves between log directories. False for what is no such file at all."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("kind") == KIND


def directories_text(state: DirectoriesState) -> str:
    """The file."""
    rows = [
        {"topic": id_.partition.topic, "partition": id_.partition.partition, "broker": id_.broker,
         "source": step.change.source, "target": step.change.target, "size_bytes": step.change.size_bytes,
         "state": str(step.state), **({"reason": step.reason} if step.reason else {})}
        for id_, step in state.steps.items()
    ]  # fmt: skip
    document = {
        "version": FILE_VERSION, "kind": KIND, "cluster_id": state.cluster_id, "throttle": state.throttle,
        "batch_replicas": state.limits.partitions, "batch_bytes": state.limits.moved_bytes,
        "throttled_brokers": state.brokers, "set_brokers": state.set_brokers, "finished": state.is_finished,
        "replicas": rows,
    }  # fmt: skip
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def parse_directories(text: str) -> DirectoriesState:
    """The state in a file. Raises RebalanceRefused for anything else."""
    try:
        document = json.loads(text)
        if document["version"] != FILE_VERSION:
            raise RebalanceRefused(f"The file has version {document['version']}, {FILE_VERSION} is wanted")
        steps = [_step(row) for row in document["replicas"]]
        return DirectoriesState(
            document["cluster_id"], {step.change.replica: step for step in steps}, document["throttle"],
            BatchLimits(int(document["batch_replicas"]), int(document["batch_bytes"])),
            brokers=overrides_of(document["throttled_brokers"]),
            set_brokers=own_values_of(document["set_brokers"]), is_finished=bool(document["finished"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RebalanceRefused(f"This is not the state of a rebalance: {type(error).__name__}: {error}") from None


def _step(row: Mapping[str, Any]) -> PlanStep[DirectoryMove]:
    replica = ReplicaId(TopicPartition(str(row["topic"]), int(row["partition"])), int(row["broker"]))
    move = DirectoryMove(replica, str(row["source"]), str(row["target"]), int(row["size_bytes"]))
    return PlanStep(move, StepState(row["state"]), str(row.get("reason", "")))


def read_directories(path: Path) -> DirectoriesState:
    """Raises RebalanceRefused, OSError."""
    return parse_directories(path.read_text(encoding="utf-8"))


def write_directories(path: Path, state: DirectoriesState) -> None:
    """Replaces the file. Raises OSError."""
    write_whole(path, directories_text(state))

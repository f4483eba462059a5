"""The state of a plan for log directories that is carried out, as the file of `kafka-py rebalance --state` has it.

It is written before each step that changes the cluster, so that an interrupted run can be resumed, or cancelled, by
another process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.directories.model import DirectoriesProposal, DirectoryMove, ReplicaId
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import (
    Overrides,
    OwnValues,
    StepState,
    overrides_of,
    own_values_of,
    write_whole,
)

KIND = "log-dirs"
FILE_VERSION = 1


@dataclass(slots=True)
class DirectoryStep:
    """One replica of the plan. reason: why it failed."""

    move: DirectoryMove
    state: StepState = StepState.PENDING
    reason: str = ""


@dataclass(slots=True)
class DirectoriesState:
    """All of a plan. throttle: bytes per second, None for none.

    brokers: what those that are throttled now had before. set_brokers: what they were given. topics, set_topics: always
    empty; these moves have no throttles by topic.
    """

    cluster_id: str | None
    steps: dict[ReplicaId, DirectoryStep]
    throttle: int | None = None
    limits: BatchLimits = field(default_factory=BatchLimits)
    topics: Overrides = field(default_factory=dict)
    brokers: Overrides = field(default_factory=dict)
    set_topics: OwnValues = field(default_factory=dict)
    set_brokers: OwnValues = field(default_factory=dict)
    is_finished: bool = False

    @property
    def pending(self) -> list[DirectoryMove]:
        return [step.move for step in self.steps.values() if step.state is StepState.PENDING]

    def count(self, state: StepState) -> int:
        return sum(step.state is state for step in self.steps.values())

    @property
    def total_bytes(self) -> int:
        return sum(step.move.size_bytes for step in self.steps.values())

    @property
    def settled_bytes(self) -> int:
        """The bytes of what is no longer pending."""
        return sum(step.move.size_bytes for step in self.steps.values() if step.state is not StepState.PENDING)


def new_directories_state(
    proposal: DirectoriesProposal, cluster_id: str | None, throttle: int | None, limits: BatchLimits
) -> DirectoriesState:
    """The state of a plan of which nothing is done."""
    steps = {move.replica: DirectoryStep(move) for move in proposal.moves}
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
         "source": step.move.source, "target": step.move.target, "size_bytes": step.move.size_bytes,
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
            document["cluster_id"], {step.move.replica: step for step in steps}, document["throttle"],
            BatchLimits(int(document["batch_replicas"]), int(document["batch_bytes"])),
            brokers=overrides_of(document["throttled_brokers"]),
            set_brokers=own_values_of(document["set_brokers"]), is_finished=bool(document["finished"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RebalanceRefused(f"This is not the state of a rebalance: {type(error).__name__}: {error}") from None


def _step(row: Mapping[str, Any]) -> DirectoryStep:
    replica = ReplicaId(TopicPartition(str(row["topic"]), int(row["partition"])), int(row["broker"]))
    move = DirectoryMove(replica, str(row["source"]), str(row["target"]), int(row["size_bytes"]))
    return DirectoryStep(move, StepState(row["state"]), str(row.get("reason", "")))


def read_directories(path: Path) -> DirectoriesState:
    """Raises RebalanceRefused, OSError."""
    return parse_directories(path.read_text(encoding="utf-8"))


def write_directories(path: Path, state: DirectoriesState) -> None:
    """Replaces the file. Raises OSError."""
    write_whole(path, directories_text(state))

"""The state of a plan that is carried out: what is to be done, what is done, which throttles are set.

It is written before each step that changes the cluster, so that an interrupted run can be resumed, or cancelled, by
another process.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.model import PartitionChange, Proposal, RebalanceRefused

FILE_VERSION = 1
Overrides = dict[str, dict[str, str | None]]
"""Topic or broker -> setting -> the value that it had before the throttle; None for none."""


OwnValues = dict[str, dict[str, list[str]]]
"""Topic or broker -> setting -> the values that a plan has given it, the last one last."""


class StepState(StrEnum):
    """How far one partition is. GONE: its topic was deleted. FAILED: the cluster refused it."""

    PENDING = "pending"
    DONE = "done"
    GONE = "gone"
    FAILED = "failed"


class AnyChange(Protocol):
    """What is done to one partition or replica."""

    @property
    def moved_bytes(self) -> int: ...


Id = TypeVar("Id")
Change = TypeVar("Change", bound=AnyChange)


@dataclass(slots=True)
class PlanStep(Generic[Change]):
    """One change of the plan. reason: why it failed."""

    change: Change
    state: StepState = StepState.PENDING
    reason: str = ""


@dataclass(slots=True)
class RunState(Generic[Id, Change]):
    """What every plan has, whatever it moves. throttle: bytes per second, None for none.

    brokers: what those that are throttled now had before. set_brokers: what they were given.
    """

    cluster_id: str | None
    steps: dict[Id, PlanStep[Change]]
    throttle: int | None = None
    limits: BatchLimits = field(default_factory=BatchLimits)
    brokers: Overrides = field(default_factory=dict)
    set_brokers: OwnValues = field(default_factory=dict)
    is_finished: bool = False

    @property
    def pending(self) -> list[Change]:
        return [step.change for step in self.steps.values() if step.state is StepState.PENDING]

    def count(self, state: StepState) -> int:
        return sum(step.state is state for step in self.steps.values())

    @property
    def total_bytes(self) -> int:
        return sum(step.change.moved_bytes for step in self.steps.values())

    @property
    def settled_bytes(self) -> int:
        """The bytes of what is no longer pending."""
        return sum(step.change.moved_bytes for step in self.steps.values() if step.state is not StepState.PENDING)

    @property
    def has_throttles(self) -> bool:
        """Whether throttles of the plan are set."""
        return bool(self.brokers)


@dataclass(slots=True)
class PlanState(RunState[TopicPartition, PartitionChange]):
    """All of a plan for partitions. topics, set_topics: as brokers and set_brokers, of topics that are throttled."""

    action: str = field(kw_only=True)
    elections: list[TopicPartition] = field(default_factory=list, kw_only=True)
    topics: Overrides = field(default_factory=dict, kw_only=True)
    set_topics: OwnValues = field(default_factory=dict, kw_only=True)

    @property
    def has_throttles(self) -> bool:
        """Whether throttles of the plan are set."""
        return bool(self.brokers or self.topics)


def new_state(
    proposal: Proposal, cluster_id: str | None, throttle: int | None, limits: BatchLimits
) -> PlanState:
    """The state of a plan of which nothing is done."""
    steps = {change.partition: PlanStep(change) for change in proposal.changes}
    action, elections = str(proposal.request.action), list(proposal.elections)
    return PlanState(cluster_id, steps, throttle, limits, action=action, elections=elections)


def state_text(state: PlanState) -> str:
    """The file."""
    rows = [
        {"topic": tp.topic, "partition": tp.partition, "before": list(step.change.before),
         "after": list(step.change.after), "size_bytes": step.change.size_bytes, "state": str(step.state),
         **({"reason": step.reason} if step.reason else {})}
        for tp, step in state.steps.items()
    ]  # fmt: skip
    document = {
        "version": FILE_VERSION, "cluster_id": state.cluster_id, "action": state.action, "throttle": state.throttle,
        "batch_partitions": state.limits.partitions, "batch_bytes": state.limits.moved_bytes,
        "throttled_topics": state.topics, "throttled_brokers": state.brokers,
        "set_topics": state.set_topics, "set_brokers": state.set_brokers, "finished": state.is_finished,
        "elections": [list(partition) for partition in state.elections], "partitions": rows,
    }  # fmt: skip
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def parse_state(text: str) -> PlanState:
    """The state in a file. Raises RebalanceRefused for anything else."""
    try:
        document = json.loads(text)
        if document["version"] != FILE_VERSION:
            raise RebalanceRefused(f"The file has version {document['version']}, {FILE_VERSION} is wanted")
        steps = [_step(row) for row in document["partitions"]]
        return PlanState(
            document["cluster_id"], {step.change.partition: step for step in steps}, document["throttle"],
            BatchLimits(int(document["batch_partitions"]), int(document["batch_bytes"])),
            overrides_of(document["throttled_brokers"]), own_values_of(document.get("set_brokers", {})),
            bool(document["finished"]), action=document["action"],
            elections=[TopicPartition(str(topic), int(number)) for topic, number in document["elections"]],
            topics=overrides_of(document["throttled_topics"]),
            set_topics=own_values_of(document.get("set_topics", {})),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RebalanceRefused(f"This is not the state of a rebalance: {type(error).__name__}: {error}") from None


def _step(row: Mapping[str, Any]) -> PlanStep[PartitionChange]:
    change = PartitionChange(
        TopicPartition(str(row["topic"]), int(row["partition"])), _ids(row["before"]), _ids(row["after"]),
        int(row["size_bytes"]),
    )  # fmt: skip
    return PlanStep(change, StepState(row["state"]), str(row.get("reason", "")))


def _ids(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def overrides_of(values: Mapping[str, Mapping[str, str | None]]) -> Overrides:
    """What a file has of settings that were set before. Raises TypeError, ValueError, AttributeError."""
    return {str(name): dict(settings) for name, settings in values.items()}


def own_values_of(values: Mapping[str, Mapping[str, Sequence[str]]]) -> OwnValues:
    """What a file has of values that a plan has given. Raises TypeError, ValueError, AttributeError."""
    return {
        str(name): {setting: list(map(str, given)) for setting, given in settings.items()}
        for name, settings in values.items()
    }


def read_state(path: Path) -> PlanState:
    """Raises RebalanceRefused, OSError."""
    return parse_state(path.read_text(encoding="utf-8"))


def write_state(path: Path, state: PlanState) -> None:
    """Replaces the file. Raises OSError."""
    write_whole(path, state_text(state))


def write_whole(path: Path, text: str) -> None:
    """Replaces a file: readers see the previous text or the new one, after a crash as well. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def sole_execution(path: Path) -> Iterator[None]:
    """As long as it lasts no other process has the file: two would take the throttles of each other for older ones, and
    leave them behind. Raises RebalanceRefused where another one has it, OSError.
    """
    lock = path.with_name(f"{path.name}.lock")
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_alone = os.path.samestat(os.fstat(file.fileno()), lock.stat())
        except (BlockingIOError, FileNotFoundError):
            is_alone = False
        if not is_alone:
            raise RebalanceRefused(f"Another process carries out {path}: interrupt that one to stop or to cancel it")
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

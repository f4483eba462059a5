"""What kafka-reassign-partitions.sh says of plans and moves.

Pure: values in, texts out; reassign_admin.py and reassign_zookeeper.py carry plans out. Plans and moves themselves are
in kafka_py.operations.reassignments. Source: docs/reference/tools.md, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import Refused
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.reassignments.plans import Plan, plan_text


def require_same_factor(plan: Plan, factors: Mapping[TopicPartition, int]) -> None:
    """No partition may get more or fewer replicas than it has (`factors`). Raises Refused."""
    lines = [
        f"{partition}: The replication factor is changed from {factors[partition]} to {len(target)}"
        for partition, target in sorted(plan.targets.items())
        if factors.get(partition, len(target)) != len(target)
    ]
    if lines:
        raise Refused("\n".join(["Error reassigning partition(s):", *lines]))


class PartitionProgress(NamedTuple):
    """How far a partition is. current: its replicas now; none for one that does not exist."""

    current: Sequence[int]
    target: Sequence[int]
    is_done: bool

    def line(self, partition: TopicPartition) -> str:
        if not self.is_done:
            return f"Reassignment of partition {partition} is still in progress."
        if list(self.current) == list(self.target):
            return f"Reassignment of partition {partition} is complete."
        current, target = (",".join(map(str, ids)) for ids in (self.current, self.target))
        return (f"There is no active reassignment of partition {partition}, "
                f"but replica set is {current} rather than {target}.")  # fmt: skip


def status_text(progress: Mapping[TopicPartition, PartitionProgress]) -> str:
    """What --verify says of partitions."""
    lines = [one.line(partition) for partition, one in sorted(progress.items())]
    return "\n".join(["Status of partition reassignment:", *lines])


def moving_documents(reassignments: Mapping[TopicPartition, PartitionReassignment]) -> list[dict[str, Any]]:
    """For --output of --list: an object for each partition."""
    return [
        {"topic": partition.topic, "partition": partition.partition, **one._asdict()}
        for partition, one in sorted(reassignments.items())
    ]


def moving_text(reassignments: Mapping[TopicPartition, PartitionReassignment]) -> str:
    """What --list says."""
    if not reassignments:
        return "No partition reassignments found."
    lines = ["Current partition reassignments:"]
    for partition, one in sorted(reassignments.items()):
        adding = f" adding: {_ids(one.adding)}." if one.adding else ""
        removing = f" removing: {_ids(one.removing)}." if one.removing else ""
        lines.append(f"{partition}: replicas: {_ids(one.replicas)}.{adding}{removing}")
    return "\n".join(lines)


def current_text(
    targets: Mapping[TopicPartition, Sequence[int]], current: Mapping[TopicPartition, Sequence[int]]
) -> str:
    """What --execute says before it begins: how to go back."""
    before = {partition: current[partition] for partition in targets if partition in current}
    return (f"Current partition replica assignment\n\n{plan_text(before)}\n\n"
            "Save this to use as the --reassignment-json-file option during rollback")  # fmt: skip


def proposal_text(
    current: Mapping[TopicPartition, Sequence[int]], proposed: Mapping[TopicPartition, Sequence[int]]
) -> str:
    """What --generate says."""
    return (f"Current partition replica assignment\n{plan_text(current)}\n\n"
            f"Proposed partition reassignment configuration\n{plan_text(proposed)}")  # fmt: skip


def started_text(partitions: Iterable[TopicPartition]) -> str:
    """What --execute says when it has begun."""
    started = sorted(partitions)
    return f"Successfully started partition reassignment{plural(started)} for {','.join(map(str, started))}"


def clearing_lines(brokers: Sequence[int], topics: Sequence[str]) -> list[str]:
    """What is said before throttles are removed."""
    return [
        f"Clearing broker-level throttles on broker{plural(brokers)} {_ids(brokers)}",
        f"Clearing topic-level throttles on topic{plural(topics)} {','.join(topics)}",
    ]


def in_order(replicas: Iterable[TopicPartitionReplica]) -> list[TopicPartitionReplica]:
    """Replicas as Apache Kafka lists them: by broker, then by partition."""
    return sorted(replicas, key=lambda one: (one.broker, one.topic, one.partition))


def plural(items: Sequence[object]) -> str:
    return "" if len(items) == 1 else "s"


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


MUST_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)
ANOTHER_RUNS = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create "
    "a new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)

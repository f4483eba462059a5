"""Plans of kafka-reassign-partitions.sh: the JSON files, and what moves between brokers.

Pure: values in, values and texts out; reassign_admin.py and reassign_zookeeper.py carry plans out.
Source: docs/reference/tools.md, section 5; KIP-73 (throttles), KIP-113 (log directories), KIP-455.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed, Refused
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.rebalancing.documents import ANY_LOG_DIR, PLAN_VERSION, reassignment_document
from kafka_py.operations.rebalancing.throttles import Moves, ReplicaMove, moves_under_way

Replicas = Mapping[TopicPartition, Sequence[int]]
"""The brokers of partitions, the preferred one first."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where partitions are to go.

    rows: every row of the file, in order; a partition may be there twice until `check` has looked.
    log_dirs: directories that the file names; replicas without one may lie anywhere.
    """

    rows: Sequence[tuple[TopicPartition, list[int]]]
    log_dirs: Mapping[TopicPartitionReplica, str] = field(default_factory=dict)

    @property
    def targets(self) -> dict[TopicPartition, list[int]]:
        return dict(self.rows)

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(partition.topic for partition, _ in self.rows))

    @property
    def brokers(self) -> list[int]:
        return list(dict.fromkeys(broker for _, replicas in self.rows for broker in replicas))

    def check(self) -> None:
        """What must hold before a plan is carried out. Raises CommandFailed."""
        if not self.rows:
            raise CommandFailed("Partition reassignment list cannot be empty")
        if any(not replicas for _, replicas in self.rows):
            raise CommandFailed("Partition replica list cannot be empty")
        twice = repeated(partition for partition, _ in self.rows)
        if twice:
            listed = ",".join(map(str, twice))
            raise CommandFailed(f"Partition reassignment contains duplicate topic partitions: {listed}")
        doubled = [(partition, repeated(replicas)) for partition, replicas in self.rows]
        texts = [f"{tp} contains multiple entries for {','.join(map(str, ids))}" for tp, ids in doubled if ids]
        if texts:
            raise CommandFailed(f"Partition replica lists may not contain duplicate entries: {'. '.join(texts)}")


def require_same_factor(plan: Plan, factors: Mapping[TopicPartition, int]) -> None:
    """No partition may get more or fewer replicas than it has (`factors`). Raises Refused."""
    lines = [
        f"{partition}: The replication factor is changed from {factors[partition]} to {len(target)}"
        for partition, target in sorted(plan.targets.items())
        if factors.get(partition, len(target)) != len(target)
    ]
    if lines:
        raise Refused("\n".join(["Error reassigning partition(s):", *lines]))


def repeated(items: Iterable[Any]) -> list[Any]:
    """What occurs more than once."""
    return [item for item, times in Counter(items).items() if times > 1]


# ---- files


def parse_plan(text: str) -> Plan:
    """The file of --reassignment-json-file. Raises CommandFailed."""
    rows: list[tuple[TopicPartition, list[int]]] = []
    log_dirs: dict[TopicPartitionReplica, str] = {}
    for row in _rows_of(text, "partitions"):
        partition = TopicPartition(_field(row, "topic", str), _field(row, "partition", int))
        replicas = _list_field(row, "replicas", int)
        rows.append((partition, replicas))
        if "log_dirs" not in row:
            continue
        directories = _list_field(row, "log_dirs", str)
        if len(directories) != len(replicas):
            raise CommandFailed(
                f"Size of replicas list {_as_list(replicas)} is different from size of log dirs list "
                f"{_as_list(directories)} for partition {partition}"
            )
        for broker, directory in zip(replicas, directories, strict=True):
            if directory != ANY_LOG_DIR:
                log_dirs[TopicPartitionReplica(*partition, broker)] = directory
    return Plan(rows, log_dirs)


def parse_topics(text: str) -> list[str]:
    """The file of --topics-to-move-json-file. Raises CommandFailed."""
    topics = [_field(row, "topic", str) for row in _rows_of(text, "topics")]
    twice = repeated(topics)
    if twice:
        raise CommandFailed(f"List of topics to reassign contains duplicate entries: {','.join(twice)}")
    return topics


def parse_brokers(text: str) -> list[int]:
    """`0,1,2`. Raises CommandFailed."""
    brokers = []
    for part in text.split(","):
        try:
            brokers.append(int(part))
        except ValueError:
            raise CommandFailed(f'For input string: "{part}"') from None
    twice = repeated(brokers)
    if twice:
        raise CommandFailed(f"Broker list contains duplicate entries: {','.join(map(str, twice))}")
    return brokers


def _rows_of(text: str, name: str) -> list[dict[str, Any]]:
    """The objects of a list in the file. Raises CommandFailed."""
    if not text.strip():
        raise CommandFailed("The input string shouldn't be empty")
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CommandFailed(f"The input string is not a valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise CommandFailed("The input string is not a valid JSON: an object is wanted")
    version = document.get("version", PLAN_VERSION)
    if version != PLAN_VERSION:
        raise CommandFailed(f"Not supported version field value {version}")
    rows = document.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CommandFailed(f"`{name}` must be a list of objects")
    return rows


def _field(row: Mapping[str, Any], name: str, kind: type) -> Any:
    if name not in row:
        raise CommandFailed(f"No such field exists: `{name}`")
    return _typed(row[name], name, kind)


def _list_field(row: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    return [_typed(item, name, kind) for item in _field(row, name, list)]


def _typed(value: Any, name: str, kind: type) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CommandFailed(f"`{name}` holds {json.dumps(value)}, which is not what belongs there")
    return value


def _as_list(items: Sequence[object]) -> str:
    return f"List({', '.join(map(str, items))})"


def plan_text(assignment: Replicas) -> str:
    """An assignment as such a file, on one line."""
    return json.dumps(reassignment_document(assignment), separators=(",", ":"), ensure_ascii=False)


# ---- moves


def planned_moves(
    reassignments: Mapping[TopicPartition, PartitionReassignment],
    targets: Replicas,
    current: Replicas,
) -> Moves:
    """The moves that run and those that the targets ask for; a partition on its way keeps its sources.

    Raises CommandFailed for a partition that has no replicas.
    """
    moves = moves_under_way(reassignments)
    for partition, target in targets.items():
        if partition not in moves and not current.get(partition):
            raise CommandFailed(f"Trying to reassign a topic partition {partition} with 0 replicas")
        sources = moves[partition].sources if partition in moves else list(current[partition])
        moves[partition] = ReplicaMove(sources, [broker for broker in target if broker not in sources])
    return moves


# ---- texts


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

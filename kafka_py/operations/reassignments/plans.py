"""Plans of reassignments, and the JSON files that kafka-reassign-partitions.sh reads and writes.

Source: docs/reference/tools.md, section 5; KIP-113 (log directories).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.operations.rebalancing.documents import ANY_LOG_DIR, NO_PLACES, PLAN_VERSION, reassignment_document

Replicas = Mapping[TopicPartition, Sequence[int]]
"""The brokers of partitions, the preferred one first."""

Assignment = dict[TopicPartition, list[int]]


class PlanError(ValueError):
    """A plan, or what one is made from, is malformed or contradicts itself; the text says how."""


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
        """What must hold before a plan is carried out. Raises PlanError."""
        if not self.rows:
            raise PlanError("Partition reassignment list cannot be empty")
        if any(not replicas for _, replicas in self.rows):
            raise PlanError("Partition replica list cannot be empty")
        twice = repeated(partition for partition, _ in self.rows)
        if twice:
            listed = ",".join(map(str, twice))
            raise PlanError(f"Partition reassignment contains duplicate topic partitions: {listed}")
        doubled = [(partition, repeated(replicas)) for partition, replicas in self.rows]
        texts = [f"{tp} contains multiple entries for {','.join(map(str, ids))}" for tp, ids in doubled if ids]
        if texts:
            raise PlanError(f"Partition replica lists may not contain duplicate entries: {'. '.join(texts)}")


def repeated(items: Iterable[Any]) -> list[Any]:
    """What occurs more than once."""
    return [item for item, times in Counter(items).items() if times > 1]


def parse_plan(text: str) -> Plan:
    """The file of --reassignment-json-file. Raises PlanError."""
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
            raise PlanError(
                f"Size of replicas list {_as_list(replicas)} is different from size of log dirs list "
                f"{_as_list(directories)} for partition {partition}"
            )
        for broker, directory in zip(replicas, directories, strict=True):
            if directory != ANY_LOG_DIR:
                log_dirs[TopicPartitionReplica(*partition, broker)] = directory
    return Plan(rows, log_dirs)


def parse_topics(text: str) -> list[str]:
    """The file of --topics-to-move-json-file. Raises PlanError."""
    topics = [_field(row, "topic", str) for row in _rows_of(text, "topics")]
    twice = repeated(topics)
    if twice:
        raise PlanError(f"List of topics to reassign contains duplicate entries: {','.join(twice)}")
    return topics


def parse_brokers(text: str) -> list[int]:
    """`0,1,2`. Raises PlanError."""
    brokers = []
    for part in text.split(","):
        try:
            brokers.append(int(part))
        except ValueError:
            raise PlanError(f'For input string: "{part}"') from None
    twice = repeated(brokers)
    if twice:
        raise PlanError(f"Broker list contains duplicate entries: {','.join(map(str, twice))}")
    return brokers


def _rows_of(text: str, name: str) -> list[dict[str, Any]]:
    """The objects of a list in the file. Raises PlanError."""
    if not text.strip():
        raise PlanError("The input string shouldn't be empty")
    try:
        document = json.loads(text)
    except ValueError as error:
        raise PlanError(f"The input string is not a valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise PlanError("The input string is not a valid JSON: an object is wanted")
    version = document.get("version", PLAN_VERSION)
    if version != PLAN_VERSION:
        raise PlanError(f"Not supported version field value {version}")
    rows = document.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise PlanError(f"`{name}` must be a list of objects")
    return rows


def _field(row: Mapping[str, Any], name: str, kind: type) -> Any:
    if name not in row:
        raise PlanError(f"No such field exists: `{name}`")
    return _typed(row[name], name, kind)


def _list_field(row: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    return [_typed(item, name, kind) for item in _field(row, name, list)]


def _typed(value: Any, name: str, kind: type) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise PlanError(f"`{name}` holds {json.dumps(value)}, which is not what belongs there")
    return value


def _as_list(items: Sequence[object]) -> str:
    return f"List({', '.join(map(str, items))})"


def plan_text(assignment: Replicas, log_dirs: Mapping[TopicPartition, Mapping[int, str]] = NO_PLACES) -> str:
    """An assignment as such a file, on one line. log_dirs: the directories of some replicas, by broker."""
    return json.dumps(reassignment_document(assignment, log_dirs), separators=(",", ":"), ensure_ascii=False)

"""What the sink's tasks report and what the driver makes of it: the one place that says when a batch counts.

A task reports only when each of its records was acknowledged by all in-sync replicas, and a batch counts when every
task has reported. A task or batch that is run again writes again (at least once), unless the tasks write in
transactions, which the driver ends: exactly_once/ decides about those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql.datasource import WriterCommitMessage

from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.exactly_once.batches import OnceReport


class Written(NamedTuple):
    """Records of one partition that one task has had acknowledged; offsets are -1 where the broker did not say."""

    records: int
    first_offset: int
    last_offset: int


@dataclass
class TaskReport(WriterCommitMessage):
    """What one task wrote. once: its transaction, where it wrote in one."""

    task: int = -1
    attempt: int = -1
    written: dict[TopicPartition, Written] = field(default_factory=dict)
    once: OnceReport | None = None

    @property
    def record_count(self) -> int:
        return sum(each.records for each in self.written.values())


class Receipt(NamedTuple):
    """What a whole batch wrote. batch_id: -1 for a batch write."""

    batch_id: int
    written: dict[TopicPartition, Written]

    @property
    def record_count(self) -> int:
        return sum(each.records for each in self.written.values())

    def __str__(self) -> str:
        where = ", ".join(f"{each} {part.records:,}" for each, part in sorted(self.written.items()))
        return f"{self.record_count:,} records written ({where or 'none'})"


class Incomplete(Exception):
    """A batch that does not count: a task has not reported."""


def settle(reports: Sequence[TaskReport | None], batch_id: int = -1) -> Receipt:
    """The receipt of a batch all of whose tasks have reported. Raises Incomplete."""
    missing = sum(each is None for each in reports)
    if missing:
        raise Incomplete(f"{missing} of {len(reports)} tasks have not said that their records were acknowledged")
    return Receipt(batch_id, _merged(each for each in reports if each is not None))


def abandon(reports: Sequence[TaskReport | None], batch_id: int = -1) -> Receipt:
    """What tasks of a failed batch had written all the same; it will be written again when the batch is."""
    return Receipt(batch_id, _merged(each for each in reports if each is not None))


def _merged(reports: Iterable[TaskReport]) -> dict[TopicPartition, Written]:
    total: dict[TopicPartition, Written] = {}
    for report in reports:
        for partition, part in report.written.items():
            seen = total.get(partition)
            total[partition] = part if seen is None else Written(
                seen.records + part.records,
                min(seen.first_offset, part.first_offset),
                max(seen.last_offset, part.last_offset),
            )  # fmt: skip
    return total

"""A mirror's round in transactions: read-committed consumers see a round whole and once, and others may write as well.

Every task copies its range in a transaction, and says where each record came to be; the driver writes that down, then
commits the round. A round that is decided is not copied again: where its records are was written down just before.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.clients.producer.producer import Producer
from kafka_py.pipeline.exactly_once.batches import (
    TRANSACTION_TIMEOUT_MS,
    OnceBatches,
    OnceReport,
    TaskPlace,
    prepared_from,
    shared_settings,
)
from kafka_py.pipeline.exactly_once.coordination import SinkName
from kafka_py.pipeline.fetching import RangeReader
from kafka_py.pipeline.jobs.folders import Folder
from kafka_py.pipeline.jobs.mirror import PRODUCER, CopiedRun, Task
from kafka_py.pipeline.links import shared_link
from kafka_py.pipeline.options import DECISION_TOPIC
from kafka_py.records.columns import Columns

SCOPE_FILE = "scope"
"""In the state folder: under which name its rounds are decided. A new folder is a new mirror."""

Runs = dict[str, list[CopiedRun]]


class OnceTask(NamedTuple):
    """One partition's part of a round, for an executor."""

    task: Task
    once: OnceBatches
    scope: str
    round: int


def copy_once(
    name: str, tasks: Sequence[Task], session: Any, folder: Folder, round_number: int, *, accepts_torn: bool = False
) -> Runs:
    """Copies a round, unless that is decided already; returns where its records are. name: of the pipeline.

    Raises TornBatch where some transactions of a decided round are lost, unless that is accepted.
    """
    if not tasks:
        return {}
    settings = dict(tasks[0].target_settings)
    timeout_ms = int(settings.get("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS))
    once = OnceBatches(SinkName(name, DECISION_TOPIC, timeout_ms), shared_settings(settings), accepts_torn, None)
    scope = _scope(folder)
    once.begin()
    if once.is_written(TaskPlace(scope, round_number, 0, 0, 0)):
        return _written_down(folder, round_number)
    try:
        given = [OnceTask(task, once, scope, round_number) for task in tasks]
        found = session.sparkContext.parallelize(given, len(given)).map(copy_in_transaction).collect()
        runs = {str(task.wanted.topic_partition): each for task, (each, _) in zip(tasks, found, strict=True)}
        _write_down(folder, round_number, runs)
        once.commit([report for _, report in found])
    except Exception:
        once.abort()
        raise
    return runs


def _scope(folder: Folder) -> str:
    if not folder.exists(SCOPE_FILE):
        folder.write(SCOPE_FILE, f"mirror/{uuid.uuid4().hex}")
    return folder.read(SCOPE_FILE)


def _tries(folder: Folder, round_number: int) -> list[str]:
    """Names of what was written down for a round, the latest one last."""
    return [name for name in folder.names() if name.startswith(f"copied-{round_number:012d}-")]


def _write_down(folder: Folder, round_number: int, runs: Runs) -> None:
    number = len(_tries(folder, round_number))
    folder.write(f"copied-{round_number:012d}-{number:06d}.json", json.dumps(runs))


def _written_down(folder: Folder, round_number: int) -> Runs:
    values = json.loads(folder.read(_tries(folder, round_number)[-1]))
    return {name: [CopiedRun(*each) for each in found] for name, found in values.items()}


def copy_in_transaction(given: OnceTask) -> tuple[list[CopiedRun], OnceReport]:
    """Copies one range and leaves its transaction open; runs in an executor. Raises KafkaError naming the partition."""
    from pyspark import TaskContext

    task, once, scope, round_number = given
    context = TaskContext.get()
    assert context is not None
    place = TaskPlace(
        scope, round_number, context.partitionId(), context.attemptNumber(), context.taskAttemptId()
    )
    reader = RangeReader(
        shared_link(task.source_settings), task.wanted, fetch_bytes=1 << 20, timeout_ms=task.timeout_ms,
        fail_on_data_loss=task.fail_on_data_loss,
    )  # fmt: skip
    copied = Copied(task.copy)
    with once.transaction(place, lambda given: Producer({**PRODUCER, **task.target_settings, **given})) as producer:
        for columns in reader:
            copied.send(producer, columns)
            copied.check()
        producer.flush()
        copied.check()
        prepared = prepared_from(*producer.prepare_transaction(), copied.last_offsets())
    return copied.runs(), once.report(place, prepared)


class Copied:
    """What one task has sent, and where it came to be. Answers come on the producer's thread, in the order sent."""

    def __init__(self, copy: TopicPartition) -> None:
        self._copy = copy
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._failure: KafkaError | None = None

    def send(self, producer: Producer, columns: Columns) -> None:
        """Hands over all records, as they are."""
        topic, partition = self._copy
        headers = columns.headers()
        timestamps = columns.timestamps.tolist()
        send, note = producer.send, self.note
        for index in range(columns.record_count):
            send(topic, columns.value(index), columns.key(index), partition, timestamps[index],
                 headers[index] or None, note)  # fmt: skip
        self._sources += columns.offsets.tolist()

    def note(self, metadata: RecordMetadata | None, error: KafkaError | None) -> None:
        if metadata is None:
            self._failure = self._failure or error
        else:
            self._targets.append(metadata.offset)

    def check(self) -> None:
        """Raises the first failure."""
        if self._failure is not None:
            raise KafkaError(self._failure.code, f"copying to {self._copy}: {self._failure.message}")

    def last_offsets(self) -> dict[TopicPartition, int]:
        return {self._copy: self._targets[-1]} if self._targets else {}

    def runs(self) -> list[CopiedRun]:
        """Records in a row, both here and there."""
        import numpy as np

        if not self._sources:
            return []
        sources, targets = np.array(self._sources), np.array(self._targets)
        breaks = np.flatnonzero((np.diff(sources) != 1) | (np.diff(targets) != 1)) + 1
        starts = [0, *breaks.tolist()]
        ends = [*starts[1:], len(sources)]
        return [
            CopiedRun(int(sources[low]), int(targets[low]), high - low) for low, high in zip(starts, ends, strict=True)
        ]

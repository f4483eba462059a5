"""A batch of the sink in transactions: begun by the driver, written by tasks, committed or aborted by the driver.

Spark runs the three in different processes: the beginning travels to the tasks with the writer, and comes back to the
commit with what they report. Knows Spark's task context and no data frames.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.producer.producer import Producer
from kafka_py.pipeline.exactly_once import protocol
from kafka_py.pipeline.exactly_once.coordination import ClusterWorld, SinkName
from kafka_py.pipeline.exactly_once.decisions import WRITE_SCOPE, Driver, Prepared
from kafka_py.pipeline.links import shared_link
from kafka_py.pipeline.options import Options

_log = logging.getLogger(__name__)

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"
"""Local properties that Spark gives the tasks of a micro-batch."""

TRANSACTION_TIMEOUT_MS = 900_000
"""transaction.timeout.ms of tasks: the most that brokers allow by default."""

ACCEPT = "accept"


class OnceReport(NamedTuple):
    """What a task in a transaction reports. begun: of the batch's Start. prepared: None when it had no records.
    was_written: by an earlier run."""

    scope: str
    batch: int
    driver: Driver
    begun: int
    prepared: Prepared | None = None
    was_written: bool = False


class TaskPlace(NamedTuple):
    """Where a task writes: the batch, and which attempt it is. claimant: Spark's id of the attempt, used once only."""

    scope: str
    batch: int
    task: int
    attempt: int
    claimant: int


@dataclass
class OnceBatches:
    """Pickled to the executors. settings: of every client. start: None until the batch has begun.

    is_stream: whether each batch is a micro-batch of a query as a whole, and not one of the writes that foreachBatch
    may make for it.
    """

    name: SinkName
    settings: dict[str, str] = field(repr=False)
    accepts_torn: bool
    write_name: str | None
    start: protocol.Start | None = None
    is_stream: bool = True

    # On the driver's side

    def begin(self) -> None:
        """Before the tasks. Raises TornBatch, KafkaError."""
        self.start = protocol.begin(self._world(), accept_torn=self.accepts_torn)

    def commit(self, reports: Sequence[OnceReport]) -> None:
        """When all tasks have reported. Raises TransactionsLost, TornBatch, KafkaError."""
        if not reports:
            return
        scope, batch, driver, begun, *_ = reports[0]
        if reports[0].was_written:
            _log.info("Batch %d of %s was written before: nothing is written again", batch, scope)
            return
        prepared = [each.prepared for each in reports if each.prepared is not None]
        protocol.commit(self._world(), driver, begun, scope, batch, prepared, accept_torn=self.accepts_torn)

    def abort(self) -> None:
        """When the batch failed."""
        protocol.abort(self._world(), accept_torn=self.accepts_torn)

    # In a task

    def place(self, context: Any) -> TaskPlace:
        """Where a task writes. context: Spark's. Raises ConfigError for an unnamed write of foreachBatch."""
        query, number = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        if query is None or number is None:
            scope, batch = self._write()
        elif self.is_stream:
            scope, batch = query, int(number)
        elif self.write_name is not None:
            scope, batch = f"{query}/{self.write_name}", int(number)
        else:
            raise ConfigError(
                "Option writeName must be given with exactlyOnce in foreachBatch: by it a write that is repeated for "
                "the same batch is told from a second write, which would not be written"
            )
        return TaskPlace(scope, batch, context.partitionId(), context.attemptNumber(), context.taskAttemptId())

    def _write(self) -> tuple[str, int]:
        """A batch write by its name; without one, the next of those that have none."""
        if self.write_name is not None:
            return f"{WRITE_SCOPE}/{self.write_name}", 0
        latest = self._begun.latest.get(WRITE_SCOPE)
        return WRITE_SCOPE, 0 if latest is None else latest.batch + latest.commits

    def report(self, place: TaskPlace, prepared: Prepared | None = None) -> OnceReport:
        """What the task tells the driver; without `prepared`, because there was nothing to write."""
        start = self._begun
        return OnceReport(place.scope, place.batch, start.driver, start.begun, prepared, self.is_written(place))

    def is_written(self, place: TaskPlace) -> bool:
        """Whether an earlier run has written the batch."""
        return self._begun.is_decided(place.scope, place.batch)

    def transaction(self, place: TaskPlace, producer_with: Callable[[dict[str, Any]], Producer]) -> Producer:
        """A producer with a transaction open, in a slot that no other attempt uses.

        producer_with: makes one with these settings. Raises KafkaError when the batch has ended meanwhile.
        """
        lease = protocol.take_slot(
            self._world(), self._begun, self.name.prefix, place.task, place.attempt, place.claimant
        )
        producer = producer_with(
            {"transactional.id": lease.transactional_id, "transaction.timeout.ms": self.name.timeout_ms}
        )
        try:
            producer.resume_transactions(lease.producer_id, lease.epoch)
            producer.begin_transaction()
        except BaseException:
            producer.close(0)
            raise
        return producer

    @property
    def _begun(self) -> protocol.Start:
        if self.start is None:
            raise ConfigError("The batch has not begun: exactlyOnce works under Spark's own planner only")
        return self.start

    def _world(self) -> ClusterWorld:
        return ClusterWorld(self.name, self.settings, shared_link(self.settings))


def batches_of(
    options: Options, checkpoint: str | None = None, *, is_stream: bool = True
) -> OnceBatches | None:
    """What the options ask for; None without exactlyOnce. checkpoint: a stream's checkpointLocation, where it is known.
    is_stream: false for a batch write.

    Raises ConfigError without a prefix.
    """
    if not options["exactlyOnce"]:
        return None
    prefix = options["transactionalIdPrefix"]
    if prefix is None:
        if checkpoint is None:
            raise ConfigError(
                "Option transactionalIdPrefix must be given with exactlyOnce: by it an interrupted write is found, and "
                "finished or rolled back"
            )
        prefix = f"spark-sink-{hashlib.sha256(checkpoint.encode()).hexdigest()[:16]}"
    timeout_ms = int(options.kafka.get("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS))
    return OnceBatches(
        SinkName(prefix, options["decisionTopic"], timeout_ms),
        shared_settings(options.client_settings("driver")),
        options["tornBatch"] == ACCEPT,
        options["writeName"],
        is_stream=is_stream,
    )


def shared_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that every kind of client has."""
    known = {option.name for option in ClientOptions.describe()}
    return {name: value for name, value in settings.items() if name in known}


def prepared_from(
    transactional_id: str, producer_id: int, epoch: int, last_offsets: Mapping[TopicPartition, int]
) -> Prepared | None:
    """A flushed transaction by one of its records; None when it has none. last_offsets: of each partition."""
    written = max(last_offsets.items(), key=lambda each: each[1], default=None)
    return None if written is None else Prepared(transactional_id, producer_id, epoch, *written)

"""Data frames written to topics: each task has an idempotent producer with acks=all, or one in a transaction.

Columns: value, and where wanted key, topic, partition and headers; others are left alone. A task succeeds only when
every record was acknowledged; a failure names topic, partition and cause. What counts as done is in
commit_protocol.py; how transactions are committed, in exactly_once/.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from typing import Any

from pyspark.sql.datasource import DataSourceArrowWriter
from pyspark.sql.types import StructType

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.clients.producer.producer import Producer
from kafka_py.pipeline.bulk import BulkSender, runs_of
from kafka_py.pipeline.commit_protocol import TaskReport, Written, abandon, settle
from kafka_py.pipeline.exactly_once.batches import OnceBatches, TaskPlace, prepared_from
from kafka_py.pipeline.options import Options

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # Spark 4.0: Spark hands streams rows; none of our concern
    from pyspark.sql.datasource import DataSourceStreamWriter as DataSourceStreamArrowWriter

_log = logging.getLogger(__name__)

COLUMN_TYPES = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}

PRODUCER_DEFAULTS = {"batch.size": 131_072, "linger.ms": 10, "buffer.memory": 64 * 1024 * 1024}
"""For much at once; kafka.* options count more."""


class TopicWriter:
    """What batch and stream writers share. Pickled to the executors."""

    def __init__(self, options: Options, schema: StructType, once: OnceBatches | None = None) -> None:
        """once: where batches are written in transactions. Raises KafkaError for columns that cannot be written."""
        self._options = options
        self._columns = _checked_columns(options, schema)
        self._once = once

    def write(self, iterator: Iterator[Any]) -> TaskReport:
        """Runs in an executor, for one task. Raises KafkaError naming topic, partition and cause."""
        from pyspark import TaskContext

        context = TaskContext.get()
        report = TaskReport() if context is None else TaskReport(context.partitionId(), context.attemptNumber())
        if self._once is not None:
            self._write_once(iterator, report, self._once, self._once.place(context))
            return report
        with self._producer({}) as producer:
            report.written = self._write_all(producer, iterator)
        return report

    def _write_once(self, iterator: Iterator[Any], report: TaskReport, once: OnceBatches, place: TaskPlace) -> None:
        """In a transaction, which is left open for the driver to end; nothing where the batch is written already."""
        if once.is_written(place):
            for _ in iterator:
                pass  # Spark wants its rows taken
            report.once = once.report(place)
            return
        with once.transaction(place, self._producer) as producer:
            report.written = self._write_all(producer, iterator)
            last_offsets = {each: part.last_offset for each, part in report.written.items()}
            report.once = once.report(place, prepared_from(*producer.prepare_transaction(), last_offsets))

    def _producer(self, settings: dict[str, Any]) -> Producer:
        return Producer({**PRODUCER_DEFAULTS, **self._options.client_settings("executor"), "acks": "all",
                         "enable.idempotence": True, **settings})  # fmt: skip

    def _write_all(self, producer: Producer, iterator: Iterator[Any]) -> dict[TopicPartition, Written]:
        """Sends all rows; returns when all are acknowledged."""
        tally = Tally()
        send = self._sender(producer, tally)
        for batch in iterator:
            send(batch)
            tally.check()
        producer.flush()
        tally.check()
        return tally.written()

    def _commit_once(self, reports: list[TaskReport]) -> None:
        if self._once is not None:
            self._once.commit([each.once for each in reports if each.once is not None])

    def _abort_once(self) -> None:
        if self._once is not None:
            self._once.abort()

    def _sender(self, producer: Producer, tally: Tally) -> Callable[[Any], None]:
        """What takes an Arrow batch: by columns, or record by record where that cannot be."""
        if "headers" in self._columns or "partitioner.class" in self._options.kafka:
            return partial(self._send_records, producer, tally)
        size = int(self._options.kafka.get("batch.size", PRODUCER_DEFAULTS["batch.size"]))
        return partial(self._send_columns, BulkSender(producer, max(1, size), tally.note))

    def _send_columns(self, sender: BulkSender, batch: Any) -> None:
        columns = {name: self._array(batch, name) for name in self._columns}
        fixed = self._options["topic"]
        if fixed is not None:
            sender.send(fixed, columns.get("key"), columns["value"], columns.get("partition"))
            return
        topics = columns.pop("topic").dictionary_encode()
        order, runs = runs_of(topics.indices.to_numpy(zero_copy_only=False))
        if len(runs) > 1:
            columns = {name: column.take(order) for name, column in columns.items()}
        for code, low, size in runs:
            some = {name: column.slice(low, size) for name, column in columns.items()}
            sender.send(topics.dictionary[code].as_py(), some.get("key"), some["value"], some.get("partition"))

    def _send_records(self, producer: Producer, tally: Tally, batch: Any) -> None:
        columns = {name: self._values(batch, name) for name in self._columns}
        count = batch.num_rows
        topics = columns.get("topic") or repeat(self._options["topic"], count)
        if self._options["topic"] is not None:
            topics = repeat(self._options["topic"], count)
        keys = columns.get("key") or repeat(None, count)
        partitions = columns.get("partition") or repeat(None, count)
        headers = columns.get("headers") or repeat(None, count)
        send, note = producer.send, tally.note
        try:
            for topic, key, value, partition, pairs in zip(
                topics, keys, columns["value"], partitions, headers, strict=True
            ):
                send(topic, value, key, partition, None, pairs, note)
        except KafkaError as error:
            raise KafkaError(error.code, f"writing to {topic or 'a null topic'}: {error.message}") from error

    def _values(self, batch: Any, name: str) -> list[Any]:
        """A column as the producer takes it, record by record."""
        values: list[Any] = self._array(batch, name).to_pylist()
        if name == "headers":
            return [[(each["key"], each["value"]) for each in row] if row else None for row in values]
        return values

    def _array(self, batch: Any, name: str) -> Any:
        """A column as Arrow has it, text as its UTF-8 bytes."""
        import pyarrow as pa

        array = batch.column(batch.schema.get_field_index(name))
        if name in ("key", "value") and array.type != pa.binary():
            array = array.cast(pa.binary())
        if name == "topic" and array.null_count and self._options["topic"] is None:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                "a record has null in the column topic, and the option topic is not given",
            )
        return array


class BatchSink(TopicWriter, DataSourceArrowWriter):
    """Of df.write."""

    def commit(self, messages: list[Any]) -> None:
        receipt = settle(messages)
        self._commit_once(messages)
        _log.info("%s", receipt)

    def abort(self, messages: list[Any]) -> None:
        self._abort_once()
        _log.warning("The write failed; before that, %s", abandon(messages))


class StreamSink(TopicWriter, DataSourceStreamArrowWriter):
    """Of df.writeStream."""

    def commit(self, messages: list[Any], batchId: int) -> None:
        receipt = settle(messages, batchId)
        self._commit_once(messages)
        _log.info("Batch %d: %s", batchId, receipt)

    def abort(self, messages: list[Any], batchId: int) -> None:
        self._abort_once()
        _log.warning("Batch %d failed; before that, %s", batchId, abandon(messages, batchId))


class Tally:
    """Counts what is acknowledged, and keeps the first failure. Called on the producer's thread."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], list[int]] = {}
        self._failure: KafkaError | None = None
        self._failed = 0

    def note(self, metadata: RecordMetadata | None, error: KafkaError | None, count: int = 1) -> None:
        """metadata: of the last of `count` records that were sent together."""
        if metadata is None:
            self._failed += count
            if self._failure is None:
                self._failure = error
            return
        topic, partition, offset, *_ = metadata
        seen = self._counts.get((topic, partition))
        if seen is None:
            self._counts[topic, partition] = [count, offset - count + 1 if offset >= 0 else offset, offset]
        else:
            seen[0] += count
            seen[2] = offset

    def check(self) -> None:
        """Raises the first failure."""
        if self._failure is not None:
            raise KafkaError(
                self._failure.code, f"{self._failed} records were not acknowledged; the first: {self._failure.message}"
            )

    def written(self) -> dict[TopicPartition, Written]:
        return {TopicPartition(*each): Written(*numbers) for each, numbers in self._counts.items()}


def _checked_columns(options: Options, schema: StructType) -> list[str]:
    """The columns that are written."""
    given = {field.name: field.dataType.simpleString() for field in schema.fields}
    if "value" not in given:
        raise KafkaError(ErrorCode.INVALID_CONFIG, "The data frame has no column 'value', the one that must be there")
    if "topic" not in given and options["topic"] is None:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, "Neither the option topic is given nor has the data frame a column 'topic'"
        )
    for name, types in COLUMN_TYPES.items():
        if name in given and given[name] not in types:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"The column '{name}' must be {' or '.join(types)}, not {given[name]}"
            )
    return [name for name in COLUMN_TYPES if name in given]

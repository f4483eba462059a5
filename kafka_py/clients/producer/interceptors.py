"""Interceptors of the producer (interceptor.classes): they see every record before it is serialized, and its result.

An interceptor is a ProducerInterceptor, or has `on_send(record) -> record` and `on_acknowledgement(metadata, error)`,
and optionally `configure(configs)` and `close()`. They run one after the other in the order of the setting. What one
raises is logged and not passed on: the next one gets the record of the last one that did not fail (KIP-42).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka_py.base.plugins import make_plugin
from kafka_py.clients.interceptor_chain import SETTING, InterceptorChain
from kafka_py.clients.producer.batches import NO_OFFSET, NO_TIMESTAMP, Headers, ProducerBatch, RecordMetadata

UNKNOWN_PARTITION = -1


class ProducerRecord(NamedTuple):
    """A record as the application passed it to `send`. `record._replace(value=...)` returns a changed copy.

    timestamp: ms since the epoch, None for the time of `send`. headers: (name, bytes or None) pairs.
    """

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers | None = None


class ProducerInterceptor:
    """Base of producer interceptors; a method `configure(configs)`, if there is one, is called first."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Returns the record to send instead. Called in the thread or task that called `send`."""
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        """A record was acknowledged (`error` is None) or has failed: `metadata` then has topic and partition only.

        The partition is -1 if none was chosen yet. Called on the producer's own thread, before the callback given to
        `send`; it must not block.
        """

    def close(self) -> None:
        """Called when the producer is closed."""


class ProducerInterceptors(InterceptorChain):
    """The chain of one producer."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """The record as the interceptors have changed it."""
        return self._changed("on_send", record, lambda made: ProducerRecord(*made), f" for topic {record.topic}")

    def on_send_error(self, record: ProducerRecord, error: Exception) -> None:
        """Reports a record for which `send` raised, so that it is in no batch."""
        partition = UNKNOWN_PARTITION if record.partition is None else record.partition
        self._tell("on_acknowledgement", _failed(record.topic, partition), error)

    def on_answer(self, batch: ProducerBatch) -> None:
        """Reports the result of all records of a batch, before their futures and callbacks complete."""
        lane, error = batch.lane, batch.error
        for index in range(len(batch.details)):
            metadata = batch.metadata(index) if error is None else _failed(lane.topic, lane.partition)
            self._tell("on_acknowledgement", metadata, error)


def interceptors_of(wanted: Iterable[Any], configs: Mapping[str, Any], client_id: str) -> ProducerInterceptors | None:
    """The chain for interceptor.classes; None if it is empty. Raises ConfigError for what is no interceptor."""
    settings = {**configs, "client.id": client_id}
    chain = [make_plugin(SETTING, each, ("on_send", "on_acknowledgement"), settings) for each in wanted]
    return ProducerInterceptors(chain) if chain else None


def _failed(topic: str, partition: int) -> RecordMetadata:
    return RecordMetadata(topic, partition, NO_OFFSET, NO_TIMESTAMP, -1, -1)

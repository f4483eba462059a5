"""Interceptors of the producer (interceptor.classes): they see every record before it is serialized, and its end.

An own interceptor is a ProducerInterceptor, or has `on_send(record) -> record` and `on_acknowledgement(metadata,
error)`, and perhaps `configure(configs)` and `close()`. They run one after the other in the order of the setting;
what one raises is logged and goes no further: the next one gets what the last one without failure made of the record
(KIP-42).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka_py.base.plugins import make_plugin
from kafka_py.clients.interceptor_chain import SETTING, InterceptorChain
from kafka_py.clients.producer.batches import NO_OFFSET, NO_TIMESTAMP, Headers, ProducerBatch, RecordMetadata

UNKNOWN_PARTITION = -1


class ProducerRecord(NamedTuple):
    """A record as the application gave it to `send`. `record._replace(value=...)` is a changed one."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers | None = None


class ProducerInterceptor:
    """Base of producer interceptors; `configure(configs)` is called first where there is one."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """The record to send instead; in the thread or task that called `send`."""
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        """A record was acknowledged, or failed: then only topic and partition of `metadata` are known, if that.

        On the producer's own thread, before the callback given to `send`: keep it short.
        """

    def close(self) -> None:
        """The producer is closed."""


class Interceptors(InterceptorChain):
    """The chain of one producer."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """What the chain makes of a record."""
        return self._changed("on_send", record, lambda made: ProducerRecord(*made), f" for topic {record.topic}")

    def on_send_error(self, record: ProducerRecord, error: Exception) -> None:
        """`send` raised: the record is in no batch."""
        partition = UNKNOWN_PARTITION if record.partition is None else record.partition
        self._tell("on_acknowledgement", _failed(record.topic, partition), error)

    def on_answer(self, batch: ProducerBatch) -> None:
        """A batch was answered or given up; nobody else has heard of it yet."""
        lane, error = batch.lane, batch.error
        for index in range(len(batch.details)):
            metadata = batch.metadata(index) if error is None else _failed(lane.topic, lane.partition)
            self._tell("on_acknowledgement", metadata, error)


def interceptors_of(wanted: Iterable[Any], configs: Mapping[str, Any], client_id: str) -> Interceptors | None:
    """The chain that interceptor.classes asks for; None for none. Raises ConfigError for what is no interceptor."""
    settings = {**configs, "client.id": client_id}
    chain = [make_plugin(SETTING, each, ("on_send", "on_acknowledgement"), settings) for each in wanted]
    return Interceptors(chain) if chain else None


def _failed(topic: str, partition: int) -> RecordMetadata:
    return RecordMetadata(topic, partition, NO_OFFSET, NO_TIMESTAMP, -1, -1)

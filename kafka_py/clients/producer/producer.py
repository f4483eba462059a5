"""The producers: `Producer` for blocking code, `AsyncProducer` for asyncio.

    producer = Producer({"bootstrap.servers": "localhost:9092", "linger.ms": 5})
    future = producer.send("topic", b"value", key=b"key")
    print(future.result(10).offset)
    producer.close()

`send` raises errors that are known before a record is accepted (too large, no metadata, no memory); later ones are
reported by its future and callback. A Producer may be shared among threads, an AsyncProducer among tasks. Both wrap a
ProducerCore; each has its own code of `send`, because a shared one would cost one more call per record.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_py.base.errors import KafkaError
from kafka_py.clients.delegation import blocking, delegated
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.errors import IllegalState
from kafka_py.clients.loop import LoopThread
from kafka_py.clients.producer.batches import Callback, Headers, RecordFuture
from kafka_py.clients.producer.core import ProducerCore
from kafka_py.clients.producer.interceptors import ProducerRecord
from kafka_py.clients.producer.transactions.scopes import AsyncTransactionScope, TransactionScope

T = TypeVar("T")


class Producer:
    """Sends records from any thread; an event loop in a separate thread does the work.

    configs: Kafka's producer settings by name; key.serializer and value.serializer may be callables.
    environment: clock, random numbers and network; those of the machine by default.
    """

    def __init__(self, configs: Mapping[str, Any], *, environment: ClientEnvironment = SYSTEM) -> None:
        self._core = ProducerCore(configs, threaded=True, environment=environment)
        self._append = self._core.append
        self._key_serializer = self._core.key_serializer
        self._value_serializer = self._core.value_serializer
        self._converts = self._key_serializer is not None or self._value_serializer is not None
        self._chooses = self._core.accumulator.has_own_partitioner
        self._interceptors = self._core.interceptors
        self._is_plain = not (self._converts or self._chooses or self._interceptors)  # records are appended as given
        self._closing = threading.Lock()
        self._closed = False
        self._thread = LoopThread(f"kafka-producer-network-thread | {self._core.client_id}")
        try:
            self._thread.run(_started(self._core))
        except BaseException:
            self._thread.stop()
            raise

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers | None = None,
        callback: Callback | None = None,
    ) -> RecordFuture:
        """Queues a record for sending; blocks, up to max.block.ms, only while metadata or memory is missing.

        key, value: bytes, bytearray or memoryview, unless there is a serializer. timestamp: ms since the epoch, at
        least 0; now when None. headers: (name, bytes or None) pairs.
        callback: called with (metadata, None) or (None, error) on the producer's own thread; it must not block.
        Raises KafkaError, TypeError or ValueError for an invalid argument, ClientTimeout or BufferExhausted after
        max.block.ms, IllegalState after close(); the record is not sent then, other records are not affected.
        """
        try:
            if self._is_plain:
                future = self._append(topic, key, value, partition, timestamp, headers, callback)
                if future is not None:
                    return future
            if self._interceptors is None:
                return self._convert_and_send(topic, value, key, partition, timestamp, headers, callback)
        except KafkaError:
            self._core.note_refused()
            raise
        record = self._interceptors.on_send(ProducerRecord(topic, value, key, partition, timestamp, headers))
        try:
            return self._convert_and_send(*record, callback)
        except Exception as error:
            if isinstance(error, KafkaError):
                self._core.note_refused()
            self._interceptors.on_send_error(record, error)
            raise

    def _convert_and_send(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | None,
        headers: Headers | None,
        callback: Callback | None,
    ) -> RecordFuture:
        key_bytes, value_bytes, chosen = key, value, partition
        if self._converts:
            if self._key_serializer is not None:
                key_bytes = self._key_serializer(topic, key)
            if self._value_serializer is not None:
                value_bytes = self._value_serializer(topic, value)
        if self._chooses and partition is None:
            chosen = self._core.accumulator.choose(topic, key, key_bytes, value, value_bytes)
        future = None
        if chosen is not None or not self._chooses:
            future = self._append(topic, key_bytes, value_bytes, chosen, timestamp, headers, callback)
        if future is None:
            if self._closed:
                raise IllegalState("the producer is closed")
            record = ProducerRecord(topic, value, key, partition, timestamp, headers)
            return self._run(self._core.send_waiting(record, key_bytes, value_bytes, callback))
        return future

    def send_batch(
        self, topic: str, partition: int, timestamp: int, records: bytes, count: int, callback: Callback
    ) -> bool:
        """Queues a batch of encoded records as Accumulator.append_batch does; never waits.

        False when metadata (partitions_for requests it) or memory is missing: the caller then retries.
        """
        if self._closed:
            raise IllegalState("the producer is closed")
        return self._core.accumulator.append_batch(topic, partition, timestamp, records, count, callback)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(coroutine)

    def flush(self, timeout: float | None = None) -> None:
        """Waits until every record sent so far has completed. Raises ClientTimeout after `timeout` seconds."""
        if not self._closed:
            self._thread.run(self._core.sender.flush(), timeout)

    init_transactions = blocking(ProducerCore.init_transactions)
    resume_transactions = blocking(ProducerCore.resume_transactions)
    begin_transaction = blocking(ProducerCore.begin_transaction)
    send_offsets_to_transaction = blocking(ProducerCore.send_offsets_to_transaction)
    commit_transaction = blocking(ProducerCore.commit_transaction)
    abort_transaction = blocking(ProducerCore.abort_transaction)
    prepare_transaction = blocking(ProducerCore.prepare_transaction)

    def transaction(self) -> TransactionScope[Producer]:
        """A transaction for a `with` block: committed at its end, aborted when an exception leaves it."""
        return TransactionScope(self)

    partitions_for = blocking(ProducerCore.partitions_for)
    metrics = delegated(ProducerCore.metrics)

    def close(self, timeout: float | None = None) -> None:
        """Closes the producer as AsyncProducer.close does, and ends its thread; may be called repeatedly."""
        if self._thread.is_current:
            raise IllegalState("a producer cannot be closed from its own callbacks; close it from another thread")
        with self._closing:
            if self._closed:
                return
            self._closed = True
            try:
                self._thread.run(self._core.close(timeout))
            finally:
                self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _started(core: ProducerCore) -> None:
    core.start()


class AsyncProducer:
    """Sends records on the running event loop. `async with` or the first call starts it.

    environment: clock, random numbers and network; those of the machine by default.
    """

    def __init__(self, configs: Mapping[str, Any], *, environment: ClientEnvironment = SYSTEM) -> None:
        self._core = ProducerCore(configs, threaded=False, environment=environment)

    async def start(self) -> None:
        """Starts connecting to the cluster; otherwise the first `send` does."""
        self._core.start()

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers | None = None,
        callback: Callback | None = None,
    ) -> RecordFuture:
        """Queues a record for sending as Producer.send does; await the returned future for its RecordMetadata."""
        self._core.start()
        interceptors = self._core.interceptors
        record = ProducerRecord(topic, value, key, partition, timestamp, headers)
        if interceptors is not None:
            record = interceptors.on_send(record)
        try:
            return await self._send(record, callback)
        except Exception as error:
            if isinstance(error, KafkaError):
                self._core.note_refused()
            if interceptors is not None:
                interceptors.on_send_error(record, error)
            raise

    async def _send(self, record: ProducerRecord, callback: Callback | None) -> RecordFuture:
        core = self._core
        topic, value, key, partition, timestamp, headers = record
        if core.key_serializer is not None:
            key = core.key_serializer(topic, key)
        if core.value_serializer is not None:
            value = core.value_serializer(topic, value)
        if partition is not None or not core.accumulator.has_own_partitioner:
            future = core.append(topic, key, value, partition, timestamp, headers, callback)
            if future is not None:
                if core.wake_pending:  # a batch was opened: let the sender and other tasks run
                    await asyncio.sleep(0)
                return future
        return await core.send_waiting(record, key, value, callback)

    async def flush(self) -> None:
        """Waits until every record sent so far has completed."""
        self._core.start()
        await self._core.sender.flush()

    init_transactions = delegated(ProducerCore.init_transactions)
    resume_transactions = delegated(ProducerCore.resume_transactions)
    begin_transaction = delegated(ProducerCore.begin_transaction)
    send_offsets_to_transaction = delegated(ProducerCore.send_offsets_to_transaction)
    commit_transaction = delegated(ProducerCore.commit_transaction)
    abort_transaction = delegated(ProducerCore.abort_transaction)
    prepare_transaction = delegated(ProducerCore.prepare_transaction)

    def transaction(self) -> AsyncTransactionScope[AsyncProducer]:
        """A transaction for an `async with` block: committed at its end, aborted when an exception leaves it."""
        return AsyncTransactionScope(self)

    partitions_for = delegated(ProducerCore.partitions_for)
    metrics = delegated(ProducerCore.metrics)

    async def close(self, timeout: float | None = None) -> None:
        """Sends what is queued, for up to `timeout` seconds (None: without limit), then releases all resources.

        What has not been acknowledged by then fails. May be called repeatedly.
        """
        await self._core.close(timeout)

    async def __aenter__(self) -> Self:
        self._core.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

"""`Consumer`, the consumer for blocking code; the one for asyncio is in async_consumer.py.

    consumer = Consumer({"bootstrap.servers": "localhost:9092", "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    while True:
        for record in consumer.poll(1.0):
            print(record.offset, record.value)

Consumer wraps an AsyncConsumer that runs on a loop in a separate thread, which also sends heartbeats while the
application computes. A consumer must not be used by two threads or tasks at the same time, because its positions are
state; only `wakeup` may be called from other threads. The parameters and docstrings of calls are those of
AsyncConsumer, except for `poll`, `wakeup` and `close`, which differ for a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_py.clients.consumer.async_consumer import ITERATION_POLL_S, AsyncConsumer
from kafka_py.clients.consumer.calling_thread import CallingThread
from kafka_py.clients.consumer.core import CLOSE_TIMEOUT_S
from kafka_py.clients.consumer.delivery import Delivery
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
from kafka_py.clients.delegation import blocking, delegated, on_loop
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.errors import ConcurrentModification, IllegalState
from kafka_py.clients.loop import LoopThread

T = TypeVar("T")


class Consumer:
    """Reads the records of partitions; every call blocks until it is done.

    configs: Kafka's consumer settings by name; key.deserializer and value.deserializer may be callables.
    environment: clock, random numbers and network; those of the machine by default.
    """

    def __init__(self, configs: Mapping[str, Any], *, environment: ClientEnvironment = SYSTEM) -> None:
        self._core = AsyncConsumer(configs, environment=environment, call_user=self._call_user)
        self._owner: int | None = None
        self._calls = 0
        self._closed = False
        self._thread = LoopThread(f"kafka-consumer-network-thread | {self._core.client_id}")
        self._caller = CallingThread(self._thread)
        try:
            self._thread.run(self._core.start())
        except BaseException:
            self._thread.stop()
            raise

    async def _call_user(self, function: Any, *arguments: Any) -> Any:
        return await self._caller.call_user(function, *arguments)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, computed on the loop; listeners and callbacks are called in this thread.

        Raises ConcurrentModification during a call of another thread, IllegalState once the consumer is closed.
        """
        me = threading.get_ident()
        if self._owner not in (None, me):
            coroutine.close()
            raise ConcurrentModification
        if self._closed:
            coroutine.close()
            raise IllegalState("the consumer is closed")
        self._owner = me
        self._calls += 1
        try:
            return self._caller.run(coroutine)
        finally:
            self._calls -= 1
            if not self._calls:
                self._owner = None

    subscribe = blocking(AsyncConsumer.subscribe)
    subscription = delegated(AsyncConsumer.subscription)
    assign = blocking(AsyncConsumer.assign)
    unsubscribe = blocking(AsyncConsumer.unsubscribe)
    assignment = delegated(AsyncConsumer.assignment)

    pause = blocking(AsyncConsumer.pause)
    resume = blocking(AsyncConsumer.resume)
    paused = delegated(AsyncConsumer.paused)

    commit = blocking(AsyncConsumer.commit)
    commit_async = on_loop(AsyncConsumer.commit_async)
    committed = blocking(AsyncConsumer.committed)
    group_metadata = delegated(AsyncConsumer.group_metadata)
    enforce_rebalance = on_loop(AsyncConsumer.enforce_rebalance)

    seek = blocking(AsyncConsumer.seek)
    seek_to_beginning = blocking(AsyncConsumer.seek_to_beginning)
    seek_to_end = blocking(AsyncConsumer.seek_to_end)
    position = blocking(AsyncConsumer.position)
    lag = delegated(AsyncConsumer.lag)

    offsets_for_times = blocking(AsyncConsumer.offsets_for_times)
    beginning_offsets = blocking(AsyncConsumer.beginning_offsets)
    end_offsets = blocking(AsyncConsumer.end_offsets)
    partitions_for = blocking(AsyncConsumer.partitions_for)
    list_topics = blocking(AsyncConsumer.list_topics)
    metrics = delegated(AsyncConsumer.metrics)

    def poll(self, timeout: float = 0.0) -> ConsumerRecords:
        """As AsyncConsumer.poll: fetched records; waits up to `timeout` seconds if there are none."""
        return self._deliver(timeout).hand_out(self._core.interceptors)  # one statement, see delivery.py

    def _deliver(self, timeout: float) -> Delivery:
        return self._run(self._core.deliver(timeout))

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Iterates over all records, waiting for new ones without limit.

        The position moves past a record when the iterator returns it.
        """
        return _RecordIterator(self)

    def wakeup(self) -> None:
        """Lets the call that is waiting, or the next one, raise WakeupError; for other threads and signal handlers."""
        self._thread.post(self._core.wakeup)

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Closes the consumer as AsyncConsumer.close does, and ends its thread; may be called repeatedly."""
        if not self._closed:
            try:
                self._run(self._core.close(timeout))
            except ConcurrentModification:
                raise
            except BaseException:
                self._end()
                raise
            self._end()

    def _end(self) -> None:
        self._closed = True
        self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _RecordIterator:
    """An iterator over all records; it can be used again after an error or an interrupt."""

    __slots__ = ("_consumer", "_parts", "_records")

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._parts: Iterator[Iterator[ConsumerRecord]] = iter(())
        self._records: Iterator[ConsumerRecord] = iter(())

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self

    def __next__(self) -> ConsumerRecord:
        for record in self._records:  # done for every record
            return record
        return self._next_of_other_partition()

    def _next_of_other_partition(self) -> ConsumerRecord:
        consumer = self._consumer
        while True:
            for records in self._parts:
                self._records = records
                for record in records:
                    return record
            self._parts = consumer._deliver(ITERATION_POLL_S).one_by_one(consumer._core.interceptors)

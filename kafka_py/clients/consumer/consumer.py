"""`Consumer`, the consumer for blocking code; the one for asyncio is in async_consumer.py.

    consumer = Consumer({"bootstrap.servers": "localhost:9092", "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    while True:
        for record in consumer.poll(1.0):
            print(record.offset, record.value)

AsyncConsumer does the work, on the running loop; Consumer runs one on a loop in a thread of its own, which also keeps
the consumer in its group while the application computes. Neither may be used by two threads or tasks at once, as
positions are state: only `wakeup` is safe to call from elsewhere.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.consumer.async_consumer import AsyncConsumer, Offsets
from kafka_py.clients.consumer.calling_thread import CallingThread
from kafka_py.clients.consumer.committer import Callback
from kafka_py.clients.consumer.core import CLOSE_TIMEOUT_S, ITERATION_POLL_S
from kafka_py.clients.consumer.delivery import Delivery
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords, OffsetAndTimestamp
from kafka_py.clients.consumer.listener import RebalanceListener
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.errors import ConcurrentModification, IllegalState
from kafka_py.clients.loop import LoopThread
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.clients.metrics import MetricValues
from kafka_py.clients.offsets import OffsetAndMetadata

T = TypeVar("T")


class Consumer:
    """Reads partitions, record by record; every call blocks until it is done.

    configs: Kafka's consumer settings by name; key.deserializer and value.deserializer may be callables.
    environment: time, chance and network; the machine's own unless given.
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
        """Has the loop do it, for one thread at a time; listeners and callbacks are called in this thread."""
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

    def subscribe(
        self,
        topics: Collection[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Reads what the group gives it of these topics, or of all topics whose whole name matches `pattern`.

        Replaces an earlier subscription; no topics and no pattern is as `unsubscribe`. The group is joined by `poll`.
        """
        self._run(self._core.subscribe(topics, pattern=pattern, listener=listener))

    def subscription(self) -> set[str]:
        """The topics subscribed to, by name or by pattern."""
        return self._core.subscription()

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Reads exactly these partitions from now on; none of them is as `unsubscribe`."""
        self._run(self._core.assign(partitions))

    def unsubscribe(self) -> None:
        """Reads nothing any more, and leaves the group."""
        self._run(self._core.unsubscribe())

    def assignment(self) -> set[TopicPartition]:
        """The partitions being read."""
        return self._core.assignment()

    def poll(self, timeout: float = 0.0) -> ConsumerRecords:
        """Records that are there, at most max.poll.records; waits `timeout` seconds for the first ones.

        Carries on what the group asks for: joins, rebalances (listeners are called in here), automatic commits.
        Raises KafkaError where reading cannot go on by itself, WakeupError after `wakeup`.
        """
        return self._deliver(timeout).hand_out(self._core.interceptors)  # not a statement more: see delivery.py

    def _deliver(self, timeout: float) -> Delivery:
        return self._run(self._core.deliver(timeout))

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """All records, waiting for new ones forever. Each one counts as handed out when the iterator returns it."""
        return _Records(self)

    def wakeup(self) -> None:
        """Makes a call that waits, or the next one, raise WakeupError; for other threads and signal handlers."""
        self._thread.post(self._core.wakeup)

    def commit(self, offsets: Offsets | None = None, timeout: float | None = None) -> None:
        """Stores in the group how far it has read: these offsets, or all that poll has returned.

        Tried again until it succeeds. Raises CommitFailed when partitions were given to others meanwhile,
        RebalanceInProgress, ClientTimeout, KafkaError.
        """
        self._run(self._core.commit(offsets, timeout))

    def commit_async(self, offsets: Offsets | None = None, callback: Callback | None = None) -> None:
        """As `commit`, without waiting, and without trying again.

        callback: called inside of a later poll, commit or close with the offsets and the KafkaError or None.
        """

        async def begin() -> None:
            self._core.commit_async(offsets, callback)

        self._run(begin())

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed, by this consumer or another; None where it has nothing."""
        return self._run(self._core.committed(partitions, timeout))

    def group_metadata(self) -> GroupMetadata:
        """This consumer as its group knows it now, for a transactional producer."""
        return self._core.group_metadata()

    def enforce_rebalance(self) -> None:
        """Has the next poll join the group again, for a reason that only the application knows."""

        async def enforce() -> None:
            self._core.enforce_rebalance()

        self._run(enforce())

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Goes on at `offset`."""
        self._run(self._core.seek(partition, offset))

    def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Goes on at the first record of these partitions (of all when none is named)."""
        self._run(self._core.seek_to_beginning(partitions))

    def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Goes on after the last record of these partitions (of all when none is named)."""
        self._run(self._core.seek_to_end(partitions))

    def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that poll returns; waits for it where it has to be looked up."""
        return self._run(self._core.position(partition, timeout))

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Returns no records of these until `resume`."""
        self._run(self._core.pause(partitions))

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Undoes `pause`."""
        self._run(self._core.resume(partitions))

    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return self._core.paused()

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Per partition the first record at or after a time (ms UTC); None where there is none."""
        return self._run(self._core.offsets_for_times(timestamps, timeout))

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the first record still there."""
        return self._run(self._core.beginning_offsets(partitions, timeout))

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the record to come next; with read_committed, of the first that is not yet stable."""
        return self._run(self._core.end_offsets(partitions, timeout))

    def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        """The topic's partitions; empty when there is no such topic."""
        return self._run(self._core.partitions_for(topic, timeout))

    def list_topics(self, timeout: float | None = None) -> dict[str, list[PartitionInfo]]:
        """All topics and their partitions."""
        return self._run(self._core.list_topics(timeout))

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end, as of the last fetch; None before the first."""
        return self._core.lag(partition)

    def metrics(self) -> MetricValues:
        """All that this consumer counts, under Kafka's names."""
        return self._core.metrics()

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Commits what is committed automatically, leaves the group, lets go of everything; may be called again.

        timeout: seconds for what needs an answer; what is not done by then is not done.
        """
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


class _Records:
    """An iterator over all records; an error or an interrupt does not end it."""

    __slots__ = ("_consumer", "_parts", "_records")

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._parts: Iterator[Iterator[ConsumerRecord]] = iter(())
        self._records: Iterator[ConsumerRecord] = iter(())

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self

    def __next__(self) -> ConsumerRecord:
        for record in self._records:  # the path of every record
            return record
        return self._next_of_another()

    def _next_of_another(self) -> ConsumerRecord:
        consumer = self._consumer
        while True:
            for records in self._parts:
                self._records = records
                for record in records:
                    return record
            self._parts = consumer._deliver(ITERATION_POLL_S).one_by_one(consumer._core.interceptors)

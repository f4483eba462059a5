"""The consumer's calls, for asyncio: subscription, assignment, positions, commits, look-ups. See consumer.py."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.consumer.committer import Callback, CallUser, call_here
from kafka_py.clients.consumer.core import ConsumerCore
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords, OffsetAndTimestamp
from kafka_py.clients.consumer.listener import RebalanceListener
from kafka_py.clients.consumer.lookups import Lookups
from kafka_py.clients.consumer.subscriptions import SubscriptionType
from kafka_py.clients.delegation import delegated
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.errors import ClientTimeout, IllegalState
from kafka_py.clients.loop import wait_until_set
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.clients.metrics import MetricValues
from kafka_py.clients.offsets import OffsetAndMetadata

T = TypeVar("T")

Offsets = Mapping[TopicPartition, OffsetAndMetadata | int]
"""Offsets to commit, of the next record to read; a plain number has neither metadata nor epoch."""


ITERATION_POLL_S = 1.0
"""How long one poll of an iteration over a consumer waits; the iteration itself waits forever."""


class AsyncConsumer:
    """Reads partitions on the running loop. `async with` or `start` starts it.

    Only one task at a time may poll.
    call_user: calls the application's code (rebalance listeners, commit callbacks); directly on the loop by default.
    """

    def __init__(
        self,
        configs: Mapping[str, Any],
        *,
        environment: ClientEnvironment = SYSTEM,
        call_user: CallUser = call_here,
    ) -> None:
        """Raises ConfigError."""
        self._core = core = ConsumerCore(configs, environment=environment, call_user=call_user)
        self.options = core.options
        self.client_id = core.client_id
        self.interceptors = core.interceptors
        self.deliver = core.deliver
        self._subscriptions = core.subscriptions

    async def start(self) -> None:
        """Starts connecting to the cluster; otherwise the first other call does."""
        self._core.started()

    # ---- reading

    async def poll(self, timeout: float = 0.0) -> ConsumerRecords:
        """Fetched records, at most max.poll.records; waits up to `timeout` seconds if there are none.

        Also joins the group, rebalances (listeners are called during poll) and commits automatically.
        Raises KafkaError where reading needs a decision of the application, WakeupError after `wakeup`, IllegalState
        without subscription and assignment, ConcurrentModification when another task polls.
        """
        delivery = await self._core.deliver(timeout)
        return delivery.hand_out(self.interceptors)  # no await after this: the positions have moved

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Iterates over all records, waiting for new ones without limit.

        The position moves past a record when the iterator returns it.
        """
        return _AsyncRecordIterator(self)

    wakeup = delegated(ConsumerCore.wakeup)

    # ---- what to read

    async def subscribe(
        self,
        topics: Collection[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Subscribes as a member of the group to these topics, or to all topics whose whole name matches `pattern`.

        Replaces an earlier subscription; without topics and pattern the same as `unsubscribe`. `poll` joins the group.
        Raises KafkaError(INVALID_GROUP_ID) without group.id, IllegalState after `assign`.
        """
        group = self._core.membership()
        if isinstance(topics, str):
            raise ValueError(f"topics are a collection of names, not {topics!r}")
        if pattern is not None and topics:
            raise IllegalState("subscribe takes either topics or a pattern")
        if any(not isinstance(topic, str) or not topic.strip() for topic in topics):
            raise ValueError("each topic to subscribe to must be a non-empty name")
        if pattern is not None:
            self._subscriptions.subscribe_pattern(re.compile(pattern))
        elif topics:
            self._subscriptions.subscribe(topics)
        else:
            await self.unsubscribe()
            return
        group.subscribe(listener)

    def subscription(self) -> set[str]:
        """The topics subscribed to, by name or by pattern."""
        return set(self._subscriptions.subscribed)

    async def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Reads exactly these partitions from now on; without partitions the same as `unsubscribe`.

        Raises IllegalState on a consumer that subscribes.
        """
        running = self._core.started()
        partitions = [TopicPartition(*partition) for partition in partitions]
        for partition in partitions:
            if not partition.topic or partition.partition < 0:
                raise ValueError(f"not a partition to read: {partition!r}")
        if not partitions:
            await self.unsubscribe()
            return
        before = self._subscriptions.topics()
        if running.group is not None and self._subscriptions.type is SubscriptionType.USER_ASSIGNED:
            running.group.committer.commit_if_due()
        self._subscriptions.assign(partitions)
        if self._subscriptions.topics() - before:
            running.cluster.request_refresh(at_once=True)
        running.fetcher.step()

    async def unsubscribe(self) -> None:
        """Drops the subscription or assignment and leaves the group."""
        try:
            if self._core.group is not None:
                await self._core.group.unsubscribe()
        finally:
            self._subscriptions.unsubscribe()

    def assignment(self) -> set[TopicPartition]:
        """The assigned partitions."""
        return self._subscriptions.partitions()

    async def pause(self, partitions: Collection[TopicPartition]) -> None:
        """`poll` returns no records of these partitions until `resume`."""
        for partition in partitions:
            self._subscriptions.of(partition).pause()

    async def resume(self, partitions: Collection[TopicPartition]) -> None:
        """`poll` returns records of these partitions again."""
        for partition in partitions:
            self._subscriptions.of(partition).resume()
        self._core.started().fetcher.step()
        self._core.news.set()

    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return self._subscriptions.paused()

    # ---- commits

    def _offsets(self, offsets: Offsets | None) -> dict[TopicPartition, OffsetAndMetadata]:
        if offsets is None:
            return self._subscriptions.consumed()
        made = {
            TopicPartition(*partition): each if isinstance(each, OffsetAndMetadata) else OffsetAndMetadata(each)
            for partition, each in offsets.items()
        }
        for partition, each in made.items():
            if each.offset < 0:
                raise ValueError(f"Invalid negative offset {each.offset} for {partition}")
        return made

    async def commit(self, offsets: Offsets | None = None, timeout: float | None = None) -> None:
        """Commits these offsets, or the positions after all records that poll has returned.

        Retried until it succeeds, for up to `timeout` seconds (None: default.api.timeout.ms). Raises CommitFailed when
        partitions were reassigned to other members meanwhile, RebalanceInProgress, ClientTimeout, KafkaError.
        """
        group = self._core.membership()
        committing = group.committer.commit(self._offsets(offsets), self._timeout_ms(timeout))
        await self._core.until_woken(committing)

    def commit_async(self, offsets: Offsets | None = None, callback: Callback | None = None) -> None:
        """As `commit`, but neither waits nor retries.

        callback: called with the offsets and the KafkaError or None, during a later poll, commit or close.
        """
        self._core.membership().committer.commit_async(self._offsets(offsets), callback)

    async def committed(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's committed offsets of these partitions, by whichever member; None where there is none."""
        offsets = self._core.membership().offsets
        return await self._core.until_woken(offsets.fetch(list(partitions), self._timeout_ms(timeout)))

    def group_metadata(self) -> GroupMetadata:
        """The present group metadata of this consumer, for a transactional producer (KIP-447)."""
        return self._core.membership().rebalancing.metadata()

    def enforce_rebalance(self) -> None:
        """The next poll joins the group again (KIP-568)."""
        if not self._subscriptions.by_group:
            raise IllegalState("a rebalance can only be enforced by a consumer that subscribes as part of a group")
        self._core.membership().member.request_rejoin("the application enforced a rebalance")

    # ---- positions

    async def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """The next record returned is the first at or after `offset`.

        Raises IllegalState for a partition that is not assigned, ValueError for a negative offset.
        """
        offset, epoch = (offset.offset, offset.leader_epoch) if isinstance(offset, OffsetAndMetadata) else (offset, -1)
        if offset < 0:
            raise ValueError(f"cannot seek {partition} to {offset}: offsets are not negative")
        self._subscriptions.of(partition).seek(offset, epoch)
        self._core.started().fetcher.step()

    async def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Moves the position of these partitions (of all assigned ones if none is named) to the log start offset."""
        self._reset_all(partitions, EARLIEST_TIMESTAMP)

    async def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Moves the position of these partitions (of all assigned ones if none is named) to the end offset."""
        self._reset_all(partitions, LATEST_TIMESTAMP)

    def _reset_all(self, partitions: Collection[TopicPartition], timestamp: int) -> None:
        states = [self._subscriptions.of(partition) for partition in partitions or self.assignment()]
        for state in states:
            state.reset(timestamp)

    async def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that poll returns; waits, up to `timeout` seconds, while it is looked up.

        Raises IllegalState for a partition that is not assigned, ClientTimeout, NoOffsetForPartition.
        """
        positions = self._core.started().positions
        deadline_ms = self._core.clock.monotonic_ms() + self._timeout_ms(timeout)
        while True:
            state = self._subscriptions.of(partition)
            if state.position is not None:
                return state.position
            self._core.raise_if_interrupted(positions)
            self._core.news.clear()
            positions.begin()
            if not await wait_until_set(self._core.news, deadline_ms - self._core.clock.monotonic_ms()):
                raise ClientTimeout(
                    f"the position in {partition} was not found within {self._timeout_ms(timeout):.0f} ms"
                )

    def lag(self, partition: TopicPartition) -> int | None:
        """Number of records from the position to the end offset, as of the last fetch; None before the first fetch.

        With read_committed the end is the last stable offset.
        """
        return self._subscriptions.of(partition).lag(committed=self.options.reads_committed)

    # ---- look-ups

    def _timeout_ms(self, timeout: float | None) -> float:
        return self.options.default_api_timeout_ms if timeout is None else timeout * 1000

    def _ask(self, question: Callable[[Lookups], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        return self._core.until_woken(question(self._core.started().lookups))

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Per partition the first record with a timestamp at or after the given one (ms UTC); None without one."""
        return await self._ask(lambda ask: ask.offsets_for_times(timestamps, self._timeout_ms(timeout)))

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The log start offsets (inclusive)."""
        return await self._ask(lambda ask: ask.ends(partitions, EARLIEST_TIMESTAMP, self._timeout_ms(timeout)))

    async def end_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The end offsets (exclusive): the high watermark; with read_committed the last stable offset."""
        return await self._ask(lambda ask: ask.ends(partitions, LATEST_TIMESTAMP, self._timeout_ms(timeout)))

    async def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        """The topic's partitions; empty when there is no such topic.

        Raises KafkaError for a topic that is not authorized or has an invalid name, ClientTimeout.
        """
        return await self._ask(lambda ask: ask.partitions_for(topic, self._timeout_ms(timeout)))

    async def list_topics(self, timeout: float | None = None) -> dict[str, list[PartitionInfo]]:
        """All topics and their partitions."""
        return await self._ask(lambda ask: ask.list_topics(self._timeout_ms(timeout)))

    def metrics(self) -> MetricValues:
        """The values of this consumer's metrics, under Kafka's names."""
        return self._core.metrics.values()

    # ---- end

    close = delegated(ConsumerCore.close)

    async def __aenter__(self) -> Self:
        self._core.started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _AsyncRecordIterator:
    """An iterator over all records; it can be used again after an error or a cancellation."""

    __slots__ = ("_consumer", "_parts", "_records")

    def __init__(self, consumer: AsyncConsumer) -> None:
        self._consumer = consumer
        self._parts: Iterator[Iterator[ConsumerRecord]] = iter(())
        self._records: Iterator[ConsumerRecord] = iter(())

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        return self

    async def __anext__(self) -> ConsumerRecord:
        for record in self._records:
            return record
        while True:
            for records in self._parts:
                self._records = records
                for record in records:
                    return record
            delivery = await self._consumer.deliver(ITERATION_POLL_S)
            self._parts = delivery.one_by_one(self._consumer.interceptors)

"""The consumer itself, on an event loop: subscription, assignment, positions, polling, commits. See consumer.py."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_py.base.clock import Clock, SystemClock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.connections import Connect
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.consumer.committer import Callback, CallUser, call_here
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.fetched import Decoding
from kafka_py.clients.consumer.fetcher import Fetcher
from kafka_py.clients.consumer.interceptors import Interceptors
from kafka_py.clients.consumer.listener import RebalanceListener
from kafka_py.clients.consumer.lookups import Lookups, WantedTopics
from kafka_py.clients.consumer.membership import Membership
from kafka_py.clients.consumer.metrics import PollMetrics
from kafka_py.clients.consumer.offsets import OffsetLookup
from kafka_py.clients.consumer.positions import Positions
from kafka_py.clients.consumer.records import ConsumerRecord, ConsumerRecords, OffsetAndTimestamp
from kafka_py.clients.consumer.subscriptions import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Kind, Subscriptions
from kafka_py.clients.errors import ClientTimeout, ConcurrentModification, IllegalState, WakeupError
from kafka_py.clients.loop import wait_until_set
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.clients.metrics import CONSUMER, ClientMetrics, MetricValues
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.clients.serialization import deserializer

T = TypeVar("T")
_numbers = itertools.count(1)

Offsets = Mapping[TopicPartition, OffsetAndMetadata | int]
"""Offsets to commit: of the next record to read; a mere number has neither metadata nor epoch."""

CLOSE_TIMEOUT_S = 30.0


class AsyncConsumer:
    """Reads partitions on the running loop. Start it with `async with`, or by `start`.

    One task at a time polls. call_user: how the application's own code is called (rebalance listeners, commit
    callbacks, interceptors); here, unless told otherwise.
    """

    def __init__(
        self,
        configs: Mapping[str, Any],
        *,
        clock: Clock | None = None,
        connect: Connect | None = None,
        call_user: CallUser = call_here,
    ) -> None:
        """Raises ConfigError."""
        self._configs = configs
        self.options = ConsumerOptions.load(configs)
        self.client_id = self.options.client_id or self._default_client_id()
        self._clock = clock or SystemClock()
        self._connect = connect
        self._call_user = call_user
        self._subscriptions = Subscriptions()
        self._decoding = Decoding(
            deserializer("key.deserializer", self.options.key_deserializer, configs),
            deserializer("value.deserializer", self.options.value_deserializer, configs),
            check_crcs=self.options.check_crcs,
            reads_committed=self.options.reads_committed,
        )
        self.interceptors = Interceptors(self.options.interceptor_classes, configs)
        self._metrics = ClientMetrics(self.options, self.client_id, self._clock, CONSUMER)
        self._polls = PollMetrics(self._metrics)
        self._wanted = WantedTopics()
        self._news = asyncio.Event()
        self._interruptible: set[asyncio.Task[Any]] = set()
        self._woken = False
        self._polling = False
        self._started = False
        self._closing = False
        self._closed = False
        self._group: Membership | None = None
        self._cluster: Cluster
        self._positions: Positions
        self._lookups: Lookups
        self._fetcher: Fetcher

    def _default_client_id(self) -> str:
        options = self.options
        if options.group_id is None:
            return f"consumer-{next(_numbers)}"
        return f"consumer-{options.group_id}-{options.group_instance_id or next(_numbers)}"

    async def start(self) -> None:
        """Begins to look for the cluster; other calls do so too."""
        self._ensure_started()

    def _ensure_started(self) -> None:
        if self._closed:
            raise IllegalState("This consumer has already been closed.")
        if self._started:
            return
        options = self.options
        self._cluster = cluster = Cluster(
            options, self.client_id, wanted=self._wanted_topics, auto_create=options.allow_auto_create_topics,
            clock=self._clock, connect=self._connect, metrics=self._metrics,
        )  # fmt: skip
        if options.group_id is not None:
            self._group = Membership(
                options, self._configs, options.group_id, cluster, self._subscriptions, self.interceptors, self._clock,
                self._metrics, call_user=self._call_user, on_news=self._news.set,
            )  # fmt: skip
        lookup = OffsetLookup(options, cluster)
        offsets = self._group.offsets if self._group is not None else None
        self._positions = Positions(options, self._subscriptions, lookup, offsets, self._on_positions)
        self._lookups = Lookups(cluster, lookup, self._wanted)
        self._fetcher = Fetcher(
            options, cluster, self._subscriptions, self._decoding, self._metrics, self._news.set,
            self._positions.reset_by_policy,
        )  # fmt: skip
        cluster.on_update(lambda _view: self._fetcher.step())
        cluster.start()
        self._started = True

    def _wanted_topics(self) -> Collection[str] | None:
        if self._wanted.all or self._subscriptions.kind is Kind.PATTERN:
            return None
        return self._subscriptions.topics() | self._wanted.names

    def _on_positions(self) -> None:
        self._news.set()
        self._fetcher.step()

    def _membership(self) -> Membership:
        """The place in the group. Raises KafkaError(INVALID_GROUP_ID) without one."""
        self._ensure_started()
        if self._group is None:
            raise KafkaError(
                ErrorCode.INVALID_GROUP_ID,
                "To use the group management or offset commit APIs, you must provide a valid group.id in the consumer "
                "configuration.",
            )
        return self._group

    # What to read

    async def subscribe(
        self,
        topics: Collection[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Reads what the group gives it of these topics, or of all topics whose whole name matches `pattern`.

        Replaces an earlier subscription; no topics and no pattern is as `unsubscribe`. The group is joined by `poll`.
        Raises KafkaError(INVALID_GROUP_ID) without group.id, IllegalState after `assign`.
        """
        group = self._membership()
        if isinstance(topics, str):
            raise ValueError(f"topics are a collection of names, not {topics!r}")
        if pattern is not None and topics:
            raise IllegalState("Subscription to topics, partitions and pattern are mutually exclusive")
        if any(not isinstance(topic, str) or not topic.strip() for topic in topics):
            raise ValueError("Topic collection to subscribe to cannot contain null or empty topic")
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
        """Reads exactly these partitions from now on; none of them is as `unsubscribe`.

        Raises IllegalState on a consumer that subscribes.
        """
        self._ensure_started()
        partitions = [TopicPartition(*partition) for partition in partitions]
        for partition in partitions:
            if not partition.topic or partition.partition < 0:
                raise ValueError(f"not a partition to read: {partition!r}")
        if not partitions:
            await self.unsubscribe()
            return
        before = self._subscriptions.topics()
        if self._group is not None and self._subscriptions.kind is Kind.USER_ASSIGNED:
            self._group.committer.commit_if_due()
        self._subscriptions.assign(partitions)
        if self._subscriptions.topics() - before:
            self._cluster.request_refresh(at_once=True)
        self._fetcher.step()

    async def unsubscribe(self) -> None:
        """Reads nothing any more, and leaves the group."""
        try:
            if self._group is not None:
                await self._group.unsubscribe()
        finally:
            self._subscriptions.unsubscribe()

    def assignment(self) -> set[TopicPartition]:
        """The partitions being read."""
        return self._subscriptions.partitions()

    async def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Returns no records of these until `resume`."""
        for partition in partitions:
            self._subscriptions.of(partition).paused = True

    async def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Undoes `pause`."""
        for partition in partitions:
            self._subscriptions.of(partition).paused = False
        self._fetcher.step()
        self._news.set()

    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return self._subscriptions.paused()

    # Reading

    async def poll(self, timeout: float = 0.0) -> ConsumerRecords:
        """Records that are there, at most max.poll.records; waits `timeout` seconds for the first ones.

        Carries on what the group asks for: joins, rebalances (listeners are called in here), automatic commits.
        Raises KafkaError where reading cannot go on by itself, WakeupError after `wakeup`, IllegalState when nothing
        is subscribed to or assigned, ConcurrentModification when another task polls.
        """
        records = await self.poll_plain(timeout)
        return self.interceptors.on_consume(records) if self.interceptors and records else records

    async def poll_plain(self, timeout: float = 0.0) -> ConsumerRecords:
        """`poll` without interceptors."""
        self._ensure_started()
        self._subscriptions.check_not_empty()
        if self._polling:
            raise ConcurrentModification
        self._polling = True
        now_ms = self._clock.monotonic_ms()
        self._polls.begin(now_ms)
        member = self._group.member if self._group is not None else None
        if member is not None:
            member.polling = True
        try:
            return await self._poll(now_ms + timeout * 1000)
        finally:
            self._polling = False
            self._polls.end(self._clock.monotonic_ms())
            if member is not None:
                member.polling = False
                member.note_poll()

    async def _poll(self, deadline_ms: float) -> ConsumerRecords:
        group = self._group
        while True:
            self._news.clear()
            self._raise_what_waits()
            if group is not None:
                await group.attend()
            self._positions.begin()
            records = self._fetcher.collect(self.options.max_poll_records)
            self._fetcher.step()
            if records:
                await asyncio.sleep(0)  # a busy reader must not keep the loop from reading on
                return records
            now_ms = self._clock.monotonic_ms()
            if deadline_ms <= now_ms:
                return records
            until_ms = deadline_ms if group is None else min(deadline_ms, group.committer.due_ms)
            await wait_until_set(self._news, until_ms - now_ms)

    def _raise_what_waits(self) -> None:
        if self._woken:
            self._woken = False
            raise WakeupError
        self._positions.raise_error()

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """All records, waiting for new ones forever."""
        while True:
            for record in await self.poll(1.0):
                yield record

    def wakeup(self) -> None:
        """Makes a poll that waits, another call that waits, or the next one, raise WakeupError. On this loop only."""
        self._woken = True
        self._news.set()
        for task in self._interruptible:
            task.cancel()

    async def _until_woken(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. Raises WakeupError after `wakeup`."""
        if self._woken:
            self._woken = False
            coroutine.close()
            raise WakeupError
        task = asyncio.get_running_loop().create_task(coroutine)
        self._interruptible.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self._woken and task.cancelled():
                self._woken = False
                raise WakeupError from None
            raise
        finally:
            self._interruptible.discard(task)

    # Commits

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
        """Stores in the group how far it has read: these offsets, or all that poll has returned.

        Tried again until it succeeds. Raises CommitFailed when partitions were given to others meanwhile,
        RebalanceInProgress, ClientTimeout, KafkaError.
        """
        group = self._membership()
        committing = group.committer.commit(self._offsets(offsets), self._timeout_ms(timeout))
        await self._until_woken(committing)

    def commit_async(self, offsets: Offsets | None = None, callback: Callback | None = None) -> None:
        """As `commit`, without waiting, and without trying again.

        callback: called inside of a later poll, commit or close with the offsets and the KafkaError or None.
        """
        self._membership().committer.commit_async(self._offsets(offsets), callback)

    async def committed(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed, by this consumer or another; None where it has nothing."""
        offsets = self._membership().offsets
        return await self._until_woken(offsets.fetch(list(partitions), self._timeout_ms(timeout)))

    def group_metadata(self) -> GroupMetadata:
        """This consumer as its group knows it now, for a transactional producer."""
        return self._membership().rebalancing.metadata()

    def enforce_rebalance(self) -> None:
        """Has the next poll join the group again, for a reason that only the application knows (KIP-568)."""
        if not self._subscriptions.by_group:
            raise IllegalState("Tried to force a rebalance but consumer does not have a group.")
        self._membership().member.request_rejoin("the application enforced a rebalance")

    # Positions

    async def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Goes on at `offset`. Raises IllegalState for a partition that is not assigned."""
        offset, epoch = (offset.offset, offset.leader_epoch) if isinstance(offset, OffsetAndMetadata) else (offset, -1)
        if offset < 0:
            raise ValueError("seek offset must not be a negative number")
        self._subscriptions.of(partition).seek(offset, epoch)
        self._fetcher.step()

    async def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Goes on at the first record of these partitions (of all when none is named)."""
        self._reset_all(partitions, EARLIEST_TIMESTAMP)

    async def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Goes on after the last record of these partitions (of all when none is named)."""
        self._reset_all(partitions, LATEST_TIMESTAMP)

    def _reset_all(self, partitions: Collection[TopicPartition], timestamp: int) -> None:
        states = [self._subscriptions.of(partition) for partition in partitions or self.assignment()]
        for state in states:
            state.reset(timestamp)

    async def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that poll returns; waits for it where it has to be looked up.

        Raises IllegalState for a partition that is not assigned, ClientTimeout, NoOffsetForPartition.
        """
        self._ensure_started()
        deadline_ms = self._clock.monotonic_ms() + self._timeout_ms(timeout)
        while True:
            state = self._subscriptions.of(partition)
            if state.position is not None:
                return state.position
            self._raise_what_waits()
            self._news.clear()
            self._positions.begin()
            if not await wait_until_set(self._news, deadline_ms - self._clock.monotonic_ms()):
                raise ClientTimeout(
                    f"Timeout of {self._timeout_ms(timeout):.0f} ms expired before the position for partition "
                    f"{partition} could be determined"
                )

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end, as of the last fetch; None before the first."""
        return self._subscriptions.of(partition).lag(committed=self.options.reads_committed)

    # Look-ups

    def _timeout_ms(self, timeout: float | None) -> float:
        return self.options.default_api_timeout_ms if timeout is None else timeout * 1000

    def _ask(self, question: Callable[[Lookups], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        self._ensure_started()
        return self._until_woken(question(self._lookups))

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Per partition the first record at or after a time (ms UTC); None where there is none."""
        return await self._ask(lambda ask: ask.offsets_for_times(timestamps, self._timeout_ms(timeout)))

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the first record still there."""
        return await self._ask(lambda ask: ask.ends(partitions, EARLIEST_TIMESTAMP, self._timeout_ms(timeout)))

    async def end_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the record to come next; with read_committed, of the first that is not yet stable."""
        return await self._ask(lambda ask: ask.ends(partitions, LATEST_TIMESTAMP, self._timeout_ms(timeout)))

    async def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        """The topic's partitions; empty when there is no such topic.

        Raises KafkaError for a topic that may not be seen or has an impossible name, ClientTimeout.
        """
        return await self._ask(lambda ask: ask.partitions_for(topic, self._timeout_ms(timeout)))

    async def list_topics(self, timeout: float | None = None) -> dict[str, list[PartitionInfo]]:
        """All topics and their partitions."""
        return await self._ask(lambda ask: ask.list_topics(self._timeout_ms(timeout)))

    def metrics(self) -> MetricValues:
        """All that this consumer counts, under Kafka's names."""
        return self._metrics.values()

    # End

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Commits what is committed automatically, leaves the group, lets go of everything; may be called again.

        timeout: seconds for what needs an answer; what is not done by then is not done.
        Raises what a rebalance listener or a callback raises, after all is closed.
        """
        if self._closed or self._closing:
            return
        self._closing = True
        try:
            if self._group is not None:
                await self._group.close(timeout * 1000)  # a listener may still commit
        finally:
            self._closed = True
            await self._let_go()

    async def _let_go(self) -> None:
        if self._started:
            self._positions.close()
            self._fetcher.close()
            self.interceptors.close()
            await self._cluster.close()

    async def __aenter__(self) -> Self:
        self._ensure_started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

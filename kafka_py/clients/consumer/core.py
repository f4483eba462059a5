"""The parts of a consumer put together on an event loop: poll, wakeup, close. async_consumer.py has the other calls.

Assignments and positions change, and the application's code is called, only during poll (or another call that the
application waits for), never concurrently with the application.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.committer import CallUser, call_here
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.delivery import Delivery
from kafka_py.clients.consumer.fetching.fetched import Decoding
from kafka_py.clients.consumer.fetching.fetcher import Fetcher
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
from kafka_py.clients.consumer.interceptors import ConsumerInterceptors
from kafka_py.clients.consumer.lookups import Lookups, WantedTopics
from kafka_py.clients.consumer.membership import GroupMembership
from kafka_py.clients.consumer.metrics import PollMetrics
from kafka_py.clients.consumer.offsets import ListOffsetsLookup
from kafka_py.clients.consumer.positions import PositionLookup
from kafka_py.clients.consumer.subscriptions import Subscriptions, SubscriptionType
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.errors import ConcurrentModification, IllegalState, WakeupError
from kafka_py.clients.loop import wait_until_set
from kafka_py.clients.metrics import CONSUMER, ClientMetrics
from kafka_py.clients.serialization import deserializer

T = TypeVar("T")
_numbers = itertools.count(1)

CLOSE_TIMEOUT_S = 30.0
ITERATION_POLL_S = 1.0
"""How long one poll of an iteration over a consumer waits; the iteration itself waits forever."""


class ConsumerCore:
    """A consumer without its calls on partitions, offsets and groups."""

    def __init__(
        self,
        configs: Mapping[str, Any],
        *,
        environment: ClientEnvironment = SYSTEM,
        call_user: CallUser = call_here,
    ) -> None:
        """Raises ConfigError."""
        self._configs = configs
        self.options = ConsumerOptions.load(configs)
        self.client_id = self.options.client_id or self._default_client_id()
        self._environment = environment
        self._clock = environment.clock
        self._call_user = call_user
        self._subscriptions = Subscriptions()
        self._decoding = Decoding(
            deserializer("key.deserializer", self.options.key_deserializer, configs),
            deserializer("value.deserializer", self.options.value_deserializer, configs),
            check_crcs=self.options.check_crcs,
            reads_committed=self.options.reads_committed,
        )
        self.interceptors = ConsumerInterceptors(self.options.interceptor_classes, configs)
        self._metrics = ClientMetrics(self.options, self.client_id, self._clock, CONSUMER)
        self._polls = PollMetrics(self._metrics)
        self._wanted = WantedTopics()
        self._news = asyncio.Event()
        self._interruptible: dict[asyncio.Task[Any], None] = {}
        self._woken = False
        self._polling = False
        self._started = False
        self._closing = False
        self._closed = False
        self._group: GroupMembership | None = None
        self._cluster: Cluster
        self._positions: PositionLookup
        self._lookups: Lookups
        self._fetcher: Fetcher

    def _default_client_id(self) -> str:
        options = self.options
        if not options.group_id:
            return f"consumer-{next(_numbers)}"
        return f"consumer-{options.group_id}-{options.group_instance_id or next(_numbers)}"

    async def start(self) -> None:
        """Starts connecting to the cluster; otherwise the first other call does."""
        self._ensure_started()

    def _ensure_started(self) -> None:
        if self._closed:
            raise IllegalState("the consumer is closed")
        if self._started:
            return
        options = self.options
        self._cluster = cluster = Cluster(
            options, self.client_id, self._environment, wanted=self._wanted_topics,
            auto_create=options.allow_auto_create_topics, metrics=self._metrics,
        )  # fmt: skip
        if options.group_id is not None:
            self._group = GroupMembership(
                options, self._configs, options.group_id, cluster, self._subscriptions, self.interceptors,
                self._metrics, call_user=self._call_user, on_event=self._news.set,
            )  # fmt: skip
        lookup = ListOffsetsLookup(options, cluster)
        offsets = self._group.offsets if self._group is not None else None
        self._positions = PositionLookup(
            options, self._subscriptions, lookup, offsets, self._on_positions, cluster.supervisor
        )
        self._lookups = Lookups(cluster, lookup, self._wanted)
        self._fetcher = Fetcher(
            options, cluster, self._subscriptions, self._decoding, self._metrics, self._news.set,
            self._positions.reset_by_policy,
        )  # fmt: skip
        cluster.on_update(lambda _view: self._fetcher.take_view())
        cluster.start()
        self._started = True

    def _wanted_topics(self) -> Collection[str] | None:
        if self._wanted.all or self._subscriptions.type is SubscriptionType.PATTERN:
            return None
        return sorted(self._subscriptions.topics() | self._wanted.names)

    def _on_positions(self) -> None:
        self._news.set()
        self._fetcher.step()

    def _membership(self) -> GroupMembership:
        """The membership in the group. Raises KafkaError(INVALID_GROUP_ID) without group.id."""
        self._ensure_started()
        if self._group is None:
            raise KafkaError(
                ErrorCode.INVALID_GROUP_ID,
                "subscribing and committing need the setting group.id",
            )
        return self._group

    # Reading

    async def poll(self, timeout: float = 0.0) -> ConsumerRecords:
        """Fetched records, at most max.poll.records; waits up to `timeout` seconds if there are none.

        Also joins the group, rebalances (listeners are called during poll) and commits automatically.
        Raises KafkaError where reading needs a decision of the application, WakeupError after `wakeup`, IllegalState
        without subscription and assignment, ConcurrentModification when another task polls.
        """
        delivery = await self.deliver(timeout)
        return delivery.hand_out(self.interceptors)  # no await after this: the positions have moved

    async def deliver(self, timeout: float = 0.0) -> Delivery:
        """As `poll`, but hands no records out: those that the caller does not hand out come with the next poll."""
        self._ensure_started()
        self._subscriptions.check_not_empty()
        if self._polling:
            raise ConcurrentModification
        self._polling = True
        now_ms = self._clock.monotonic_ms()
        self._polls.begin(now_ms)
        member = self._group.member if self._group is not None else None
        if member is not None:
            member.enter_poll()
        try:
            return await self._poll(now_ms + timeout * 1000)
        finally:
            self._polling = False
            self._polls.end(self._clock.monotonic_ms())
            if member is not None:
                member.leave_poll()
                member.note_poll()

    async def _poll(self, deadline_ms: float) -> Delivery:
        group = self._group
        await asyncio.sleep(0)  # lets the loop read responses while the application polls without pause
        while True:
            self._news.clear()
            self._raise_what_waits()
            if group is not None:
                await group.attend()
            self._positions.begin()
            delivery = self._fetcher.collect(self.options.max_poll_records)
            self._fetcher.step()
            now_ms = self._clock.monotonic_ms()
            if delivery.records or deadline_ms <= now_ms:
                return delivery
            until_ms = deadline_ms if group is None else min(deadline_ms, group.committer.due_ms)
            await wait_until_set(self._news, until_ms - now_ms)

    def _raise_what_waits(self) -> None:
        if self._woken:
            self._woken = False
            raise WakeupError
        self._positions.raise_error()

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Iterates over all records, waiting for new ones without limit.

        The position moves past a record when the iterator returns it.
        """
        return _AsyncRecordIterator(self)

    def wakeup(self) -> None:
        """Lets the call that is waiting, or the next one, raise WakeupError. To be called on this loop only."""
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
        self._interruptible[task] = None
        try:
            return await task
        except asyncio.CancelledError:
            if self._woken and task.cancelled():
                self._woken = False
                raise WakeupError from None
            raise
        finally:
            self._interruptible.pop(task, None)

    # End

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Makes the last automatic commit, leaves the group and releases all resources; may be called repeatedly.

        timeout: seconds that commits and the leave may take; what has not completed by then is abandoned.
        Raises what a rebalance listener or a callback raises, after everything is closed.
        """
        if self._closed or self._closing:
            return
        self._closing = True
        try:
            if self._group is not None:
                await self._group.close(timeout * 1000)  # a listener may still commit
        finally:
            self._closed = True
            await self._release()

    async def _release(self) -> None:
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


class _AsyncRecordIterator:
    """An iterator over all records; it can be used again after an error or a cancellation."""

    __slots__ = ("_consumer", "_parts", "_records")

    def __init__(self, consumer: ConsumerCore) -> None:
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

"""The parts of a consumer on an event loop: start, deliver, wakeup, close. async_consumer.py has the calls.

Assignments and positions change, and the application's code is called, only during poll (or another call that the
application waits for), never concurrently with the application.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Coroutine, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.committer import CallUser, call_here
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.delivery import Delivery
from kafka_py.clients.consumer.fetching.fetched import Decoding
from kafka_py.clients.consumer.fetching.fetcher import Fetcher
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


class _Life(Enum):
    OPEN = "open"
    CLOSING = "closing"  # the group is being left; listeners may still make calls
    CLOSED = "closed"


class Running(NamedTuple):
    """The parts of a started consumer. group: None without group.id."""

    cluster: Cluster
    group: GroupMembership | None
    positions: PositionLookup
    lookups: Lookups
    fetcher: Fetcher


class ConsumerCore:
    """What the calls of a consumer share: its parts, when it is started and closed, and how its calls wait.

    running: None before the first call that needs the cluster. subscriptions, wanted: what this consumer reads, and the
    topics of its look-ups. news: set when a call that waits has to look again.
    """

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
        self.clock = environment.clock
        self._call_user = call_user
        self.subscriptions = Subscriptions()
        self._decoding = Decoding(
            deserializer("key.deserializer", self.options.key_deserializer, configs),
            deserializer("value.deserializer", self.options.value_deserializer, configs),
            check_crcs=self.options.check_crcs,
            reads_committed=self.options.reads_committed,
        )
        self.interceptors = ConsumerInterceptors(self.options.interceptor_classes, configs)
        self.metrics = ClientMetrics(self.options, self.client_id, self.clock, CONSUMER)
        self._polls = PollMetrics(self.metrics)
        self._wanted = WantedTopics()
        self.news = asyncio.Event()
        self.running: Running | None = None
        self._life = _Life.OPEN
        self._interruptible: dict[asyncio.Task[Any], None] = {}
        self._woken = False
        self._polling = False

    def _default_client_id(self) -> str:
        options = self.options
        if not options.group_id:
            return f"consumer-{next(_numbers)}"
        return f"consumer-{options.group_id}-{options.group_instance_id or next(_numbers)}"

    def started(self) -> Running:
        """The parts, which the first call makes and connects to the cluster. Raises IllegalState once it is closed."""
        if self._life is _Life.CLOSED:
            raise IllegalState("the consumer is closed")
        if self.running is None:
            self.running = self._start()
        return self.running

    def _start(self) -> Running:
        options = self.options
        cluster = Cluster(
            options, self.client_id, self._environment, wanted=self._wanted_topics,
            auto_create=options.allow_auto_create_topics, metrics=self.metrics,
        )  # fmt: skip
        group = None
        if options.group_id is not None:
            group = GroupMembership(
                options, self._configs, options.group_id, cluster, self.subscriptions, self.interceptors,
                self.metrics, call_user=self._call_user, on_event=self.news.set,
            )  # fmt: skip
        lookup = ListOffsetsLookup(options, cluster)
        offsets = group.offsets if group is not None else None
        positions = PositionLookup(
            options, self.subscriptions, lookup, offsets, self._on_positions, cluster.supervisor
        )
        fetcher = Fetcher(
            options, cluster, self.subscriptions, self._decoding, self.metrics, self.news.set,
            positions.reset_by_policy,
        )  # fmt: skip
        cluster.on_update(lambda _view: fetcher.take_view())
        cluster.on_refused(fetcher.refused)
        cluster.start()
        return Running(cluster, group, positions, Lookups(cluster, lookup, self._wanted), fetcher)

    @property
    def group(self) -> GroupMembership | None:
        """The membership in the group; None without group.id, or before the start."""
        return None if self.running is None else self.running.group

    def _wanted_topics(self) -> Collection[str] | None:
        if self._wanted.all or self.subscriptions.type is SubscriptionType.PATTERN:
            return None
        return sorted(self.subscriptions.topics() | self._wanted.names)

    def _on_positions(self) -> None:
        self.news.set()
        if self.running is not None:
            self.running.fetcher.step()

    def membership(self) -> GroupMembership:
        """The membership in the group. Raises KafkaError(INVALID_GROUP_ID) without group.id."""
        group = self.started().group
        if group is None:
            raise KafkaError(
                ErrorCode.INVALID_GROUP_ID,
                "subscribing and committing need the setting group.id",
            )
        return group

    # ---- reading

    async def deliver(self, timeout: float = 0.0) -> Delivery:
        """As the consumer's `poll`, but those records that the caller does not hand out come with the next poll."""
        running = self.started()
        self.subscriptions.check_not_empty()
        if self._polling:
            raise ConcurrentModification
        self._polling = True
        now_ms = self.clock.monotonic_ms()
        self._polls.begin(now_ms)
        member = running.group.member if running.group is not None else None
        if member is not None:
            member.enter_poll()
        try:
            return await self._poll(running, now_ms + timeout * 1000)
        finally:
            self._polling = False
            self._polls.end(self.clock.monotonic_ms())
            if member is not None:
                member.leave_poll()
                member.note_poll()

    async def _poll(self, running: Running, deadline_ms: float) -> Delivery:
        _cluster, group, positions, _lookups, fetcher = running
        await asyncio.sleep(0)  # lets the loop read responses while the application polls without pause
        while True:
            self.news.clear()
            self.raise_if_interrupted(positions)
            if group is not None:
                await group.attend()
            positions.begin()
            delivery = fetcher.collect(self.options.max_poll_records)
            fetcher.step()
            now_ms = self.clock.monotonic_ms()
            if delivery.records or deadline_ms <= now_ms:
                return delivery
            until_ms = deadline_ms if group is None else min(deadline_ms, group.committer.due_ms)
            await wait_until_set(self.news, until_ms - now_ms)

    def raise_if_interrupted(self, positions: PositionLookup) -> None:
        """Raises WakeupError after `wakeup`, or the error of the last look-up of positions."""
        if self._woken:
            self._woken = False
            raise WakeupError
        positions.raise_error()

    def wakeup(self) -> None:
        """Lets the call that is waiting, or the next one, raise WakeupError. To be called on this loop only."""
        self._woken = True
        self.news.set()
        for task in self._interruptible:
            task.cancel()

    async def until_woken(self, coroutine: Coroutine[Any, Any, T]) -> T:
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

    # ---- end

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Makes the last automatic commit, leaves the group and releases all resources; may be called repeatedly.

        timeout: seconds that commits and the leave may take; what has not completed by then is abandoned.
        Raises what a rebalance listener or a callback raises, after everything is closed.
        """
        if self._life is not _Life.OPEN:
            return
        self._life = _Life.CLOSING
        try:
            if self.group is not None:
                await self.group.close(timeout * 1000)  # a listener may still commit
        finally:
            self._life = _Life.CLOSED
            if self.running is not None:
                await self._release(self.running)

    async def _release(self, running: Running) -> None:
        running.positions.close()
        running.fetcher.close()
        self.interceptors.close()
        await running.cluster.close()

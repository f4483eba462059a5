"""All that a consumer with a group.id has besides: coordinator, membership, rebalances, commits, tied together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.assignors.chosen import assignors_of
from kafka_py.clients.consumer.commits import GroupOffsets
from kafka_py.clients.consumer.committer import CallUser, Committer
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.coordinator import Coordinator
from kafka_py.clients.consumer.group import GroupMember
from kafka_py.clients.consumer.interceptors import Interceptors
from kafka_py.clients.consumer.joining import Joining
from kafka_py.clients.consumer.listener import RebalanceListener
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.consumer.rebalance import Rebalancing
from kafka_py.clients.consumer.subscriptions import Subscriptions
from kafka_py.clients.metrics import ClientMetrics


class Membership:
    """One consumer's place in its group."""

    def __init__(
        self,
        options: ConsumerOptions,
        configs: Mapping[str, Any],
        group_id: str,
        cluster: Cluster,
        subscriptions: Subscriptions,
        interceptors: Interceptors,
        metrics: ClientMetrics,
        *,
        call_user: CallUser,
        on_news: Callable[[], object],
    ) -> None:
        """Raises ConfigError for assignors that cannot be used, or not together."""
        clock = cluster.clock
        self._subscriptions = subscriptions
        counted = CoordinatorMetrics(metrics, self)
        self.coordinator = Coordinator(cluster, group_id)
        assignors = assignors_of(options.partition_assignment_strategy, configs)
        joining = Joining(group_id, cluster, subscriptions, assignors)
        self.member = GroupMember(
            options, group_id, self.coordinator, clock, counted,
            protocols=joining.protocols, assign=joining.assign, on_news=on_news,
        )  # fmt: skip
        self.offsets = GroupOffsets(options, self.member, self.coordinator, clock, counted)
        self.committer = Committer(
            options, self.offsets, subscriptions, interceptors, clock, call_user=call_user, on_news=on_news
        )
        self.rebalancing = Rebalancing(
            options, cluster, subscriptions, joining, self.member, self.committer, counted, call_user=call_user
        )
        self._clock = clock

    @property
    def assigned_count(self) -> int:
        """How many partitions are read."""
        return len(self._subscriptions)

    def subscribe(self, listener: RebalanceListener | None) -> None:
        """The subscription has changed."""
        self.rebalancing.subscribe(listener)

    async def attend(self) -> None:
        """What has to be done inside of poll. Raises KafkaError, and what the application's own code raises."""
        if self.committer.has_callbacks:
            await self.committer.run_callbacks()
        if self._subscriptions.by_group and self.rebalancing.needs_attention:
            await self.rebalancing.attend()
        self.committer.commit_if_due()

    async def unsubscribe(self, reason: str = "the consumer unsubscribed from all topics") -> None:
        """Gives everything back. Raises what the listener raises, after that."""
        if not self._subscriptions.by_group:
            return
        try:
            await self.rebalancing.give_all_up()
        finally:
            await self.rebalancing.leave(reason)

    async def close(self, timeout_ms: float) -> None:
        """Commits what is committed automatically, waits for commits under way, gives everything back.

        What is not answered in time was still sent, where the coordinator is connected.
        """
        deadline_ms = self._clock.monotonic_ms() + timeout_ms

        def left_ms() -> float:
            return max(0.0, deadline_ms - self._clock.monotonic_ms())

        try:
            await self.committer.commit_automatically(left_ms())
            await self.committer.finish(left_ms())
            if self._subscriptions.by_group:
                await self.rebalancing.give_all_up()
        finally:
            if self._subscriptions.by_group:
                await self.rebalancing.leave("the consumer is being closed", left_ms())
            await self.member.close()
            self.committer.close()
            self.coordinator.close()

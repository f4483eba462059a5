"""The parts of a consumer that has a group.id, put together: coordinator, member, rebalances, commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.assignors.chosen import assignors_of
from kafka_py.clients.consumer.commits import CommittedOffsets
from kafka_py.clients.consumer.committer import CallUser, Committer
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.group import GroupMember
from kafka_py.clients.consumer.interceptors import ConsumerInterceptors
from kafka_py.clients.consumer.joining import Joining
from kafka_py.clients.consumer.listener import RebalanceListener
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.consumer.rebalance import Rebalancing
from kafka_py.clients.consumer.subscriptions import Subscriptions
from kafka_py.clients.coordinator import Coordinator
from kafka_py.clients.metrics import ClientMetrics


class GroupMembership:
    """One consumer's membership in its group."""

    def __init__(
        self,
        options: ConsumerOptions,
        configs: Mapping[str, Any],
        group_id: str,
        cluster: Cluster,
        subscriptions: Subscriptions,
        interceptors: ConsumerInterceptors,
        metrics: ClientMetrics,
        *,
        call_user: CallUser,
        on_event: Callable[[], object],
    ) -> None:
        """Raises ConfigError for assignors that cannot be used, or cannot be used together."""
        clock = cluster.clock
        self._subscriptions = subscriptions
        counted = CoordinatorMetrics(metrics, self)
        self.coordinator = Coordinator(cluster, group_id)
        assignors = assignors_of(options.partition_assignment_strategy, configs)
        joining = Joining(group_id, cluster, subscriptions, assignors)
        self.member = GroupMember(
            options, group_id, self.coordinator, clock, counted,
            protocols=joining.protocols, assign=joining.assign, on_event=on_event,
        )  # fmt: skip
        self.offsets = CommittedOffsets(options, self.member, self.coordinator, clock, counted)
        self.committer = Committer(
            options, self.offsets, subscriptions, interceptors, clock, call_user=call_user, on_event=on_event
        )
        self.rebalancing = Rebalancing(
            options, cluster, subscriptions, joining, self.member, self.committer, counted, call_user=call_user
        )
        self._clock = clock

    @property
    def assigned_count(self) -> int:
        """The number of assigned partitions."""
        return len(self._subscriptions)

    def subscribe(self, listener: RebalanceListener | None) -> None:
        """Takes a changed subscription, with its listener."""
        self.rebalancing.subscribe(listener)

    async def attend(self) -> None:
        """Does what is due during poll: callbacks, rebalances, commits. Raises KafkaError, what callbacks raise."""
        if self.committer.has_callbacks:
            await self.committer.run_callbacks()
        if self._subscriptions.by_group and self.rebalancing.needs_attention:
            await self.rebalancing.attend()
        self.committer.commit_if_due()

    async def unsubscribe(self, reason: str = "the consumer unsubscribed from all topics") -> None:
        """Revokes all partitions and leaves the group. Raises what the listener raises, after that."""
        if not self._subscriptions.by_group:
            return
        try:
            await self.rebalancing.revoke_all()
        finally:
            await self.rebalancing.leave(reason)

    async def close(self, timeout_ms: float) -> None:
        """Makes the last automatic commit, waits for commits in flight, revokes all partitions and leaves the group.

        After `timeout_ms` it no longer waits for responses; LeaveGroup is still sent to a connected coordinator.
        """
        deadline_ms = self._clock.monotonic_ms() + timeout_ms

        def left_ms() -> float:
            return max(0.0, deadline_ms - self._clock.monotonic_ms())

        try:
            await self.committer.commit_automatically(left_ms())
            await self.committer.finish(left_ms())
            if self._subscriptions.by_group:
                await self.rebalancing.revoke_all()
        finally:
            if self._subscriptions.by_group:
                await self.rebalancing.leave("the consumer is being closed", left_ms())
            await self.member.close()
            self.committer.close()
            self.coordinator.close()

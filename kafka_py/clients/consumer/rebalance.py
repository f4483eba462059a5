"""Rebalances: how joining a group changes a consumer's partitions.

Before a join partitions are revoked: all of them (eager), or only those no longer subscribed to (cooperative,
KIP-429). After it the new ones are added; cooperative members revoke those that move to others, and join again.
group.py has the membership itself, joining.py the contents of joins. All methods are called on one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.texts import listed
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.assignors.assignor import Assignment, Assignor, GroupMetadata, RebalanceProtocol
from kafka_py.clients.consumer.committer import CallUser, Committer
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.group import NO_GENERATION, GroupMember, Joined
from kafka_py.clients.consumer.joining import Joining
from kafka_py.clients.consumer.listener import RebalanceListener
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.consumer.protocol import decode_assignment
from kafka_py.clients.consumer.subscriptions import Subscriptions, SubscriptionType
from kafka_py.clients.metadata import ClusterView

_log = logging.getLogger(__name__)

SILENT = RebalanceListener()


class _ListenerCall:
    """A call of a listener's method; `begun` distinguishes a cancellation before the call from one during it."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.begun = False

    def __call__(self, partitions: list[TopicPartition]) -> Any:
        self.begun = True
        return self.method(partitions)


class _Taking:
    """An assignment that is being applied. new: partitions of which the listener is to be notified."""

    def __init__(self, assignor: Assignor, assignment: Assignment, new: set[TopicPartition]) -> None:
        self.assignor = assignor
        self.assignment = assignment
        self.new = new
        self.is_taken = False
        self.problem: Exception | None = None


class Rebalancing:
    """One consumer's part in the rebalances of its group."""

    def __init__(
        self,
        options: ConsumerOptions,
        cluster: Cluster,
        subscriptions: Subscriptions,
        joining: Joining,
        member: GroupMember,
        committer: Committer,
        metrics: CoordinatorMetrics,
        *,
        call_user: CallUser,
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._joining = joining
        self._member = member
        self._committer = committer
        self._metrics = metrics
        self._call_user = call_user
        self._listener: RebalanceListener = SILENT
        self._taking: _Taking | None = None
        cluster.on_update(self._on_view)

    # ---- subscription and metadata changes

    def subscribe(self, listener: RebalanceListener | None) -> None:
        """Takes changed topics or a changed pattern: requests a rejoin, and metadata of topics that are new."""
        self._listener = SILENT if listener is None else listener
        if self._subscriptions.type is SubscriptionType.PATTERN:
            self._match(self._cluster.view)
        if self._joining.has_other_topics:
            self._member.request_rejoin("the subscription has changed")
        self._cluster.request_refresh(at_once=True)

    def _match(self, view: ClusterView) -> None:
        """The topics that match the pattern now."""
        pattern = self._subscriptions.pattern
        if pattern is not None:
            self._subscriptions.matched(
                name
                for name, info in view.topics.items()
                if pattern.fullmatch(name)
                and info.partitions
                and not (info.is_internal and self._options.exclude_internal_topics)
            )

    def _on_view(self, view: ClusterView) -> None:
        subscriptions = self._subscriptions
        if not subscriptions.by_group:
            return
        self._match(view)
        if not self._member.is_joining:
            self._rejoin_if_changed(view)
        for topic in subscriptions.subscribed:
            info = view.topics.get(topic)
            if info is None or (info.error is not ErrorCode.NONE and info.error.retriable):
                self._cluster.request_refresh()  # the topic may be created later
                break

    def _rejoin_if_changed(self, view: ClusterView) -> None:
        if self._joining.has_other_topics:
            self._member.request_rejoin("topics that match the subscription were created or deleted")
        elif self._joining.has_other_partitions(view):
            self._member.request_rejoin("the numbers of partitions of subscribed topics have changed")

    # ---- during poll

    @property
    def needs_attention(self) -> bool:
        """Whether `attend` has something to do."""
        return self._taking is not None or self._member.needs_attention

    async def attend(self) -> None:
        """Continues a rebalance as far as possible without waiting for the group.

        The next call continues one that was cancelled; a listener that was called is not called again.
        Raises KafkaError when this consumer cannot be part of the group, and what a listener raises.
        """
        member = self._member
        member.raise_failure()
        while True:
            if self._taking is not None:
                await self._take(self._taking)
            elif member.is_joining:
                if not member.needs_attention:
                    return
                joined = member.take_joined()
                if joined is not None:
                    self._complete(joined)
            elif member.rejoin_needed:
                if not member.prepared:
                    await self._prepare()
                member.join()
            else:
                return

    async def _prepare(self) -> None:
        """Commits automatically, then revokes the partitions that have to be revoked before a join.

        Heartbeats continue meanwhile. A listener that raises is not called again for the same join.
        """
        if self._member.stable_generation is not None:
            longest_ms = min(self._options.max_poll_interval_ms, self._options.default_api_timeout_ms)
            await self._committer.commit_automatically(longest_ms)
        lost = self._member.generation == NO_GENERATION
        eager = self._joining.protocol is RebalanceProtocol.EAGER
        going = self._subscriptions.partitions()
        if not lost and not eager:
            going = {each for each in going if not self._subscriptions.matches(each)}
        self._member.note_prepared(True)
        try:
            await self._revoke(going, lost=lost, always=eager and not lost)
        except asyncio.CancelledError:
            self._member.note_prepared(going.isdisjoint(self._subscriptions.partitions()))
            raise

    async def _revoke(self, partitions: Collection[TopicPartition], *, lost: bool, always: bool = False) -> None:
        """Notifies the listener, then removes the partitions. always: notifies it of an empty list, too.

        If it is cancelled before the listener was called, nothing has changed.
        """
        if not partitions and not always:
            return
        listener, metrics = self._listener, self._metrics
        call = _ListenerCall(listener.on_partitions_lost if lost else listener.on_partitions_revoked)
        try:
            await self._notify(call, partitions, metrics.lost_time if lost else metrics.revoked_time)
        finally:
            if call.begun:
                kept = [each.topic_partition for each in self._subscriptions if each.topic_partition not in partitions]
                self._subscriptions.set_assigned(kept)

    async def _notify(self, call: _ListenerCall, partitions: Collection[TopicPartition], timing: Any) -> None:
        begun_ms = self._cluster.clock.monotonic_ms()
        _log.info("%s: %s", call.method.__name__, listed(sorted(partitions)))
        self._member.leave_poll()  # max.poll.interval.ms applies to the listener
        try:
            await self._call_user(call, sorted(partitions))
        finally:
            self._member.enter_poll()
            timing.update(self._cluster.clock.monotonic_ms() - begun_ms)

    def _complete(self, joined: Joined) -> None:
        """Prepares the assignment for `_take`. Raises IllegalState for an assignor that is not configured."""
        assignor = self._joining.assignor(joined.generation.protocol)
        assignment = decode_assignment(joined.assignment)
        if not all(self._subscriptions.matches(each) for each in assignment.partitions):
            self._member.request_rejoin("partitions were assigned that are no longer subscribed to")
            return
        owned = self._subscriptions.partitions()
        self._taking = _Taking(assignor, assignment, new=set(assignment.partitions) - owned)
        if not owned <= set(assignment.partitions):
            self._member.request_rejoin("partitions were revoked that can now be assigned to other members")

    async def _take(self, taking: _Taking) -> None:
        """Revokes partitions that are no longer assigned, adds the new ones, then raises what listeners raised."""
        if not taking.is_taken:
            try:
                await self._revoke(self._subscriptions.partitions() - set(taking.assignment.partitions), lost=False)
            except Exception as error:
                taking.problem = error
            taking.is_taken = True
            self._read(taking)
        call = _ListenerCall(self._listener.on_partitions_assigned)
        try:
            await self._notify(call, taking.new, self._metrics.assigned_time)
        finally:
            if call.begun:
                self._taking = None
        if taking.problem is not None:
            raise taking.problem
        self._rejoin_if_changed(self._cluster.view)

    def _read(self, taking: _Taking) -> None:
        """Makes the assigned partitions those that are read."""
        taking.assignor.on_assignment(taking.assignment, self.metadata())
        self._committer.restart_interval()
        self._subscriptions.set_assigned(taking.assignment.partitions)
        if any(each.topic not in self._cluster.view.topics for each in taking.assignment.partitions):
            self._cluster.request_refresh(at_once=True)

    def metadata(self) -> GroupMetadata:
        """The group metadata of this consumer."""
        group_id, generation = self._member.group_id, self._member.generation
        return GroupMetadata(group_id, generation.id, generation.member_id, self._options.group_instance_id)

    # ---- leaving the group

    async def revoke_all(self) -> None:
        """Revokes all partitions before the member leaves, and notifies the listener.

        Not of partitions whose assignment it was not notified of yet, since a poll was cancelled before that.
        """
        lost = self._member.generation == NO_GENERATION
        taking = self._taking
        unknown = taking.new if taking is not None and taking.is_taken else set()
        await self._revoke(self._subscriptions.partitions() - unknown, lost=lost)

    async def leave(self, reason: str, timeout_ms: float | None = None) -> None:
        """Leaves the group."""
        self._joining.forget()
        self._taking = None
        await self._member.leave(reason, timeout_ms)

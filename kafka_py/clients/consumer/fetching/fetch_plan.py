"""Which assigned partition is fetched from which broker; updated incrementally, partition by partition.

A partition is examined again only after it has changed: it was assigned, revoked, sought or paused, its records or an
error were received or handed out, its leader may have changed, or a time has come (the end of a back-off or of a
preferred replica's validity). So a fetch costs time for changed partitions, not for all assigned ones.

Sends nothing; fetcher.py does. Source: KIP-227 (sessions), KIP-392 (preferred replicas), KIP-320 (leader epochs).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.fetch_sessions import ConsumerFetchSession, PartitionFetch
from kafka_py.clients.consumer.fetching.held import HeldAnswers
from kafka_py.clients.consumer.subscriptions import AssignedPartition, Subscriptions
from kafka_py.clients.metadata import NO_NODE, ClusterView, PartitionInfo


class FetchPlan:
    """The plan of one consumer. view: returns the present metadata.

    sessions: by node id, each with the partitions to fetch there.
    leaderless: whether a partition without leader was found since `note_refresh_requested`.
    """

    def __init__(
        self,
        subscriptions: Subscriptions,
        held: HeldAnswers,
        view: Callable[[], ClusterView],
        *,
        partition_bytes: int,
        retry_backoff_ms: float,
    ) -> None:
        self.sessions: dict[int, ConsumerFetchSession] = {}
        self.leaderless = False
        self._subscriptions = subscriptions
        self._held = held
        self._view = view
        self._partition_bytes = partition_bytes
        self._retry_backoff_ms = retry_backoff_ms
        self._node_of: dict[TopicPartition, int] = {}
        self._held_back: set[TopicPartition] = set()
        self._due_ms: dict[TopicPartition, float] = {}
        self._moments: list[tuple[float, TopicPartition]] = []
        """A heap of (time in ms, partition); an entry is valid while `_due_ms` of the partition is that time."""

    def note_refresh_requested(self) -> None:
        """Notes that new metadata was requested."""
        self.leaderless = False

    @property
    def some_wait(self) -> bool:
        """Whether a partition is left out because enough of its records are buffered."""
        return bool(self._held_back)

    @property
    def next_ms(self) -> float:
        """When the next partition has to be examined again, in ms; inf when none has to be."""
        moments = self._moments
        while moments and self._due_ms.get(moments[0][1]) != moments[0][0]:
            heapq.heappop(moments)
        return moments[0][0] if moments else math.inf

    def update(self, now_ms: float) -> dict[int, list[AssignedPartition]]:
        """Examines every partition that has changed.

        Returns the partitions whose position their leader has to validate first, by its node id.
        """
        doubtful: dict[int, list[AssignedPartition]] = {}
        for partition in self._subscriptions.take_touched():
            self._look_at(partition, now_ms, doubtful)
        while self.next_ms <= now_ms:
            partition = heapq.heappop(self._moments)[1]
            del self._due_ms[partition]
            self._look_at(partition, now_ms, doubtful)
        return doubtful

    def _look_at(self, partition: TopicPartition, now_ms: float, doubtful: dict[int, list[AssignedPartition]]) -> None:
        state = self._subscriptions.get(partition)
        self._held_back.discard(partition)
        node_id, info, due_ms = NO_NODE, None, math.inf
        if state is not None and self._is_open(state):
            if state.retry_at > now_ms:
                due_ms = state.retry_at
            else:
                info = self._led(state, now_ms)
                if info is None:
                    due_ms = state.retry_at
                elif state.needs_validation(info.leader_epoch):
                    doubtful.setdefault(info.leader, []).append(state)
                else:
                    node_id, due_ms = self._node_for(state, info, now_ms)
        self._look_again(partition, due_ms)
        self._fetch_from(node_id, partition, state, info)

    def _is_open(self, state: AssignedPartition) -> bool:
        """Whether the partition is to be fetched: it has a position, is not paused, and not enough is buffered."""
        if state.fetch_offset is None or state.paused or state.validating or self._held.has_error(state):
            return False
        if self._held.has_enough(state.topic_partition):
            self._held_back.add(state.topic_partition)
            return False
        return True

    def _led(self, state: AssignedPartition, now_ms: float) -> PartitionInfo | None:
        """The partition's metadata if it has a live leader; else None, and the partition waits for the back-off."""
        view = self._view()
        info = view.partition(state.topic_partition)
        if info is None or info.leader not in view.nodes:
            state.retry_at = now_ms + self._retry_backoff_ms
            self.leaderless = True
            return None
        return info

    def _node_for(self, state: AssignedPartition, info: PartitionInfo, now_ms: float) -> tuple[int, float]:
        """The node to fetch from, and until when (ms) it is to be used."""
        replica = state.preferred_replica
        if replica < 0:
            return info.leader, math.inf
        alive = replica in self._view().nodes and replica not in info.offline_replicas
        if alive and state.preferred_until_ms > now_ms:
            return replica, state.preferred_until_ms
        state.preferred_replica = -1
        return info.leader, math.inf

    def _look_again(self, partition: TopicPartition, due_ms: float) -> None:
        if due_ms == math.inf:
            if self._due_ms:
                self._due_ms.pop(partition, None)
        elif self._due_ms.get(partition) != due_ms:
            self._due_ms[partition] = due_ms
            heapq.heappush(self._moments, (due_ms, partition))

    def _fetch_from(
        self, node_id: int, partition: TopicPartition, state: AssignedPartition | None, info: PartitionInfo | None
    ) -> None:
        """Adds a partition to the session with a node (NO_NODE: none), and removes it from the previous one."""
        before = self._node_of.get(partition, NO_NODE)
        if before not in (NO_NODE, node_id):
            self.sessions[before].drop(partition)
        if node_id == NO_NODE:
            self._node_of.pop(partition, None)
            return
        assert state is not None and info is not None and state.fetch_offset is not None
        self._node_of[partition] = node_id
        session = self.sessions.get(node_id)
        if session is None:
            session = self.sessions[node_id] = ConsumerFetchSession()
        wanted = PartitionFetch(state.fetch_offset, self._partition_bytes, info.leader_epoch, state.generation)
        session.want(partition, wanted)

"""The coordinators joined with the rest of the broker: which partitions are ours, where records go, who is told.

A coordinator knows no replica and no request; this file hands it an append and a log, and passes on what the controller
says of `__consumer_offsets`. Source: docs/reference/groups.md, sections 1, 2 and 10.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.broker.observe.metrics import PurgatoryMetrics
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.wiring.broker_environment import BrokerEnvironment
from kafka_py.coordinator.groups.coordinator import Membership
from kafka_py.coordinator.groups.metadata_store import TOPIC, GroupStore
from kafka_py.coordinator.groups.offset_keeper import OffsetKeeper
from kafka_py.coordinator.groups.records import ValueVersions
from kafka_py.coordinator.loading import LoadingTurn
from kafka_py.coordinator.metrics import GroupCoordinatorMetrics, GroupMetrics
from kafka_py.coordinator.runtime import Appended, RuntimeServices
from kafka_py.log.model.answers import Origin
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.state.partition import Partition

_ACTIVITY = "group coordinator"
_VALUE_VERSIONS = (
    ("2.3-IV0", ValueVersions(3, 3)),
    ("2.1-IV1", ValueVersions(3, 2)),
    ("2.1-IV0", ValueVersions(2, 2)),
    ("0.10.1-IV0", ValueVersions(1, 1)),
)
"""The inter-broker protocol from which on these are written, the newest first."""
_OLDEST_VERSIONS = ValueVersions(1, 0)


def value_versions(live: LiveConfig) -> ValueVersions:
    """Which versions of values every broker of the cluster can read."""
    protocol = live.current.inter_broker_version()
    return next((row for name, row in _VALUE_VERSIONS if protocol.at_least(name)), _OLDEST_VERSIONS)


class Coordinators:
    """What this broker coordinates.

    rebalances: where rounds of joining are parked.
    """

    def __init__(self, env: BrokerEnvironment, replicas: ReplicaManager, rebalances: Purgatory[Hashable]) -> None:
        self._appends = replicas.appends
        self._hosted = replicas.hosted
        self._clock = env.clock
        self._executor = env.executor
        self._supervisor = env.supervisor
        self._spawn = partial(env.supervisor.spawn, activity=_ACTIVITY)
        self._is_expiring = False
        self.groups = GroupStore(
            lambda: env.live.current,
            lambda: value_versions(env.live),
            env.offsets_partitions,
            RuntimeServices(
                append=self._append,
                log_of=self._log_of,
                in_thread=self._in_thread,
                spawn=self._spawn,
                clock=env.clock,
                # A million offsets live as long as the leadership: the collector must not walk them again and again.
                settle=gc.freeze,
                loaded=self._count_load,
                supervisor=env.supervisor,
            ),
        )
        self.membership = Membership(
            self.groups,
            env.clock,
            env.timers,
            lambda: env.live.current,
            rebalances=rebalances,
            on_rebalance_completed=self._count_rebalance,
            new_id=lambda: str(env.chance.new_uuid()),
        )
        PurgatoryMetrics(env.registry, self.membership.sessions, delayedOperation="Heartbeat")
        self.groups.attach(self.membership)
        self.offsets = OffsetKeeper(self.groups, self.membership.sessions, env.clock, lambda: env.live.current)
        self._metrics = GroupCoordinatorMetrics(env.registry, self.offsets)
        GroupMetrics(env.registry, self.groups)

    # ---- what the coordinators need

    def _append(self, partition: int, batch: bytes, acks: int, timeout_ms: int, on_done: Appended) -> None:
        def appended(results: list[AppendResult]) -> None:
            result = results[0]
            on_done(result.error, result.base_offset)

        self._appends.append(
            [(TopicPartition(TOPIC, partition), memoryview(bytearray(batch)))],
            acks,
            timeout_ms,
            appended,
            origin=Origin.COORDINATOR,
            internal_topics_allowed=True,
        )

    def _log_of(self, partition: int) -> PartitionLog | None:
        found = self._hosted.partitions.get(TopicPartition(TOPIC, partition))
        return found.log if found is not None and found.is_leader else None

    def _count_load(self, took_ms: float) -> None:
        self._metrics.load_time.update(took_ms)

    def _count_rebalance(self) -> None:
        self._metrics.count_rebalance()

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    # ---- what the controller says

    def roles_changed(self, leaders: list[Partition], followers: list[Partition]) -> None:
        """This broker leads or follows these now; among them may be partitions of the offsets topic."""
        runtime = self.groups.runtime
        for heed, partitions in ((runtime.elected, leaders), (runtime.resigned, followers)):
            for partition in partitions:
                topic, number = partition.topic_partition
                if topic == TOPIC:
                    with self._supervisor.guard(_ACTIVITY, partition.topic_partition):
                        heed(number, partition.leader_epoch)

    def stopped(self, partitions: list[tuple[TopicPartition, bool]]) -> None:
        """These were stopped, and those marked were deleted."""
        self.lost(topic_partition for topic_partition, is_deleted in partitions if is_deleted)

    def lost(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """These are not hosted any more: they were taken away, or their log directory has failed."""
        for topic, number in topic_partitions:
            if topic == TOPIC:
                with self._supervisor.guard(_ACTIVITY, f"{topic}-{number}"):
                    self.groups.runtime.resigned(number, None)

    def topics_deleted(self, topics: Iterable[str]) -> None:
        """What groups have committed for these topics goes too."""
        gone = frozenset(topics)
        if gone:
            self._spawn(self._in_turns(self.offsets.remove_topics(gone)))

    # ---- upkeep

    def remove_expired(self) -> None:
        """Looks through all groups for offsets that were kept long enough; one such round at a time."""
        if not self._is_expiring:
            self._is_expiring = True
            self._spawn(self._expire())

    async def _expire(self) -> None:
        try:
            await self._in_turns(self.offsets.remove_expired())
        finally:
            self._is_expiring = False

    async def _in_turns(self, steps: Iterator[object]) -> None:
        turn = LoadingTurn(self._clock)
        for _ in steps:
            await turn.maybe_end()

    def close(self) -> None:
        """The broker stops: nobody is served any more."""
        self.groups.close()

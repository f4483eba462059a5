"""Replication of a broker: hosted partitions, fetchers, in-sync sets, moves, and their periodic tasks.

Connects the parts of the replication package with the broker's settings, metadata, clock and ZooKeeper; decides
nothing.
Source: docs/reference/replication.md, sections 4, 5 and 7; docs/reference/log.md, section 17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.base.supervision import Every
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.broker_environment import BrokerEnvironment
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.configs import LogConfig
from kafka_py.replication.follower.fetcher_manager import FetcherManager
from kafka_py.replication.follower.fetcher_metrics import MoverMetrics
from kafka_py.replication.follower.following import Following
from kafka_py.replication.leader.appends import SYNC_AGAIN_MS
from kafka_py.replication.leader.isr_updates import NOTICE_CHECK_MS, IsrUpdates
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.leader.replica_selection import RACK_AWARE, RackAware
from kafka_py.replication.mover import LogDirMover
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.throttle import (
    UNLIMITED,
    ByteRate,
    FollowerThrottleMetrics,
    LeaderThrottleMetrics,
    MoveThrottleMetrics,
    Throttle,
)


class Replication:
    """Replication between this broker and others. Nothing runs before `start`.

    replicas: the partitions of this broker. fetchers: for those that it follows. isr_updates: for those that it leads.
    """

    def __init__(self, env: BrokerEnvironment, log_dirs: LogManager, metadata: MetadataCache, parked: Parked) -> None:
        """parked: the purgatories of requests that wait for partitions."""
        config = env.live.current
        self._env = env
        self._parked = parked
        self.leader_throttle = self._throttle(lambda config: config.leader_replication_throttled_replicas)
        self.follower_throttle = self._throttle(lambda config: config.follower_replication_throttled_replicas)
        LeaderThrottleMetrics(env.registry, self.leader_throttle)
        FollowerThrottleMetrics(env.registry, self.follower_throttle)
        hosted = HostedPartitions(env.broker_id, metadata.has_partition, config.replica_lag_time_max_ms)
        metrics = ReplicaMetrics(env.registry, hosted)
        self.isr_updates = IsrUpdates(
            env.store.partitions.write_isr, env.store.notifications.announce_isr_changes, env.clock,
            metrics.manager, self._isr_committed, env.supervisor,
        )  # fmt: skip
        selector = config.replica_selector_class or ""
        self.replicas = ReplicaManager(
            hosted,
            log_dirs,
            env.clock,
            parked=parked,
            metrics=metrics,
            rng=env.chance.generator(),
            background=log_dirs.background,
            supervisor=env.supervisor,
            on_isr_pending=self.isr_updates.submit,
            choose_replica=RackAware(metadata.rack) if selector.rpartition(".")[2] == RACK_AWARE else None,
            throttle=self.leader_throttle,
        )
        self.mover = self._make_mover()
        self.fetchers = self._make_fetchers(metadata)
        self._set_limits(config)

    def _make_fetchers(self, metadata: MetadataCache) -> FetcherManager:
        env = self._env
        listener = env.listening.inter_broker_listener
        following = Following(
            self._parked, env.clock, self.replicas.metrics.all_topics, self.follower_throttle, self.mover.truncated
        )
        return FetcherManager(
            env.broker_id,
            options=lambda: env.live.current,
            version=env.live.current.inter_broker_version(),
            find_broker=lambda broker_id: metadata.address(broker_id, listener),
            following=following,
            clock=env.clock,
            registry=env.registry,
            network=env.network,
            security=env.security_to(listener),
            supervisor=env.supervisor,
        )

    def _make_mover(self) -> LogDirMover:
        env = self._env
        config = env.live.current
        window_ms = config.alter_log_dirs_replication_quota_window_size_seconds * 1000.0
        rate = ByteRate(env.clock, config.alter_log_dirs_replication_quota_window_num, window_ms)
        throttle = Throttle(env.broker_id, rate, UNLIMITED, None)
        MoveThrottleMetrics(env.registry, throttle)

        async def read_aside(piece: FileSlice) -> bytes:
            return await env.loop.run_in_executor(env.executor, piece.read)

        mover = LogDirMover(
            self.replicas.hosted,
            self.replicas.log_dirs,
            options=lambda: env.live.current,
            throttle=throttle,
            wall_ms=env.clock.wall_ms,
            read_aside=read_aside,
            supervisor=env.supervisor,
        )
        MoverMetrics(env.registry, mover, clientId="ReplicaAlterLogDirs")
        return mover

    def resume_moves(self, leaders: Iterable[Partition], followers: Iterable[Partition]) -> None:
        """Resumes moves of these partitions between directories, after their roles were assigned."""
        self.mover.resume(partition.topic_partition for partition in (*leaders, *followers))

    def _throttle(self, replicas_in: Callable[[LogConfig], list[str]]) -> Throttle:
        """A throttle for the replicas in topics' settings."""
        config, topic_configs = self._env.live.current, self._env.topic_configs
        window_ms = config.replication_quota_window_size_seconds * 1000.0
        rate = ByteRate(self._env.clock, config.replication_quota_window_num, window_ms)
        return Throttle(
            self._env.broker_id, rate, UNLIMITED,
            lambda topic_partition: replicas_in(topic_configs.of(topic_partition.topic)),
        )  # fmt: skip

    def _set_limits(self, config: BrokerConfig) -> None:
        self.leader_throttle.set_limit(config.leader_replication_throttled_rate)
        self.follower_throttle.set_limit(config.follower_replication_throttled_rate)
        self.mover.throttle.set_limit(config.replica_alter_log_dirs_io_max_bytes_per_second)

    def start(self, every: Every) -> None:
        """Starts the periodic tasks."""
        every(self._env.live.current.replica_lag_time_max_ms / 2, self._begin_shrinking, "shrinking of in-sync sets")
        every(SYNC_AGAIN_MS, self._begin_syncing, "flushes of flush.messages")
        every(NOTICE_CHECK_MS, self.isr_updates.announce_if_due, "announcement of in-sync sets")

    def _begin_shrinking(self) -> None:
        self._env.supervisor.spawn(self.replicas.fetches.shrink_isrs(), "shrinking of in-sync sets")

    def _begin_syncing(self) -> None:
        self._env.supervisor.spawn(self.replicas.appends.sync_all_owed(), "flushes of flush.messages")

    def _isr_committed(self, partition: Partition, watermark_raised: bool) -> None:
        if watermark_raised:
            self._parked.note_change(partition, watermark_raised=True)

    def notice_log_starts(self) -> None:
        """Notifies parked fetches, and leaders on other brokers, of log start offsets advanced by retention."""
        self.replicas.fetches.notice_log_starts()
        self.fetchers.note_log_starts()

    def lose(self, lost: Iterable[TopicPartition], gone: Sequence[TopicPartition]) -> None:
        """Handles a failed directory. lost: partitions with a log in it. gone: those that have no other log here."""
        self.mover.stop(lost)
        self.fetchers.stop(gone)
        self.replicas.mark_offline(gone)

    def reconfigure(self, config: BrokerConfig) -> None:
        """Applies settings that changed at run time."""
        self.fetchers.resize(config.num_replica_fetchers)
        self._set_limits(config)

    async def close(self) -> None:
        """Stops replication; the in-sync sets are not changed."""
        self.isr_updates.close()
        await self.mover.close()
        await self.fetchers.close()

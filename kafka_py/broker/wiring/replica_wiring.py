"""How a broker copies: the fetchers of what it follows, the in-sync sets of what it leads, and when each is looked at.

Joins the parts of the replication package to the broker's settings, metadata, clock and ZooKeeper; decides nothing.
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
from kafka_py.log.model.configs import LogConfig
from kafka_py.replication.follower.fetcher_manager import FetcherManager
from kafka_py.replication.follower.fetcher_metrics import MoverMetrics
from kafka_py.replication.follower.following import Following
from kafka_py.replication.leader.appends import SYNC_AGAIN_MS
from kafka_py.replication.leader.isr_updates import NOTICE_CHECK_MS, IsrUpdates
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.leader.replica_selection import RACK_AWARE, RackAware
from kafka_py.replication.mover import LogDirMover, read_slice
from kafka_py.replication.role_changes import RoleCallbacks
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
    """What copies partitions between this broker and others. Nothing runs before `start`."""

    def __init__(self, env: BrokerEnvironment, replicas: ReplicaManager, metadata: MetadataCache) -> None:
        listener = env.listening.inter_broker_listener
        self._replicas = replicas
        self._env = env
        self.leader_throttle = self._throttle(lambda config: config.leader_replication_throttled_replicas)
        self.follower_throttle = self._throttle(lambda config: config.follower_replication_throttled_replicas)
        LeaderThrottleMetrics(env.registry, self.leader_throttle)
        FollowerThrottleMetrics(env.registry, self.follower_throttle)
        self.mover = self._make_mover()
        self.isr_updates = IsrUpdates(
            env.store.partitions.write_isr, env.store.notifications.announce_isr_changes, env.clock,
            replicas.metrics.manager, self._isr_committed, env.supervisor,
        )  # fmt: skip
        following = Following(replicas.parked, env.clock, replicas.metrics.all_topics, self.follower_throttle)
        following.on_cut = self.mover.truncated
        self.fetchers = FetcherManager(
            env.broker_id,
            options=lambda: env.live.current,
            version=env.live.current.inter_broker_version(),
            find_broker=lambda broker_id: metadata.address(broker_id, listener),
            following=following,
            clock=env.clock,
            registry=env.registry,
            network=env.network,
            supervisor=env.supervisor,
        )
        replicas.fetches.on_isr_pending = self.isr_updates.submit
        replicas.fetches.throttle = self.leader_throttle
        selector = env.live.current.replica_selector_class or ""
        if selector.rpartition(".")[2] == RACK_AWARE:
            replicas.fetches.choose_replica = RackAware(metadata.rack)
        self._set_limits(env.live.current)

    def _make_mover(self) -> LogDirMover:
        env = self._env
        config = env.live.current
        window_ms = config.alter_log_dirs_replication_quota_window_size_seconds * 1000.0
        rate = ByteRate(env.clock, config.alter_log_dirs_replication_quota_window_num, window_ms)
        throttle = Throttle(env.broker_id, rate, UNLIMITED, None)
        MoveThrottleMetrics(env.registry, throttle)

        async def read_aside(piece: FileSlice) -> bytes:
            return await env.loop.run_in_executor(env.executor, read_slice, piece)

        mover = LogDirMover(
            self._replicas, self._replicas.log_dirs, lambda: env.live.current, throttle, env.clock.wall_ms,
            read_aside, env.supervisor,
        )  # fmt: skip
        MoverMetrics(env.registry, mover, clientId="ReplicaAlterLogDirs")
        return mover

    def listen(self, callbacks: RoleCallbacks) -> None:
        """From now on hears of every change of roles."""
        callbacks.on_become_follower = self.fetchers.start
        callbacks.on_following_settled = self.fetchers.end_idle
        callbacks.on_stop_following = self.fetchers.stop
        roles_changed = callbacks.on_roles_changed

        def on_roles_changed(leaders: list[Partition], followers: list[Partition]) -> None:
            moved = [partition.topic_partition for partition in (*leaders, *followers)]
            self._env.supervisor.call("mover between log directories", lambda: self.mover.resume(moved))
            roles_changed(leaders, followers)

        callbacks.on_roles_changed = on_roles_changed

    def _throttle(self, replicas_in: Callable[[LogConfig], list[str]]) -> Throttle:
        """A throttle for the replicas that topics' settings name."""
        config, topic_configs = self._env.live.current, self._env.topic_configs
        window_ms = config.replication_quota_window_size_seconds * 1000.0
        rate = ByteRate(self._env.clock, config.replication_quota_window_num, window_ms)
        return Throttle(
            self._env.broker_id, rate, UNLIMITED,
            lambda topic_partition: replicas_in(topic_configs.of(topic_partition.topic)),
        )  # fmt: skip

    def _set_limits(self, config: BrokerConfig) -> None:
        self.leader_throttle.limit = config.leader_replication_throttled_rate
        self.follower_throttle.limit = config.follower_replication_throttled_rate
        self.mover.throttle.limit = config.replica_alter_log_dirs_io_max_bytes_per_second

    def start(self, every: Every) -> None:
        """Begins what is done from time to time."""
        lag_max_ms = self._replicas.options.replica_lag_time_max_ms
        every(lag_max_ms / 2, self._begin_shrinking, "shrinking of in-sync sets")
        every(SYNC_AGAIN_MS, self._begin_syncing, "flushes of flush.messages")
        every(NOTICE_CHECK_MS, self.isr_updates.announce_if_due, "announcement of in-sync sets")

    def _begin_shrinking(self) -> None:
        self._env.supervisor.spawn(self._replicas.fetches.shrink_isrs(), "shrinking of in-sync sets")

    def _begin_syncing(self) -> None:
        self._env.supervisor.spawn(self._replicas.appends.sync_all_owed(), "flushes of flush.messages")

    def _isr_committed(self, partition: Partition, watermark_raised: bool) -> None:
        if watermark_raised:
            self._replicas.parked.note_change(partition, watermark_raised=True)

    def notice_log_starts(self) -> None:
        """Log starts that retention moved: readers here and leaders elsewhere are told."""
        self._replicas.fetches.notice_log_starts()
        self.fetchers.note_log_starts()

    def lose(self, lost: Iterable[TopicPartition], gone: Sequence[TopicPartition]) -> None:
        """A directory failed that held something of the partitions `lost`; those of `gone` have no log here now."""
        self.mover.stop(lost)
        self.fetchers.stop(gone)
        self._replicas.mark_offline(gone)

    def reconfigure(self, config: BrokerConfig) -> None:
        """The settings changed at run time."""
        self.fetchers.resize(config.num_replica_fetchers)
        self._set_limits(config)

    async def close(self) -> None:
        """Copies no more; in-sync sets stay as they are written."""
        self.isr_updates.close()
        await self.mover.close()
        await self.fetchers.close()

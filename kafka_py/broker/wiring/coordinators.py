"""The coordinators joined with the rest of the broker: leadership, appends, notifications.

A coordinator knows no replica and no request; this file hands it an append and a log, and passes on what the controller
says of `__consumer_offsets` and `__transaction_state`.
Source: docs/reference/groups.md, sections 1, 2 and 10; docs/reference/transactions.md, sections 5 and 7.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from functools import lru_cache, partial

from kafka_py.base.ids import TRANSACTION_STATE_TOPIC, TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.supervision import Every
from kafka_py.base.turns import Turn, take_in_turns
from kafka_py.broker.observe.metrics import PurgatoryMetrics
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.broker_environment import BrokerEnvironment
from kafka_py.broker.wiring.topic_services import services_of_topic
from kafka_py.coordinator.groups.coordinator import Membership
from kafka_py.coordinator.groups.metadata_store import TOPIC as OFFSETS_TOPIC
from kafka_py.coordinator.groups.metadata_store import GroupStore
from kafka_py.coordinator.groups.offset_keeper import OffsetKeeper
from kafka_py.coordinator.groups.records import ValueVersions
from kafka_py.coordinator.loading import LOADING_TURN_MS
from kafka_py.coordinator.metrics import (
    GroupCoordinatorMetrics,
    GroupMetrics,
    TransactionCoordinatorMetrics,
    TransactionRetryMetrics,
)
from kafka_py.coordinator.transactions.coordinator import TransactionCoordinator
from kafka_py.coordinator.transactions.driver import TransactionServices
from kafka_py.coordinator.transactions.marker_channels import MarkerChannels
from kafka_py.coordinator.transactions.store import TransactionStore
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.state.partition import Partition
from kafka_py.wire.protocol_versions import InterBrokerVersion

_GROUPS = "group coordinator"
_TRANSACTIONS = "transaction coordinator"
_ROLES = "roles of coordinators"
_VALUE_VERSIONS = (
    ("2.3-IV0", ValueVersions(3, 3)),
    ("2.1-IV1", ValueVersions(3, 2)),
    ("2.1-IV0", ValueVersions(2, 2)),
    ("0.10.1-IV0", ValueVersions(1, 1)),
)
"""The inter-broker protocol from which on these are written, the newest first."""
_OLDEST_VERSIONS = ValueVersions(1, 0)


@lru_cache(maxsize=8)
def value_versions(inter_broker_protocol: str) -> ValueVersions:
    """Which versions of values every broker of the cluster can read. Remembered, for every commit asks."""
    protocol = InterBrokerVersion(inter_broker_protocol)
    return next((row for name, row in _VALUE_VERSIONS if protocol.at_least(name)), _OLDEST_VERSIONS)


class Coordinators:
    """The group and transaction coordinators of this broker.

    rebalances: the purgatory of JoinGroup and SyncGroup requests. markers: sends markers to the partitions.
    next_producer_id: a producer id that is not in use.
    """

    def __init__(
        self,
        env: BrokerEnvironment,
        replicas: ReplicaManager,
        rebalances: Purgatory[Hashable],
        markers: MarkerChannels,
        next_producer_id: Callable[[], Awaitable[int]],
    ) -> None:
        self._clock = env.clock
        self._config: Callable[[], BrokerConfig] = lambda: env.live.current
        self._supervisor = env.supervisor
        self._spawn = partial(env.supervisor.spawn, activity=_GROUPS)
        self._rounds: set[str] = set()
        self.groups = GroupStore(
            self._config,
            lambda: value_versions(env.live.current.inter_broker_protocol_version),
            env.offsets_partitions,
            services_of_topic(env, replicas, OFFSETS_TOPIC, _GROUPS, self._count_load),
        )
        self.membership = Membership(
            self.groups,
            env.clock,
            env.timers,
            self._config,
            rebalances=rebalances,
            on_rebalance_completed=self._count_rebalance,
            new_id=lambda: str(env.chance.new_uuid()),
        )
        PurgatoryMetrics(env.registry, self.membership.sessions, delayedOperation="Heartbeat")
        self.groups.attach(self.membership)
        self.offsets = OffsetKeeper(self.groups, self.membership.sessions, env.clock, self._config)
        self._metrics = GroupCoordinatorMetrics(env.registry, self.offsets)
        GroupMetrics(env.registry, self.groups)
        self.markers = markers
        self.transactions = TransactionCoordinator(
            TransactionStore(
                self._config,
                env.transaction_partitions,
                services_of_topic(
                    env, replicas, TRANSACTION_STATE_TOPIC, _TRANSACTIONS, self._count_transaction_load
                ),
            ),
            TransactionServices(markers, env.clock, self._config, env.timers.schedule),
            next_producer_id=next_producer_id,
            spawn=partial(env.supervisor.spawn, activity=_TRANSACTIONS),
        )
        self._transaction_metrics = TransactionCoordinatorMetrics(env.registry, self.transactions)
        TransactionRetryMetrics(env.registry, self.transactions.driver)
        stores = (self.groups, self.transactions.store)
        self._runtimes = {store.runtime.topic: store.runtime for store in stores}

    def _count_load(self, took_ms: float) -> None:
        self._metrics.load_time.update(took_ms)

    def _count_transaction_load(self, took_ms: float) -> None:
        self._transaction_metrics.load_time.update(took_ms)

    def _count_rebalance(self) -> None:
        self._metrics.count_rebalance()

    # ---- what the controller says

    def roles_changed(self, leaders: list[Partition], followers: list[Partition]) -> None:
        """This broker leads or follows these now; among them may be partitions of the internal topics."""
        for partitions, is_leader in ((leaders, True), (followers, False)):
            for partition in partitions:
                topic, number = partition.topic_partition
                runtime = self._runtimes.get(topic)
                if runtime is not None:
                    with self._supervisor.guard(_ROLES, partition.topic_partition):
                        notify = runtime.elected if is_leader else runtime.resigned
                        notify(number, partition.leader_epoch)

    def stopped(self, partitions: list[tuple[TopicPartition, bool]]) -> None:
        """These were stopped, and those marked were deleted."""
        self.lost(topic_partition for topic_partition, is_deleted in partitions if is_deleted)

    def lost(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """The partitions are no longer hosted: they were reassigned, or their log directory has failed."""
        for topic, number in topic_partitions:
            runtime = self._runtimes.get(topic)
            if runtime is not None:
                with self._supervisor.guard(_ROLES, f"{topic}-{number}"):
                    runtime.resigned(number, None)

    def topics_deleted(self, topics: Iterable[str]) -> None:
        """The committed offsets of these topics are removed too."""
        gone = frozenset(topics)
        if gone:
            self._spawn(self._in_turns(self.offsets.remove_topics(gone)))

    # ---- upkeep

    def start(self, every: Every) -> None:
        """From now on what is over is looked for, each kind in one round at a time."""
        config = self._config()
        every(config.offsets_retention_check_interval_ms, self.remove_expired, "expiry of offsets")
        every(config.transaction_abort_timed_out_interval_ms, self.abort_timed_out, "time-outs of transactions")
        every(config.transaction_remove_expired_interval_ms, self.remove_expired_ids, "expiry of transactional ids")

    def remove_expired(self) -> None:
        """Looks through all groups for offsets that were kept long enough."""
        self._round("offsets", self.offsets.remove_expired)

    def abort_timed_out(self) -> None:
        """Looks through all transactions for those that run for too long."""
        self._round("time-outs", self.transactions.abort_timed_out)

    def remove_expired_ids(self) -> None:
        """Checks all transactional ids for those that have expired."""
        self._round("ids", lambda: self.transactions.remove_expired(self._config().request_timeout_ms))

    def _round(self, name: str, steps: Callable[[], Iterator[object]]) -> None:
        if name not in self._rounds:
            self._rounds.add(name)
            self._spawn(self._look_through(name, steps()))

    async def _look_through(self, name: str, steps: Iterator[object]) -> None:
        try:
            await self._in_turns(steps)
        finally:
            self._rounds.discard(name)

    async def _in_turns(self, steps: Iterator[object]) -> None:
        await take_in_turns(steps, Turn(self._clock, LOADING_TURN_MS))

    def close(self) -> None:
        """The broker stops: no request is served from now on."""
        self.groups.close()
        self.markers.close()

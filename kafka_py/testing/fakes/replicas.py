"""A replica manager over logs in memory, on a clock that the test moves; answers are kept, checks wait to be run.

For unit tests of replication and of what the broker builds on it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.supervision import Supervisor
from kafka_py.base.timers import Timers
from kafka_py.log.disk.background import Background
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import FetchEntry, FetchParams, FetchResults, FetchSource, Isolation, PlainSource
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.logs import MemoryLog, MemoryLogDirs
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionState

BROKER = 1
LAG_MAX_MS = ReplicationOptions.parse({}).replica_lag_time_max_ms


def timers_of(clock: ManualClock) -> Timers:
    """A timing wheel that the clock drives."""
    return Timers(clock, clock.call_later)


def role(
    leader: int = BROKER,
    epoch: int = 0,
    isr: tuple[int, ...] = (BROKER,),
    replicas: tuple[int, ...] | None = None,
    partition: int = 0,
    *,
    is_new: bool = False,
) -> LeaderAndIsrPartitionState:
    """An entry of LeaderAndIsr."""
    return LeaderAndIsrPartitionState(
        partition_index=partition,
        controller_epoch=1,
        leader=leader,
        leader_epoch=epoch,
        isr=list(isr),
        zk_version=0,
        replicas=list(replicas or isr),
        is_new=is_new,
    )


class ReplicaWorld:
    """Broker 1 with its partitions.

    appended, fetched: the answers, in order. known: the partitions that the cluster has, hosted here or not.
    isr_pending: those that wanted to change their in-sync set. failed: those whose log raised an I/O error.
    """

    def __init__(
        self,
        background: Background | None = None,
        supervisor: Supervisor | None = None,
        choose_replica: Callable[[Partition, int, str], int] | None = None,
    ) -> None:
        """background: for work on large batches; without one it is done at once."""
        self.clock = ManualClock()
        self.timers = timers_of(self.clock)
        self.registry = MetricRegistry(self.clock)
        self.log_dirs = MemoryLogDirs()
        self.known: set[TopicPartition] = set()
        self.isr_pending: list[Partition] = []
        self.deferred: list[Callable[[], None]] = []
        self.appended: list[list[AppendResult]] = []
        self.fetched: list[FetchResults] = []
        self.failed: list[TopicPartition] = []
        self.hosted = HostedPartitions(
            BROKER,
            is_known=lambda topic_partition: topic_partition in self.known,
            lag_max_ms=LAG_MAX_MS,
            on_storage_error=lambda topic_partition, _error: self.failed.append(topic_partition),
        )
        self.metrics = ReplicaMetrics(self.registry, self.hosted)
        self.manager = ReplicaManager(
            self.hosted,
            self.log_dirs,  # type: ignore[arg-type]
            self.clock,
            parked=Parked(
                Purgatory("Produce", self.timers),
                Purgatory("Fetch", self.timers),
                Purgatory("DeleteRecords", self.timers),
                self.deferred.append,
            ),
            metrics=self.metrics,
            background=background,
            rng=random.Random(1),
            supervisor=supervisor,
            on_isr_pending=self.isr_pending.append,
            choose_replica=choose_replica,
        )

    def lead(self, topic_partition: TopicPartition, isr: tuple[int, ...] = (BROKER,)) -> MemoryLog:
        """Makes the broker leader of a partition, with an empty log; returns the log."""
        log = self.log_dirs.get_or_create(topic_partition, None)
        partition = self.hosted.partitions.get(topic_partition) or self.hosted.new_partition(topic_partition)
        partition.become_leader(role(isr=isr), log, self.clock.monotonic_ms())  # type: ignore[arg-type]
        self.hosted.partitions[topic_partition] = partition
        self.known.add(topic_partition)
        return log

    def partition(self, topic_partition: TopicPartition) -> Partition:
        return self.hosted.partitions[topic_partition]

    def append(
        self, *to: TopicPartition, records: bytes = b"abc", acks: int = 1, timeout_ms: int = 100, **more: Any
    ) -> None:
        """One batch to each partition."""
        entries = [(one, memoryview(bytearray(records))) for one in to]
        self.manager.appends.append(entries, acks, timeout_ms, self.appended.append, **more)

    def fetch(
        self, *entries: FetchEntry, source: FetchSource | None = None, min_bytes: int = 1, max_wait_ms: int = 500,
        max_bytes: int = 1000, replica_id: int = -1,
    ) -> None:  # fmt: skip
        """A fetch of these entries, or of a session's."""
        isolation = Isolation.LOG_END if replica_id >= 0 else Isolation.READ_UNCOMMITTED
        params = FetchParams(replica_id, max_wait_ms, min_bytes, max_bytes, isolation)
        self.manager.fetches.fetch(params, source or PlainSource(list(entries)), self.fetched.append)

    def run_checks(self) -> None:
        """What the manager has put off until the present handler has returned."""
        while self.deferred:
            self.deferred.pop(0)()

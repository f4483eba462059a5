"""All partitions of a broker, as handlers and role changes see them: appends, fetches, offset look-ups, failures.

What happens in an append is in appends.py, in a fetch in fetches.py. What it needs from elsewhere (is a partition
known to the cluster, how to run something a little later) comes in as functions.
Source: docs/reference/replication.md, section 12; docs/reference/log.md, sections 12 and 17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.log.disk.background import Background, InlineBackground
from kafka_py.log.log_manager import LogDirs
from kafka_py.log.partition.partition_log import TimestampOffset
from kafka_py.replication.leader import offset_queries as lookups
from kafka_py.replication.leader.appends import Appends
from kafka_py.replication.leader.fetches import Fetches
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.time_lookups import find_by_time
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import EpochEnd


class ReplicaManager(HostedPartitions):
    """The broker's partitions and what can be done with them."""

    def __init__(
        self,
        broker_id: int,
        options: ReplicationOptions,
        log_dirs: LogDirs,
        clock: Clock,
        *,
        parked: Parked,
        is_known: Callable[[TopicPartition], bool],
        metrics: ReplicaMetrics,
        rng: Random,
        background: Background | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """background: where the records of large batches are worked on; rng: which batches are verified."""
        super().__init__(broker_id, is_known)
        self.options = options
        self.log_dirs = log_dirs
        self.metrics = metrics
        self.parked = parked
        self._background: Background = InlineBackground() if background is None else background
        self.appends = Appends(self, parked, clock, metrics, self._background, rng)
        self.fetches = Fetches(self, parked, clock, metrics, supervisor)
        self.append = self.appends.append
        self.new_trust = self.appends.new_trust
        self.fetch = self.fetches.fetch
        self._clock = clock
        metrics.manager.owner = self
        metrics.measure_partitions(self.partitions)

    def new_partition(self, topic_partition: TopicPartition) -> Partition:
        """A partition without role or log; the caller registers it once it has both."""
        return Partition(topic_partition, self.broker_id, self.options.replica_lag_time_max_ms)

    # ---- offsets

    async def find_by_time(
        self, topic_partition: TopicPartition, timestamp: int, current_leader_epoch: int, *, leader_only: bool
    ) -> TimestampOffset | None:
        """The first record at or after `timestamp`; what takes long is done in a thread.

        Raises KafkaError as Partition.readable_log, `partition` and the log's search do.
        """
        log = self.partition(topic_partition).readable_log(current_leader_epoch, leader_only=leader_only)
        return await find_by_time(log, timestamp, self._background, self._clock)

    def old_style_offsets(
        self, topic_partition: TopicPartition, timestamp: int, limit: int, replica_id: int
    ) -> list[int]:
        """ListOffsets v0 of one partition. Raises KafkaError as lookups.old_style_offsets and `partition` do."""
        partition = self.partition(topic_partition)
        return lookups.old_style_offsets(partition, timestamp, limit, replica_id, self._clock.wall_ms())

    def end_of_epoch(self, topic_partition: TopicPartition, epoch: int, current_leader_epoch: int) -> EpochEnd:
        """OffsetForLeaderEpoch of one partition. Raises KafkaError as lookups.end_of_epoch and `partition` do."""
        return lookups.end_of_epoch(self.partition(topic_partition), epoch, current_leader_epoch)

    # ---- failing directories

    def mark_offline(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """These partitions' directory failed: from now on they answer KAFKA_STORAGE_ERROR until a restart."""
        for topic_partition in topic_partitions:
            partition = self.partitions.pop(topic_partition, None)
            self.offline.add(topic_partition)
            self.parked.complete(topic_partition, partition)

    # ---- shutdown

    def close(self) -> None:
        """Answers everything that is parked; the high watermarks are the caller's to write."""
        self.parked.close()

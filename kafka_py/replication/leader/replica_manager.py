"""All partitions of a broker for handlers and role changes: appends, fetches, offset look-ups, failed directories.

Puts the parts together, which callers use directly, and does what concerns several of them. Functions of other packages
(writing in-sync sets, selecting a replica for a consumer) are handed in.
Source: docs/reference/replication.md, section 12; docs/reference/log.md, sections 12 and 17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.log.disk.background import Background, InlineBackground
from kafka_py.log.log_manager import LogManager
from kafka_py.replication.leader.appends import Appends
from kafka_py.replication.leader.down_conversions import DownConversions
from kafka_py.replication.leader.fetches import Fetches
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.time_lookups import TimeLookups
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.roles import OFFLINE
from kafka_py.replication.state.throttle import Throttle


class ReplicaManager:
    """The broker's partitions and the operations on them.

    hosted: the partitions. log_dirs: their logs. parked: the purgatories. appends, fetches, time_lookups: the
    operations. down_conversions: for old readers. metrics: their metrics.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        log_dirs: LogManager,
        clock: Clock,
        *,
        parked: Parked,
        metrics: ReplicaMetrics,
        rng: Random,
        background: Background | None = None,
        supervisor: Supervisor | None = None,
        on_isr_pending: Callable[[Partition], None] | None = None,
        choose_replica: Callable[[Partition, int, str], int] | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        """background: processes the records of large batches; rng: selects the batches that are verified.

        on_isr_pending, choose_replica, throttle: see Fetches.
        """
        background = InlineBackground() if background is None else background
        self.hosted = hosted
        self.log_dirs = log_dirs
        self.parked = parked
        self.metrics = metrics
        self.appends = Appends(hosted, parked, clock, metrics, background, rng)
        self.fetches = Fetches(
            hosted, parked, clock, metrics, supervisor,
            on_isr_pending=on_isr_pending, choose_replica=choose_replica, throttle=throttle,
        )  # fmt: skip
        self.time_lookups = TimeLookups(background, clock)
        self.down_conversions = DownConversions(background, clock, metrics)

    def mark_offline(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Removes partitions of a failed directory; requests for them get KAFKA_STORAGE_ERROR until a restart."""
        for topic_partition in topic_partitions:
            partition = self.hosted.partitions.pop(topic_partition, None)
            self.hosted.offline.add(topic_partition)
            if partition is not None:
                partition.leave(OFFLINE)
            self.parked.complete(topic_partition, partition)

    def close(self) -> None:
        """Completes all parked operations; the caller writes the high watermark checkpoint."""
        self.parked.close()

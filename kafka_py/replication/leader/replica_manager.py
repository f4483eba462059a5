"""All partitions of a broker, as handlers and role changes see them: appends, fetches, offset look-ups, failures.

Joins the parts, which callers use directly, and does what concerns several of them. What it needs from elsewhere (who
writes in-sync sets, from which replica a consumer best reads) comes in as functions.
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
from kafka_py.replication.leader.appends import Appends
from kafka_py.replication.leader.fetches import Fetches
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.time_lookups import TimeLookups
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.roles import OFFLINE
from kafka_py.replication.state.throttle import Throttle


class ReplicaManager:
    """The broker's partitions and what can be done with them.

    hosted: which they are. log_dirs: their logs. parked: requests that wait for them. appends, fetches, time_lookups:
    what is done with them. metrics: what is counted.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        log_dirs: LogDirs,
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
        """background: where the records of large batches are worked on; rng: which batches are verified.

        on_isr_pending, choose_replica, throttle: as Fetches has them.
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

    def mark_offline(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """These partitions' directory failed: from now on they answer KAFKA_STORAGE_ERROR until a restart."""
        for topic_partition in topic_partitions:
            partition = self.hosted.partitions.pop(topic_partition, None)
            self.hosted.offline.add(topic_partition)
            if partition is not None:
                partition.leave(OFFLINE)
            self.parked.complete(topic_partition, partition)

    def close(self) -> None:
        """Answers everything that is parked; the high watermarks are the caller's to write."""
        self.parked.close()

"""Which partitions this broker hosts, and the error for one that it does not host.

Knows partitions, the offline ones among them, and counts over them; nothing of requests.
Source: docs/reference/replication.md, section 1; docs/reference/log.md, section 17.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.partition import Partition

_log = logging.getLogger(__name__)

COUNTED_PER_STEP = 100
"""`HostedPartitions.counting` yields after this many partitions, which take some tenths of a millisecond."""


class PartitionCounts(NamedTuple):
    """Numbers of the partitions that this broker leads: all, and those of which something is true."""

    led: int
    under_replicated: int
    under_min_isr: int
    at_min_isr: int
    reassigning: int


class HostedPartitions:
    """The broker's partitions.

    partitions: those with a log, or about to get one. offline: those on failed log directories.
    """

    def __init__(
        self,
        broker_id: int,
        is_known: Callable[[TopicPartition], bool],
        lag_max_ms: int,
        on_storage_error: Callable[[TopicPartition, OSError], None] | None = None,
    ) -> None:
        """is_known: whether the partition exists in the cluster according to the metadata cache.

        lag_max_ms: how long a follower may lag and still count as in sync (replica.lag.time.max.ms). on_storage_error:
        called with an I/O error that the log has not reported itself; by default it is logged.
        """
        self.broker_id = broker_id
        self.partitions: dict[TopicPartition, Partition] = {}
        self.offline: set[TopicPartition] = set()
        self.on_storage_error = on_storage_error or _log_storage_error
        self._is_known = is_known
        self._lag_max_ms = lag_max_ms

    def new_partition(self, topic_partition: TopicPartition) -> Partition:
        """A new partition without role or log; the caller registers it once it has both."""
        return Partition(topic_partition, self.broker_id, self._lag_max_ms)

    def partition(self, topic_partition: TopicPartition) -> Partition:
        """The hosted partition.

        Raises KafkaError(KAFKA_STORAGE_ERROR) on a failed directory, NOT_LEADER_OR_FOLLOWER if other brokers host it,
        UNKNOWN_TOPIC_OR_PARTITION if the cluster has no such partition.
        """
        found = self.partitions.get(topic_partition)
        if found is not None:
            return found
        if topic_partition in self.offline:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition} is in an offline log directory")
        if self._is_known(topic_partition):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {self.broker_id} does not host {topic_partition}"
            )
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic_partition} does not exist")

    def led_partitions(self) -> Iterator[Partition]:
        return (partition for partition in self.partitions.values() if partition.is_leader)

    def count_led(self) -> int:
        return sum(1 for _ in self.led_partitions())

    def count_under_replicated(self) -> int:
        return sum(partition.is_under_replicated for partition in self.led_partitions())

    def count_reassigning(self) -> int:
        return sum(bool(one.adding_replicas or one.removing_replicas) for one in self.led_partitions())

    def count_against_minimum(self, sign: int) -> int:
        """The number of led partitions whose in-sync set is below (-1) or exactly at (0) min.insync.replicas."""
        margins = (partition.isr_against_minimum() for partition in self.led_partitions())
        return sum(margin is not None and (margin < 0 if sign else margin == 0) for margin in margins)

    def counting(self) -> Generator[None, None, PartitionCounts]:
        """All of these numbers by one look at each partition; yields where other work may run."""
        led = under_replicated = under_min_isr = at_min_isr = reassigning = 0
        for number, partition in enumerate(list(self.partitions.values()), 1):
            if partition.is_leader:
                led += 1
                under_replicated += partition.is_under_replicated
                reassigning += bool(partition.adding_replicas or partition.removing_replicas)
                margin = partition.isr_against_minimum()
                under_min_isr += margin is not None and margin < 0
                at_min_isr += margin == 0
            if number % COUNTED_PER_STEP == 0:
                yield
        return PartitionCounts(led, under_replicated, under_min_isr, at_min_isr, reassigning)


def _log_storage_error(topic_partition: TopicPartition, error: OSError) -> None:
    _log.error("I/O error on %s: %s", topic_partition, error)

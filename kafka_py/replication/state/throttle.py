"""Replication quotas: a limit in bytes per second for throttled replicas, on the leader and on the follower.

Pure; the clock is handed in. In-sync replicas are never throttled: the callers check that.
Source: docs/reference/replication.md, section 14; KIP-73.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricTable
from kafka_py.base.metric_rows import Gauge

EVERY_REPLICA = "*"
UNLIMITED = (1 << 63) - 1


class ByteRate:
    """Bytes per second over the last samples, the present one included, spread over one sample's time at least.

    A rate of clients is spread over nearly all samples from its first byte on; this one is not, so that a throttle
    holds back from the first second on. Source: docs/reference/replication.md, section 14; SimpleRate.
    """

    def __init__(self, clock: Clock, samples: int, sample_ms: float) -> None:
        self._clock = clock
        self._count = samples
        self._sample_ms = sample_ms
        self._samples: deque[list[float]] = deque()  # [when it began, bytes]

    def add(self, size_bytes: int) -> None:
        now_ms = self._clock.monotonic_ms()
        samples = self._samples
        if not samples or now_ms - samples[-1][0] >= self._sample_ms:
            samples.append([now_ms, 0])
        samples[-1][1] += size_bytes

    def per_second(self) -> float:
        """The rate since the oldest sample began."""
        now_ms = self._clock.monotonic_ms()
        samples = self._samples
        while samples and now_ms - samples[0][0] >= self._count * self._sample_ms:
            samples.popleft()
        if not samples:
            return 0.0
        elapsed_ms = max(now_ms - samples[0][0], self._sample_ms, 1.0)
        return sum(size for _, size in samples) * 1000.0 / elapsed_ms


class _Covered(NamedTuple):
    """A topic's list of throttled replicas, and the partitions of this broker in it."""

    named: Sequence[str]
    everything: bool
    partitions: frozenset[int]


class Throttle:
    """The quota of leaders, of followers, or of moves between log directories.

    replicas_of: the throttled replicas in the topic's settings, each `*` or `partition:broker`; None: all partitions
        are throttled. Returns the same list object until the settings change.
    limit: bytes per second, UNLIMITED for none.
    """

    def __init__(
        self, broker_id: int, rate: ByteRate, limit: int, replicas_of: Callable[[TopicPartition], Sequence[str]] | None
    ) -> None:
        self._limit = limit
        self.rate = rate
        self._suffix = f":{broker_id}"
        self._replicas_of = replicas_of
        self._covered: dict[str, _Covered] = {}

    @property
    def limit(self) -> int:
        """Bytes per second; UNLIMITED for none."""
        return self._limit

    def set_limit(self, limit: int) -> None:
        """Replaces the limit, in bytes per second."""
        self._limit = limit

    @property
    def is_on(self) -> bool:
        """Whether there is a limit."""
        return self._limit < UNLIMITED

    def is_exceeded_for(self, topic_partition: TopicPartition) -> bool:
        """Whether this broker's replica of the partition is throttled and the limit is exceeded."""
        return self.is_on and self.covers(topic_partition) and self.rate.per_second() > self._limit

    def covers(self, topic_partition: TopicPartition) -> bool:
        """Whether this broker's replica of the partition is throttled."""
        if self._replicas_of is None:
            return True
        named = self._replicas_of(topic_partition)
        topic, partition = topic_partition
        if not named:
            self._covered.pop(topic, None)
            return False
        covered = self._covered.get(topic)
        if covered is None or covered.named is not named:
            covered = self._covered[topic] = self._read(named)
        return covered.everything or partition in covered.partitions

    def _read(self, named: Sequence[str]) -> _Covered:
        """Parses a list of throttled replicas."""
        suffix = self._suffix
        ours = {one[: -len(suffix)] for one in named if one.endswith(suffix)}
        partitions = frozenset(int(number) for number in ours if number.isdecimal())
        return _Covered(named, EVERY_REPLICA in named, partitions)

    def record(self, topic_partition: TopicPartition, size_bytes: int) -> None:
        """Counts bytes of the partition that were sent or appended."""
        if self.covers(topic_partition):
            self.rate.add(size_bytes)


class LeaderThrottleMetrics(MetricTable, group="kafka.server:type=LeaderReplication", attributes=True):
    """The owner is the leaders' Throttle."""

    byte_rate = Gauge("byte-rate", of=lambda t: t.rate.per_second(), about="Throttled bytes sent, per second.")


class FollowerThrottleMetrics(MetricTable, group="kafka.server:type=FollowerReplication", attributes=True):
    """The owner is the followers' Throttle."""

    byte_rate = Gauge("byte-rate", of=lambda t: t.rate.per_second(), about="Throttled bytes fetched, per second.")


class MoveThrottleMetrics(MetricTable, group="kafka.server:type=AlterLogDirsReplication", attributes=True):
    """The owner is the Throttle of moves between log directories."""

    byte_rate = Gauge("byte-rate", of=lambda t: t.rate.per_second(), about="Bytes moved, per second.")

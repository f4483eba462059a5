"""What pages about groups look at: groups with commits and log ends, and the window of samples that tells their health.

Samples come from the history where it is kept; without it a group is judged by the present alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.history import metrics
from kafka_py.manager.history.metrics import MISSING, group_topic
from kafka_py.manager.history.queries import SeriesQuery
from kafka_py.manager.history.series import StoredRow, TrendDirection
from kafka_py.manager.history.service import HistoryService
from kafka_py.manager.history.settings import HOUR_MS
from kafka_py.manager.messages.positions import OffsetSpan
from kafka_py.manager.messages.record_times import record_times
from kafka_py.manager.messages.scanning import SCAN_CONFIGS, ScanBudget, ScanLimits
from kafka_py.manager.pages.history import history_of
from kafka_py.manager.pages.looks import PATIENCE
from kafka_py.manager.web.requests import PageRequest
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen, ViewPart
from kafka_py.operations.groups.health import CommitSample, PartitionHealth, partition_health

WINDOW_ROUNDS = 10
"""So many observations make the window, as in Burrow."""
MOST_DATED = 100
"""Of so many partitions a record is read to find out how old it is."""
DATING_LIMITS = ScanLimits(records=5_000, size_bytes=32 * 1024 * 1024, time_ms=1_500)

Samples = Mapping[TopicPartition, list[CommitSample]]


class GroupsLook(NamedTuple):
    """Some groups. ends: of the partitions that they have commits or members for. problems: snapshots with gaps."""

    groups: Mapping[str, GroupSeen]
    ends: Mapping[TopicPartition, int]
    snapshots: tuple[ClusterSnapshot, ...]
    now_ms: int

    def lag(self, group: GroupSeen, partition: TopicPartition) -> int | None:
        """The records that the group has not committed; None if not knowable."""
        committed, end = (group.committed or {}).get(partition), self.ends.get(partition)
        return None if committed is None or end is None else max(0, end - committed.offset)


def partitions_of(group: GroupSeen) -> list[TopicPartition]:
    """What it has commits or members for."""
    owned = {partition for member in group.members or () for partition in member.assignment}
    return sorted(owned | (group.committed or {}).keys())


async def look_at_groups(cluster: ManagedCluster, groups: Collection[str] | None, *parts: ViewPart) -> ClusterSnapshot:
    """Groups, all or these. Raises KafkaError if no broker answers at all."""
    snapshot = await look_at(cluster.admin, parts, groups=groups, limits=PATIENCE)
    if not snapshot.is_reached:
        why = snapshot.unseen_of(None)
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, why[0].detail if why else "no broker answers")
    return snapshot


async def look_closely(cluster: ManagedCluster, groups: Collection[str]) -> GroupsLook:
    """These groups with members, commits and log ends."""
    seen = await look_at_groups(cluster, frozenset(groups), ViewPart.GROUPS, ViewPart.COMMITTED)
    topics = sorted({partition.topic for group in seen.groups.values() for partition in partitions_of(group)})
    snapshots: tuple[ClusterSnapshot, ...] = (seen,)
    ends: dict[TopicPartition, int] = {}
    if topics:
        logs = await look_at(cluster.admin, [ViewPart.OFFSETS], topics=topics, limits=PATIENCE)
        ends = {partition: bounds.end_offset for partition, bounds in logs.offsets.items()}
        snapshots = (seen, logs)
    return GroupsLook(seen.groups, ends, snapshots, seen.taken_ms)


# ---- health


async def samples_of(request: PageRequest, look: GroupsLook, group: GroupSeen) -> Samples:
    """The window of each partition with a commit, by time; its last sample is the present."""
    found: dict[TopicPartition, list[CommitSample]] = {}
    committed = group.committed or {}
    service = history_of(request)
    if service is not None:
        for topic in sorted({partition.topic for partition in committed}):
            found |= await _past(service, request.cluster.name, group.group_id, topic, look.now_ms)
    for partition, offset in committed.items():
        end = look.ends.get(partition)
        if end is not None:
            past = [sample for sample in found.get(partition, []) if sample.time_ms < look.now_ms]
            found[partition] = [*past, CommitSample(look.now_ms, offset.offset, end)]
    return found


async def _past(
    service: HistoryService, cluster: str, group: str, topic: str, now_ms: int
) -> dict[TopicPartition, list[CommitSample]]:
    start_ms = now_ms - WINDOW_ROUNDS * service.settings.interval_ms
    commits = await service.store.vectors(cluster, metrics.COMMITTED, group_topic(group, topic), start_ms, now_ms)
    ends = await service.store.vectors(cluster, metrics.TOPIC_END, topic, start_ms, now_ms)
    return paired(topic, commits, ends)


def paired(
    topic: str, commits: Collection[StoredRow], ends: Collection[StoredRow]
) -> dict[TopicPartition, list[CommitSample]]:
    """Commits and log ends of the same rounds, by partition."""
    end_at = {row.time_ms: row.value for row in ends}
    found: dict[TopicPartition, list[CommitSample]] = {}
    for row in commits:
        end = end_at.get(row.time_ms)
        if not isinstance(row.value, tuple) or not isinstance(end, tuple):
            continue
        for number, (committed, log_end) in enumerate(zip(row.value, end, strict=False)):
            if MISSING not in (committed, log_end):
                sample = CommitSample(row.time_ms, committed, log_end)
                found.setdefault(TopicPartition(topic, number), []).append(sample)
    return found


def health_of(group: GroupSeen, samples: Samples, now_ms: int) -> dict[TopicPartition, PartitionHealth]:
    """How each partition is doing."""
    owned = {partition for member in group.members or () for partition in member.assignment}
    return {
        partition: partition_health(some, now_ms, has_member=partition in owned) for partition, some in samples.items()
    }


# ---- lag in time


async def ages_of(request: PageRequest, look: GroupsLook, group: GroupSeen) -> dict[TopicPartition, int]:
    """How long ago the next record of each partition was written, in ms; 0 without lag.

    From the history, and where it knows nothing by reading the record itself.
    """
    ages: dict[TopicPartition, int] = {}
    unknown: dict[TopicPartition, OffsetSpan] = {}
    past = await _past_ages(request, group)
    for partition, committed in sorted((group.committed or {}).items()):
        lag = look.lag(group, partition)
        if lag == 0:
            ages[partition] = 0
        elif lag is not None and past.get(partition, 0) > 0:
            ages[partition] = past[partition]
        elif lag is not None and len(unknown) < MOST_DATED:
            unknown[partition] = OffsetSpan(committed.offset, look.ends[partition])
    if unknown:
        with contextlib.suppress(KafkaError, OSError):  # the page shows the rest
            async with request.cluster.consumer(**SCAN_CONFIGS) as consumer:
                budget = ScanBudget(DATING_LIMITS, request.services.environment.clock)
                times = await record_times(consumer, unknown, budget)
            ages |= {partition: max(0, look.now_ms - time) for partition, time in times.items()}
    return ages


async def _past_ages(request: PageRequest, group: GroupSeen) -> dict[TopicPartition, int]:
    service = history_of(request)
    if service is None:
        return {}
    latest = await service.store.latest(request.cluster.name, metrics.LAG_MS)
    found: dict[TopicPartition, int] = {}
    for topic in {partition.topic for partition in group.committed or {}}:
        row = latest.get(group_topic(group.group_id, topic))
        if row is not None and isinstance(row.value, tuple):
            found |= {TopicPartition(topic, number): age for number, age in enumerate(row.value)}
    return found


async def lag_trend(request: PageRequest, group: str) -> TrendDirection:
    """Which way the lag of a group has gone in the last hour."""
    service = history_of(request)
    if service is None:
        return TrendDirection.UNKNOWN
    now_ms = service.clock.wall_ms()
    query = SeriesQuery(request.cluster.name, metrics.GROUP_LAG, group, now_ms - HOUR_MS, now_ms)
    return (await service.store.series(query)).trend.direction

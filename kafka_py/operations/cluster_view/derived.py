"""What follows from a snapshot: pure functions over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen

SAME_DISK = 1000


def partitions(snapshot: ClusterSnapshot) -> Iterator[PartitionInfo]:
    """All partitions, by topic and number."""
    for name in sorted(snapshot.topics):
        yield from snapshot.topics[name].partitions


def is_offline(snapshot: ClusterSnapshot, partition: PartitionInfo) -> bool:
    """Whether it has no live leader."""
    return partition.leader not in snapshot.nodes


def is_under_replicated(partition: PartitionInfo) -> bool:
    """Whether a replica is not in the in-sync set."""
    return len(partition.isr) < len(partition.replicas)


def missing_replicas(snapshot: ClusterSnapshot, partition: PartitionInfo) -> list[int]:
    """The replicas whose broker is not alive, or has reported their log directory as offline."""
    offline = set(partition.offline_replicas)
    return [each for each in partition.replicas if each in offline or each not in snapshot.nodes]


def is_preferred_leader(partition: PartitionInfo) -> bool:
    """Whether the first replica leads; true for a partition without replicas."""
    return not partition.replicas or partition.leader == partition.replicas[0]


def leaders_per_broker(snapshot: ClusterSnapshot) -> dict[int, int]:
    """How many partitions each live broker leads."""
    counts = dict.fromkeys(sorted(snapshot.nodes), 0)
    for partition in partitions(snapshot):
        if partition.leader in counts:
            counts[partition.leader] += 1
    return counts


def replicas_per_broker(snapshot: ClusterSnapshot) -> dict[int, int]:
    """How many replicas each broker has; brokers that are down included."""
    counts = dict.fromkeys(sorted(snapshot.nodes), 0)
    for partition in partitions(snapshot):
        for broker in partition.replicas:
            counts[broker] = counts.get(broker, 0) + 1
    return counts


def bytes_per_broker(snapshot: ClusterSnapshot) -> dict[int, int]:
    """The size of all replicas of each broker whose log directories were seen."""
    return {
        broker: sum(info.size_bytes for directory in directories.values() for info in directory.replicas.values())
        for broker, directories in sorted(snapshot.log_dirs.items())
    }


def disks_of(directories: Mapping[str, LogDirDescription]) -> dict[str, str]:
    """Log directory -> the first one on the same disk, for those whose disk is known.

    No broker names the disk, so those with the same numbers are on one. A broker looks at one directory after the
    other and writes meanwhile: the usable bytes may differ by one part in SAME_DISK. Two disks that are taken for one
    have less room together, so that no disk ever gets too much.
    """
    first: dict[int, list[tuple[int, str]]] = {}
    disks: dict[str, str] = {}
    for path, each in directories.items():
        if each.error is None and each.total_bytes is not None and each.usable_bytes is not None:
            alike = first.setdefault(each.total_bytes, [])
            for usable, disk in alike:
                if abs(usable - each.usable_bytes) * SAME_DISK <= each.total_bytes:
                    disks[path] = disk
                    break
            else:
                alike.append((each.usable_bytes, path))
                disks[path] = path
    return disks


def replica_bytes(snapshot: ClusterSnapshot) -> dict[TopicPartition, dict[int, int]]:
    """Partition -> broker -> the size of its replica there; a copy that is being moved between directories left out."""
    sizes: dict[TopicPartition, dict[int, int]] = {}
    for broker, directories in snapshot.log_dirs.items():
        for directory in directories.values():
            for partition, info in directory.replicas.items():
                if not info.is_future:
                    sizes.setdefault(partition, {})[broker] = info.size_bytes
    return sizes


def lag(snapshot: ClusterSnapshot, group: GroupSeen) -> dict[TopicPartition, int | None]:
    """The records that the group has not committed, per partition with a committed offset; None if not knowable.

    Never negative: commits and ends are read at slightly different times.
    """
    lags: dict[TopicPartition, int | None] = {}
    for partition, committed in sorted((group.committed or {}).items()):
        bounds = snapshot.offsets.get(partition)
        lags[partition] = None if bounds is None else max(0, bounds.end_offset - committed.offset)
    return lags

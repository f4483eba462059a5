"""From one look at a cluster to what a plan is made from.

Source: KIP-113 (sizes of replicas); KIP-827 (bytes of disks); docs/architecture.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import NO_NODE
from kafka_py.operations.cluster_view.derived import disks_of, partitions, replica_bytes
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.rebalancing.model import (
    RESERVE_PERCENT,
    PlanBroker,
    PlanCluster,
    PlanPartition,
    RebalanceRefused,
)

PLANNED_PARTS = (ViewPart.TOPICS, ViewPart.LOG_DIRS)
"""What a look has to ask for."""


def plan_cluster_of(
    snapshot: ClusterSnapshot,
    capacities: Mapping[int, int] | None = None,
    default_capacity: int | None = None,
    running: Mapping[TopicPartition, Sequence[int]] | None = None,
) -> PlanCluster:
    """The cluster. A partition is as large as its largest replica that was seen.

    capacities: bytes by broker, for those without one the default; without either, what the disks have room for, where
    the broker tells. running: what is being reassigned, with the replicas
    that it is to have: the metadata names those that are removed in the end as well. Raises RebalanceRefused if no
    broker has answered.
    """
    if not snapshot.is_reached:
        raise RebalanceRefused("; ".join(map(str, snapshot.unseen)) or "no broker has answered")
    sizes = replica_bytes(snapshot)
    rows = []
    for topic in snapshot.topics.values():
        for info in topic.partitions:
            partition = TopicPartition(topic.name, info.partition)
            leader = None if info.leader == NO_NODE or info.leader not in snapshot.nodes else info.leader
            size = max(sizes.get(partition, {}).values(), default=0)
            target = (running or {}).get(partition)
            replicas = tuple(info.replicas if target is None else target)
            rows.append(PlanPartition(partition, replicas, leader, size, target is not None))
    held = {broker for row in rows for broker in row.replicas}
    brokers = [
        PlanBroker(
            id_, snapshot.nodes[id_].rack if id_ in snapshot.nodes else None,
            _first(capacities.get(id_) if capacities else None, default_capacity, disk_capacity(snapshot, id_)),
            id_ in snapshot.nodes,
        )
        for id_ in sorted({*snapshot.nodes, *held})
    ]  # fmt: skip
    return PlanCluster(tuple(brokers), tuple(rows))


def _first(*values: int | None) -> int | None:
    """The first one that is known."""
    return next((value for value in values if value is not None), None)


def disk_capacity(snapshot: ClusterSnapshot, broker: int) -> int | None:
    """What the replicas of a broker may take together; None if not known.

    RESERVE_PERCENT of its disks stay free, and what else is stored there stays.
    """
    directories = snapshot.log_dirs.get(broker, {})
    disks = disks_of(directories)
    rooms: dict[str, int] = {}
    for path, each in directories.items():
        if each.error is not None:
            continue
        if each.total_bytes is None or each.usable_bytes is None:
            return None
        disk = disks[path]
        if disk not in rooms:
            rooms[disk] = each.usable_bytes - each.total_bytes * RESERVE_PERCENT // 100
        rooms[disk] += sum(info.size_bytes for info in each.replicas.values())
    return max(0, sum(rooms.values())) if rooms else None


def look_notes(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """What a plan from this look does not take into account."""
    notes = unseen_notes(snapshot)
    unnamed = unnamed_partitions(snapshot)
    if unnamed:
        notes.append(f"Brokers hold {len(unnamed)} partitions that the metadata does not name, such as {unnamed[0]}.")
    return tuple(notes)


def unseen_notes(snapshot: ClusterSnapshot) -> list[str]:
    """Brokers that did not tell what is in their log directories."""
    unseen = snapshot.unseen_of(ViewPart.LOG_DIRS)
    return [f"The sizes on broker {each.broker} are not known: {each}" for each in unseen]


def unnamed_partitions(snapshot: ClusterSnapshot) -> list[TopicPartition]:
    """Partitions that brokers hold and that the metadata does not name.

    The broker that was asked for metadata may have started just now, or a topic is being deleted.
    """
    named = {TopicPartition(info.topic, info.partition) for info in partitions(snapshot)}
    return sorted(replica_bytes(snapshot).keys() - named)

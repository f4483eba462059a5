"""From one look at a cluster to what a plan is made from.

Source: KIP-113 (sizes of replicas); docs/architecture.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import NO_NODE
from kafka_py.operations.cluster_view.derived import partitions, replica_bytes
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.rebalancing.model import PlanBroker, PlanCluster, PlanPartition, RebalanceRefused

PLANNED_PARTS = (ViewPart.TOPICS, ViewPart.LOG_DIRS)
"""What a look has to ask for."""


def plan_cluster_of(
    snapshot: ClusterSnapshot,
    capacities: Mapping[int, int] | None = None,
    default_capacity: int | None = None,
    running: Mapping[TopicPartition, Sequence[int]] | None = None,
) -> PlanCluster:
    """The cluster. A partition is as large as its largest replica that was seen.

    capacities: bytes by broker, for those without one the default. running: what is being reassigned, with the replicas
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
            (capacities or {}).get(id_, default_capacity), id_ in snapshot.nodes,
        )
        for id_ in sorted({*snapshot.nodes, *held})
    ]  # fmt: skip
    return PlanCluster(tuple(brokers), tuple(rows))


def look_notes(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """What a plan from this look does not take into account."""
    notes = [
        f"The sizes on broker {each.broker} are not known: {each}" for each in snapshot.unseen_of(ViewPart.LOG_DIRS)
    ]
    unnamed = unnamed_partitions(snapshot)
    if unnamed:
        notes.append(f"Brokers hold {len(unnamed)} partitions that the metadata does not name, such as {unnamed[0]}.")
    return tuple(notes)


def unnamed_partitions(snapshot: ClusterSnapshot) -> list[TopicPartition]:
    """Partitions that brokers hold and that the metadata does not name.

    The broker that was asked for metadata may have started just now, or a topic is being deleted.
    """
    named = {TopicPartition(info.topic, info.partition) for info in partitions(snapshot)}
    return sorted(replica_bytes(snapshot).keys() - named)

"""From one look at a cluster to what a plan for log directories is made from, and to where the replicas are now.

Source: KIP-113; KIP-827.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.clients.admin.log_dirs import LogDirDescription
from kafka_py.operations.cluster_view.derived import disks_of
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.directories.model import (
    DirectoryId,
    PlanDirectories,
    PlanDirectory,
    PlanReplica,
    ReplicaId,
)
from kafka_py.operations.rebalancing.model import RebalanceRefused


class ReplicaPlace(NamedTuple):
    """The directory of a replica, and the one to which it is being moved with the bytes there; None for none."""

    current: str | None = None
    future: str | None = None
    copied_bytes: int = 0


def plan_directories_of(snapshot: ClusterSnapshot) -> PlanDirectories:
    """Directories and replicas of the brokers that were seen. Raises RebalanceRefused if no broker has answered."""
    if not snapshot.is_reached:
        raise RebalanceRefused("; ".join(map(str, snapshot.unseen)) or "no broker has answered")
    directories: list[PlanDirectory] = []
    replicas: list[PlanReplica] = []
    for broker, found in snapshot.log_dirs.items():
        disks = disks_of(found)
        directories += [
            PlanDirectory(
                DirectoryId(broker, path), each.error is None, each.total_bytes, each.usable_bytes,
                disks.get(path, path),
            )
            for path, each in found.items()
        ]  # fmt: skip
        moving = {partition for each in found.values() for partition, info in each.replicas.items() if info.is_future}
        replicas += [
            PlanReplica(ReplicaId(partition, broker), path, info.size_bytes, partition in moving)
            for path, each in found.items()
            for partition, info in each.replicas.items()
            if not info.is_future
        ]
    return PlanDirectories(tuple(directories), tuple(replicas))


def places_of(log_dirs: Mapping[int, Mapping[str, LogDirDescription]]) -> dict[ReplicaId, ReplicaPlace]:
    """Where each replica is."""
    places: dict[ReplicaId, ReplicaPlace] = {}
    for broker, directories in log_dirs.items():
        for path, directory in directories.items():
            for partition, info in directory.replicas.items():
                id_ = ReplicaId(partition, broker)
                seen = places.get(id_, ReplicaPlace())
                places[id_] = (
                    seen._replace(future=path, copied_bytes=info.size_bytes)
                    if info.is_future
                    else seen._replace(current=path)
                )
    return places

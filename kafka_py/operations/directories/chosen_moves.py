"""A plan of moves that a user has chosen one by one: no goals, but the same rules of what can be moved at all."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.operations.directories.model import (
    DirectoriesProposal,
    DirectoriesRequest,
    DirectoryId,
    DirectoryLoad,
    DirectoryMove,
    PlanDirectories,
    PlanDirectory,
    PlanReplica,
    ReplicaId,
)
from kafka_py.operations.directories.planner import BrokerPlacement
from kafka_py.operations.rebalancing.model import RebalanceRefused


def propose_chosen(cluster: PlanDirectories, targets: Mapping[ReplicaId, str]) -> DirectoriesProposal:
    """The plan that moves these replicas to these directories; those that are there already are left out.

    Raises RebalanceRefused where one of the moves cannot be made, and says which.
    """
    replicas = {each.id: each for each in cluster.replicas}
    directories = {each.id: each for each in cluster.directories}
    for id_, path in targets.items():
        _check(id_, path, replicas, directories)
    moves: list[DirectoryMove] = []
    before: list[DirectoryLoad] = []
    after: list[DirectoryLoad] = []
    for broker in sorted({id_.broker for id_ in targets}):
        place = BrokerPlacement(
            sorted((each for each in cluster.directories if each.id.broker == broker), key=lambda one: one.id),
            [each for each in cluster.replicas if each.id.broker == broker],
            DirectoriesRequest(),
        )
        before += _loads(broker, place)
        moves += _move(place, targets)
        after += _loads(broker, place)
    return DirectoriesProposal(DirectoriesRequest(), tuple(moves), tuple(before), tuple(after))


def _check(
    id_: ReplicaId, path: str, replicas: Mapping[ReplicaId, PlanReplica],
    directories: Mapping[DirectoryId, PlanDirectory],
) -> None:  # fmt: skip
    replica = replicas.get(id_)
    if replica is None:
        raise RebalanceRefused(f"There is no replica of {id_} in a log directory that is online")
    if replica.is_moving:
        raise RebalanceRefused(f"{id_} is being moved already")
    target = directories.get(DirectoryId(id_.broker, path))
    if target is None:
        listed = ", ".join(sorted(each.path for each in directories if each.broker == id_.broker))
        raise RebalanceRefused(f"Broker {id_.broker} has no log directory {path}; there are {listed}")
    if not target.is_online:
        raise RebalanceRefused(f"The log directory {target.id} is offline: nothing can be moved to it")


def _move(place: BrokerPlacement, targets: Mapping[ReplicaId, str]) -> list[DirectoryMove]:
    """Raises RebalanceRefused for what does not fit on the disk of its target."""
    moves = []
    for number, replica in enumerate(place.replicas):
        path = targets.get(replica.id, replica.path)
        if path == replica.path:
            continue
        if not place.fits(number, path):
            raise RebalanceRefused(
                f"The disk of {DirectoryId(replica.id.broker, path)} has no room for {replica.id} beside what is to be "
                "moved there"
            )
        place.move(number, path)
        moves.append(DirectoryMove(replica.id, replica.path, path, replica.size_bytes))
    return moves


def _loads(broker: int, place: BrokerPlacement) -> list[DirectoryLoad]:
    return [
        DirectoryLoad(DirectoryId(broker, path), each.is_online, place.at.count(path), place.bytes[path], None, None)
        for path, each in place.directories.items()
    ]

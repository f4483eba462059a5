"""Makes a plan for log directories: each broker for itself, as few bytes as possible.

A directory is to hold its share of the broker's bytes, by the size of its disk where that is known of all of them, else
as much as the others. A move is made only if it brings the broker nearer to that, so a plan ends, and one for what a
plan has led to is empty. While a replica moves it takes its room twice: a disk gets no more than is free on it now.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kafka_py.operations.directories.model import (
    DirectoriesProposal,
    DirectoriesRequest,
    DirectoryId,
    DirectoryLoad,
    DirectoryMove,
    PlanDirectories,
    PlanDirectory,
    PlanReplica,
)
from kafka_py.operations.rebalancing.bands import GoalBand
from kafka_py.operations.rebalancing.model import RESERVE_PERCENT, RebalanceRefused


class BrokerPlacement:
    """Where the replicas of one broker are while a plan is made. Replicas are numbers, by name.

    bands: the wanted bytes of the directories that may get replicas.
    """

    def __init__(
        self, directories: Sequence[PlanDirectory], replicas: Sequence[PlanReplica], request: DirectoriesRequest
    ) -> None:
        self.replicas = sorted(replicas)
        self.at = [replica.path for replica in self.replicas]
        self.directories = {each.id.path: each for each in directories}
        self.bytes = dict.fromkeys(self.directories, 0)
        self.movable: dict[str, list[tuple[int, int]]] = {path: [] for path in self.directories}
        for number, replica in enumerate(self.replicas):
            self.bytes[replica.path] += replica.size_bytes
            if not replica.is_moving:
                insort(self.movable[replica.path], (replica.size_bytes, number))
        self.targets = [each.id.path for each in directories if each.is_online and each.id not in request.drained]
        self.bands = self._bands(request.tolerance_percent)
        self._room = _rooms(directories)

    def _bands(self, tolerance_percent: int) -> dict[str, GoalBand]:
        sizes = {path: self.directories[path].total_bytes for path in self.targets}
        weights = {path: size or 1 for path, size in sizes.items()} if all(sizes.values()) else dict.fromkeys(sizes, 1)
        held, whole = sum(self.bytes[path] for path in self.targets), sum(weights.values())
        bands = {}
        for path, weight in weights.items():
            share = held * weight
            lowest = -(-share * (100 - tolerance_percent) // (100 * whole))
            highest = max(-(-share // whole), share * (100 + tolerance_percent) // (100 * whole))
            bands[path] = GoalBand(min(lowest, share // whole), highest)
        return bands

    def fits(self, number: int, path: str) -> bool:
        """Whether the disk of a directory can take the replica beside what it is to get already."""
        disk = self.directories[path].disk
        return path == self.replicas[number].path or self.replicas[number].size_bytes <= self._room.get(disk, 1 << 80)

    def move(self, number: int, path: str) -> None:
        replica, source = self.replicas[number], self.at[number]
        for place, sign in ((source, 1), (path, -1)):
            disk = self.directories[place].disk
            if place != replica.path and disk in self._room:
                self._room[disk] += sign * replica.size_bytes
        self.movable[source].remove((replica.size_bytes, number))
        insort(self.movable[path], (replica.size_bytes, number))
        self.bytes[source] -= replica.size_bytes
        self.bytes[path] += replica.size_bytes
        self.at[number] = path

    def gain(self, source: str, target: str, size_bytes: int) -> int:
        """By how much a move brings both directories nearer to what is wanted; negative for further away."""
        held, bands = self.bytes, self.bands
        before = bands[source].cost(held[source]) + bands[target].cost(held[target])
        return before - bands[source].cost(held[source] - size_bytes) - bands[target].cost(held[target] + size_bytes)


def _rooms(directories: Sequence[PlanDirectory]) -> dict[str, int]:
    """What each disk can take; disks of which that is not known are left out."""
    return {
        each.disk: max(0, each.usable_bytes - each.total_bytes * RESERVE_PERCENT // 100)
        for each in directories
        if each.usable_bytes is not None and each.total_bytes is not None
    }


def propose(cluster: PlanDirectories, request: DirectoriesRequest) -> DirectoriesProposal:
    """The plan. Raises RebalanceRefused for a request that makes no sense for these brokers."""
    check(cluster, request)
    moves: list[DirectoryMove] = []
    before: list[DirectoryLoad] = []
    after: list[DirectoryLoad] = []
    for broker in sorted({each.id.broker for each in cluster.directories}):
        if request.brokers and broker not in request.brokers:
            continue
        directories = sorted((each for each in cluster.directories if each.id.broker == broker), key=lambda one: one.id)
        replicas = [each for each in cluster.replicas if each.id.broker == broker]
        if request.drained and not any(each.id in request.drained for each in directories):
            continue
        place = BrokerPlacement(directories, replicas, request)
        before += _loads(place, request)
        if request.drained:
            _drain(place, {each.path for each in request.drained if each.broker == broker})
        else:
            _even_out(place)
        after += _loads(place, request)
        moves += (
            DirectoryMove(replica.id, replica.path, path, replica.size_bytes)
            for replica, path in zip(place.replicas, place.at, strict=True)
            if path != replica.path
        )
    return DirectoriesProposal(request, tuple(moves), tuple(before), tuple(after), tuple(_notes(cluster, request)))


def check(cluster: PlanDirectories, request: DirectoriesRequest) -> None:
    """What must hold for any plan. Raises RebalanceRefused."""
    if not 0 <= request.tolerance_percent <= 100:
        raise RebalanceRefused(f"The tolerance is a percentage from 0 to 100, not {request.tolerance_percent}")
    known = {each.id: each for each in cluster.directories}
    unknown = sorted(request.brokers - {each.broker for each in known})
    if unknown:
        raise RebalanceRefused(f"The log directories of broker {', '.join(map(str, unknown))} are not known")
    for each in sorted(request.drained):
        if each not in known:
            listed = ", ".join(str(id_) for id_ in sorted(known) if id_.broker == each.broker)
            raise RebalanceRefused(f"There is no log directory {each}; there are {listed or 'none of that broker'}")
        if not known[each].is_online:
            raise RebalanceRefused(f"The log directory {each} is offline: nothing can be moved away from it")
        if not any(one.is_online and id_.broker == each.broker and id_ not in request.drained
                   for id_, one in known.items()):  # fmt: skip
            raise RebalanceRefused(f"Broker {each.broker} has no other log directory that is online")


def _drain(place: BrokerPlacement, drained: set[str]) -> None:
    """Replicas leave these directories, the largest first, each to the directory that is furthest from its share."""
    for path in sorted(drained):
        for _, number in list(reversed(place.movable[path])):
            fitting = [target for target in place.targets if place.fits(number, target)]
            if fitting:
                place.move(number, min(fitting, key=lambda target: (_part_of_share(place, target), target)))


def _part_of_share(place: BrokerPlacement, path: str) -> float:
    return place.bytes[path] / max(1, place.bands[path].highest)


def _even_out(place: BrokerPlacement) -> None:
    """One move at a time between the two directories that are furthest apart, until none makes it better."""
    while any(_improve(place, source, target) for source, target in _pairs(place)):
        pass


def _pairs(place: BrokerPlacement) -> Iterator[tuple[str, str]]:
    """From the fullest directory to the emptiest first; at least one of the two is outside of its band."""
    order = sorted(place.targets, key=lambda path: (_part_of_share(place, path), path))
    for source in reversed(order):
        for target in order:
            if target != source and (
                place.bytes[source] > place.bands[source].highest or place.bytes[target] < place.bands[target].lowest
            ):
                yield source, target


def _improve(place: BrokerPlacement, source: str, target: str) -> bool:
    """Makes the move that copies least and is enough, else the one that gains most by byte. False if none gains."""
    bands, held = place.bands, place.bytes
    need = max(held[source] - bands[source].highest, bands[target].lowest - held[target])
    candidates = place.movable[source]
    first = bisect_left(candidates, (need, -1))
    for size, number in (*candidates[first:], *reversed(candidates[:first])):
        if size and place.gain(source, target, size) > 0 and place.fits(number, target):
            place.move(number, target)
            return True
    return False


def _loads(place: BrokerPlacement, request: DirectoriesRequest) -> list[DirectoryLoad]:
    counts = Counter(place.at)
    loads = []
    for path, each in place.directories.items():
        band: GoalBand | None = None if request.drained else place.bands.get(path)
        if each.id in request.drained:
            band = GoalBand(0, 0)
        lowest, highest = (None, None) if band is None else band
        loads.append(DirectoryLoad(each.id, each.is_online, counts[path], place.bytes[path], lowest, highest))
    return loads


def _notes(cluster: PlanDirectories, request: DirectoriesRequest) -> Iterator[str]:
    chosen: Mapping[DirectoryId, PlanDirectory] = {
        each.id: each for each in cluster.directories if not request.brokers or each.id.broker in request.brokers
    }
    for each in chosen.values():
        if not each.is_online:
            yield f"The log directory {each.id} is offline: nothing is moved to it or from it."
    replicas = [each for each in cluster.replicas if DirectoryId(each.id.broker, each.path) in chosen]
    moving = [each.id for each in replicas if each.is_moving]
    if moving:
        yield f"{len(moving)} replicas are being moved already, such as {moving[0]}: the plan leaves them out."

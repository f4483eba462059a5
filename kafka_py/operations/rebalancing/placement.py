"""Where all replicas are while a plan is being made: the one value that the goals change, with its counts.

Partitions are numbers here, by their names' order, so that the same cluster always leads to the same plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from kafka_py.operations.rebalancing.model import PlanCluster

NO_BROKERS: frozenset[int] = frozenset()


class Placement:
    """rows: replicas by partition, the preferred leader first. movable: partitions that may change.

    targets: brokers that may get replicas and count for averages: live ones that are not removed, by id.
    """

    def __init__(self, cluster: PlanCluster, movable: Collection[int], removed: Collection[int] = NO_BROKERS) -> None:
        """movable: indices of cluster.partitions."""
        self.rows = [list(row.replicas) for row in cluster.partitions]
        self.sizes = [row.size_bytes for row in cluster.partitions]
        self.movable = sorted(movable)
        self.may_move = [False] * len(self.rows)
        for number in self.movable:
            self.may_move[number] = True
        self._origins = [frozenset(row.replicas) for row in cluster.partitions]
        self.moved_bytes = 0
        brokers = {broker.id: broker for broker in cluster.brokers}
        ids = sorted({*brokers, *(broker for row in self.rows for broker in row)})
        self.brokers = ids
        self.targets = [id_ for id_ in ids if id_ in brokers and brokers[id_].is_live and id_ not in removed]
        self.capacity = {id_: brokers[id_].capacity_bytes if id_ in brokers else None for id_ in ids}
        self.racks = rack_names(cluster, self.targets)
        self._rack_sizes = Counter(self.racks[id_] for id_ in self.targets) if self.racks else Counter()
        self._rack_limits: dict[int, int] = {}
        self.topics, self.topic_partitions = _numbered_topics(cluster)
        self.replicas = dict.fromkeys(ids, 0)
        self.leads = dict.fromkeys(ids, 0)
        self.bytes = dict.fromkeys(ids, 0)
        self.topic_counts = [dict.fromkeys(ids, 0) for _ in self.topic_partitions]
        self.on: dict[int, set[int]] = {id_: set() for id_ in ids}
        for number, row in enumerate(self.rows):
            for position, broker in enumerate(row):
                self._count(number, broker, 1, leads=position == 0)

    def _count(self, number: int, broker: int, sign: int, *, leads: bool) -> None:
        self.replicas[broker] += sign
        self.bytes[broker] += sign * self.sizes[number]
        self.topic_counts[self.topics[number]][broker] += sign
        if leads:
            self.leads[broker] += sign
        if sign > 0:
            self.on[broker].add(number)
        else:
            self.on[broker].discard(number)

    def copied_by(self, number: int, old: int | None, new: int) -> int:
        """How many more bytes are copied in all if this replica moves; negative for one that moves back."""
        origin = self._origins[number]
        return self.sizes[number] * ((new not in origin) - (old is not None and old not in origin))

    # ---- changes

    def replace(self, number: int, old: int, new: int) -> None:
        """A replica moves; it keeps its place in the order."""
        self.moved_bytes += self.copied_by(number, old, new)
        row = self.rows[number]
        position = row.index(old)
        row[position] = new
        self._count(number, old, -1, leads=position == 0)
        self._count(number, new, 1, leads=position == 0)

    def add(self, number: int, broker: int) -> None:
        """One replica more, the last in the order."""
        self.moved_bytes += self.copied_by(number, None, broker)
        row = self.rows[number]
        row.append(broker)
        self._count(number, broker, 1, leads=len(row) == 1)

    def remove(self, number: int, broker: int) -> None:
        """One replica less; the next in the order may become the preferred leader."""
        self._reorder(number, [other for other in self.rows[number] if other != broker])
        self._count(number, broker, -1, leads=False)
        self.moved_bytes -= 0 if broker in self._origins[number] else self.sizes[number]

    def promote(self, number: int, broker: int) -> None:
        """A replica becomes the preferred leader; it changes places with the present one."""
        row = list(self.rows[number])
        position = row.index(broker)
        row[0], row[position] = row[position], row[0]
        self._reorder(number, row)

    def order(self, number: int, row: Sequence[int]) -> None:
        """The same replicas in another order."""
        self._reorder(number, list(row))

    def _reorder(self, number: int, row: list[int]) -> None:
        before = self.rows[number]
        if before and (not row or before[0] != row[0]):
            self.leads[before[0]] -= 1
            if row:
                self.leads[row[0]] += 1
        self.rows[number] = row

    # ---- rules

    def rack_limit(self, factor: int) -> int:
        """How many of so many replicas may share a rack: the fewest with which all of them have a broker."""
        found = self._rack_limits.get(factor)
        if found is None:
            found = next(
                (limit for limit in range(1, factor)
                 if sum(min(size, limit) for size in self._rack_sizes.values()) >= factor), max(1, factor)
            )  # fmt: skip
            self._rack_limits[factor] = found
        return found

    def rack_fits(self, number: int, old: int | None, new: int, factor: int | None = None) -> bool:
        """Whether a replica may move as far as racks are concerned. old: None for one that is added.

        A move inside of a rack never makes it worse.
        """
        if not self.racks:
            return True
        rack = self.racks.get(new)
        if old is not None and self.racks.get(old) == rack:
            return True
        row = self.rows[number]
        limit = self.rack_limit(len(row) if factor is None else factor)
        return sum(self.racks.get(other) == rack for other in row if other != old) < limit

    def crowded_racks(self, number: int) -> dict[str, list[int]]:
        """Racks that hold more replicas of a partition than they should, with the brokers that share them."""
        if not self.racks:
            return {}
        by_rack: dict[str, list[int]] = {}
        for broker in self.rows[number]:
            if broker in self.racks:
                by_rack.setdefault(self.racks[broker], []).append(broker)
        limit = self.rack_limit(len(self.rows[number]))
        return {rack: shared for rack, shared in by_rack.items() if len(shared) > limit}

    def disk_fits(self, broker: int, more_bytes: int) -> bool:
        """Whether a broker may get so many bytes more; one that gets none or fewer always may."""
        capacity = self.capacity[broker]
        return capacity is None or more_bytes <= 0 or self.bytes[broker] + more_bytes <= capacity

    def destination(
        self, number: int, old: int | None, into: Iterable[int], *, factor: int | None = None, racks: bool = True
    ) -> int | None:
        """The best broker for a replica that has to move or is added; None if there is none.

        That is the one with the fewest replicas, among those the one with the fewest of the topic, then of bytes.
        """
        row, size = self.rows[number], self.sizes[number]
        counts = self.topic_counts[self.topics[number]]
        fitting = [
            (self.replicas[broker], counts[broker], self.bytes[broker], broker)
            for broker in into
            if broker not in row and self.disk_fits(broker, size)
            and (not racks or self.rack_fits(number, old, broker, factor))
        ]  # fmt: skip
        return min(fitting)[-1] if fitting else None


def rack_names(cluster: PlanCluster, targets: Collection[int]) -> dict[int, str]:
    """The rack of each broker; empty unless all that may get replicas have one, as Apache Kafka has it."""
    names = {broker.id: broker.rack for broker in cluster.brokers}
    if any(names.get(broker) is None for broker in targets):
        return {}
    return {broker: rack for broker, rack in names.items() if rack is not None}


def _numbered_topics(cluster: PlanCluster) -> tuple[list[int], list[list[int]]]:
    """The number of each partition's topic, and the partitions of each topic."""
    numbers: dict[str, int] = {}
    topics: list[int] = []
    members: list[list[int]] = []
    for index, row in enumerate(cluster.partitions):
        number = numbers.setdefault(row.partition.topic, len(numbers))
        if number == len(members):
            members.append([])
        members[number].append(index)
        topics.append(number)
    return topics, members

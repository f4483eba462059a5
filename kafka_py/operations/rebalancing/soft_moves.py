"""What the soft goals have in common: which replicas may move or change places, and what that costs each goal.

A goal counts only while it is asked for: the band of any other holds every number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_py.operations.rebalancing.bands import GoalBand, band_around_average
from kafka_py.operations.rebalancing.model import Goal, PlanRequest
from kafka_py.operations.rebalancing.placement import Placement

ANYTHING = GoalBand(0, 1 << 80)
TOPIC_TOLERANCE_PERCENT = 50
"""The least tolerance for replicas of one topic per broker: evening out each topic copies much and gains little."""


class GoalBands(NamedTuple):
    """The bands of all soft goals. topics: one for each topic."""

    replicas: GoalBand
    leaders: GoalBand
    bytes: GoalBand
    topics: list[GoalBand]


def bands_of(place: Placement, request: PlanRequest) -> GoalBands:
    """The bands around today's averages of the brokers that may get replicas."""
    tolerance, targets = request.tolerance_percent, place.targets

    def band(goal: Goal, numbers: dict[int, int], percent: int) -> GoalBand:
        return band_around_average(numbers, targets, percent) if goal in request.goals else ANYTHING

    return GoalBands(
        band(Goal.REPLICAS, place.replicas, tolerance),
        band(Goal.LEADERS, place.leads, tolerance),
        band(Goal.BYTES, place.bytes, tolerance),
        [band(Goal.TOPICS, counts, max(tolerance, TOPIC_TOLERANCE_PERCENT)) for counts in place.topic_counts],
    )


class SoftMoves:
    """Moves and exchanges between brokers that may get replicas. into: those that may get more, by id."""

    def __init__(self, place: Placement, bands: GoalBands, into: Iterable[int], max_bytes: int | None) -> None:
        self.place = place
        self.bands = bands
        self.into = sorted(into)
        self._max_bytes = max_bytes

    def _affordable(self, more_bytes: int) -> bool:
        return self._max_bytes is None or more_bytes <= 0 or self.place.moved_bytes + more_bytes <= self._max_bytes

    # ---- hard goals

    def may_move(self, number: int, source: int, target: int) -> bool:
        """Whether this replica may move as far as hard goals and the bound on copied bytes are concerned."""
        place = self.place
        return (
            target not in place.rows[number]
            and place.rack_fits(number, source, target)
            and place.disk_fits(target, place.sizes[number])
            and self._affordable(place.copied_by(number, source, target))
        )

    def may_swap(self, number: int, source: int, other: int, target: int) -> bool:
        """Whether `number` may move from source to target and `other` back."""
        place = self.place
        more = place.sizes[number] - place.sizes[other]
        return (
            target not in place.rows[number]
            and source not in place.rows[other]
            and place.rack_fits(number, source, target)
            and place.rack_fits(other, target, source)
            and place.disk_fits(target, more)
            and place.disk_fits(source, -more)
            and self._affordable(place.copied_by(number, source, target) + place.copied_by(other, target, source))
        )

    # ---- what a change costs the goals; negative is better

    def replica_cost(self, source: int, target: int) -> int:
        replicas = self.place.replicas
        return self.bands.replicas.change(replicas[source], replicas[target], 1)

    def leader_cost(self, number: int, source: int, target: int, other: int | None = None) -> int:
        """other: what moves back at the same time."""
        place = self.place
        amount = int(place.rows[number][0] == source)
        if other is not None:
            amount -= int(place.rows[other][0] == target)
        return self.bands.leaders.change(place.leads[source], place.leads[target], amount) if amount else 0

    def byte_cost(self, source: int, target: int, amount: int) -> int:
        held = self.place.bytes
        return self.bands.bytes.change(held[source], held[target], amount)

    def topic_cost(self, number: int, source: int, target: int) -> int:
        topic = self.place.topics[number]
        counts = self.place.topic_counts[topic]
        return self.bands.topics[topic].change(counts[source], counts[target], 1)

    # ---- changes

    def move(self, number: int, source: int, target: int) -> None:
        self.place.replace(number, source, target)

    def swap(self, number: int, source: int, other: int, target: int) -> None:
        self.place.replace(number, source, target)
        self.place.replace(other, target, source)

    def movable_on(self, broker: int) -> list[int]:
        """The replicas of a broker that may move, by number."""
        may_move = self.place.may_move
        return sorted(number for number in self.place.on[broker] if may_move[number])


def nearest(held: list[tuple[int, int]], size: int, most: int) -> Iterator[tuple[int, int]]:
    """At most so many pairs (size, partition) of a sorted list, those nearest to a size first."""
    above = bisect_left(held, (size, -1))
    below = above - 1
    for _ in range(most):
        if above < len(held) and (below < 0 or held[above][0] - size <= size - held[below][0]):
            yield held[above]
            above += 1
        elif below >= 0:
            yield held[below]
            below -= 1
        else:
            return

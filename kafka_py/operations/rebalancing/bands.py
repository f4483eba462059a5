"""The range in which each soft goal wants a number per broker, and what it costs to be outside of it.

The cost is the square of the distance, summed over brokers: a change is an improvement exactly if the sum gets smaller,
so that two brokers outside of the range are evened out as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class GoalBand(NamedTuple):
    """lowest, highest: both inclusive."""

    lowest: int
    highest: int

    def cost(self, number: int) -> int:
        """The squared distance of a number from the band."""
        if number > self.highest:
            return (number - self.highest) ** 2
        return (self.lowest - number) ** 2 if number < self.lowest else 0

    def change(self, source: int, target: int, amount: int) -> int:
        """How much the cost changes when `amount` moves from one broker's number to another's."""
        return (
            self.cost(source - amount) - self.cost(source) + self.cost(target + amount) - self.cost(target)
        )

    def total(self, numbers: Iterable[int]) -> int:
        return sum(map(self.cost, numbers))


def band_around_average(numbers: Mapping[int, int], brokers: Iterable[int], tolerance_percent: int) -> GoalBand:
    """The average of these brokers and the tolerance around it, but never narrower than whole numbers allow."""
    chosen = [numbers[broker] for broker in brokers]
    if not chosen:
        return GoalBand(0, 0)
    total, count = sum(chosen), len(chosen)
    lowest = min(total // count, -(-total * (100 - tolerance_percent) // (100 * count)))
    highest = max(-(-total // count), total * (100 + tolerance_percent) // (100 * count))
    return GoalBand(max(0, lowest), highest)

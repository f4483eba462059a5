"""The goal of leader counts: each broker is the preferred leader of about as many partitions as the others.

Only the order of replicas changes, so nothing is copied. Where no replica of a busy broker's partitions is on an idle
one, leadership is handed on over brokers between them, along the shortest such path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from itertools import pairwise

from kafka_py.operations.rebalancing.bands import GoalBand
from kafka_py.operations.rebalancing.placement import Placement

Edges = dict[int, dict[int, dict[int, None]]]
"""Leader -> other replica -> partitions that could be handed on, in order."""


def balance_leaders(
    place: Placement, band: GoalBand, candidates: Collection[int], partitions: Iterable[int] | None = None
) -> bool:
    """Hands leadership on until no path is an improvement.

    candidates: brokers that may lead more. partitions: those whose order may change, all movable ones by default.
    """
    edges: Edges = {broker: {} for broker in place.brokers}
    for number in place.movable if partitions is None else sorted(partitions):
        _link(place, edges, number, candidates)
    changed = False
    is_better = True
    while is_better:
        is_better = False
        for source in sorted(place.targets, key=lambda each: (-place.leads[each], each)):
            while (path := _best_path(place, band, edges, source)) is not None:
                _hand_on(place, edges, path, candidates)
                changed = is_better = True
    return changed


def _link(place: Placement, edges: Edges, number: int, candidates: Collection[int]) -> None:
    leader, *others = place.rows[number] or [-1]
    for other in others:
        if other in candidates:
            edges[leader].setdefault(other, {})[number] = None


def _best_path(place: Placement, band: GoalBand, edges: Edges, source: int) -> list[int] | None:
    """The path whose end gains most; the shortest of several. None where none is an improvement."""
    before: dict[int, int] = {}
    depths = {source: 0}
    queue = deque([source])
    best: tuple[int, int, int] | None = None
    while queue:
        broker = queue.popleft()
        for other in sorted(edges[broker]):
            if other in depths or not edges[broker][other]:
                continue
            before[other], depths[other] = broker, depths[broker] + 1
            queue.append(other)
            gain = band.change(place.leads[source], place.leads[other], 1)
            if gain < 0 and (best is None or (gain, depths[other], other) < best):
                best = (gain, depths[other], other)
    if best is None:
        return None
    path = [best[-1]]
    while path[-1] != source:
        path.append(before[path[-1]])
    return path[::-1]


def _hand_on(place: Placement, edges: Edges, path: list[int], candidates: Collection[int]) -> None:
    """One partition of each broker of the path gets the next one as its preferred leader."""
    chosen = [next(iter(edges[old][new])) for old, new in pairwise(path)]
    for number, old, new in zip(chosen, path, path[1:], strict=False):
        for others in edges[old].values():
            others.pop(number, None)
        place.promote(number, new)
        _link(place, edges, number, candidates)

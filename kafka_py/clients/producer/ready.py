"""Which lanes can be sent from, per broker, so that the sender examines only lanes that have changed.

A lane is in one collection at a time: ready for its leader, waiting until a time (to linger or to back off), without a
leader, or in none, when it has nothing to send or waits for a response. The sender moves it whenever one of its batches
was opened, closed, completed or put back, its leader changed, or its time has come.

Ready lanes of one broker are served in turn: the lane served last is behind all others.

Pure: knows no clock and sends nothing. Source: RecordAccumulator.ready.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import OrderedDict
from collections.abc import Iterable

from kafka_py.clients.producer.lanes import Lane


class ReadyLanes:
    """The lanes of one producer by what they wait for."""

    def __init__(self) -> None:
        self._ready: dict[int, OrderedDict[Lane, None]] = {}
        self._waiting: dict[Lane, None] = {}
        self._eager: dict[int, dict[Lane, None]] = {}
        self._leaderless: dict[Lane, None] = {}
        self._moments: list[tuple[float, int, Lane]] = []
        """A heap of (time in ms, tie-breaker, lane); an entry is valid while the lane's `due_ms` is that time."""
        self._order = itertools.count()

    def forget(self, lane: Lane) -> None:
        """Removes a lane from the collection that contains it."""
        place = lane.place
        if place is not None:
            del place[lane]
            lane.place = None
            lane.due_ms = math.inf

    def put_ready(self, lane: Lane) -> None:
        """The lane may be sent from now. A lane that is ready already keeps its place in the order."""
        place = self._ready.get(lane.leader)
        if place is None:
            place = self._ready[lane.leader] = OrderedDict()
        self._move(lane, place)

    def put_waiting(self, lane: Lane, until_ms: float, *, eager: bool = False) -> None:
        """The lane waits until a time; an eager one only until its leader has no outstanding requests (`idle`)."""
        self._move(lane, self._eager.setdefault(lane.leader, {}) if eager else self._waiting)
        if lane.due_ms != until_ms:
            lane.due_ms = until_ms
            heapq.heappush(self._moments, (until_ms, next(self._order), lane))

    def put_leaderless(self, lane: Lane) -> None:
        """The lane's partition has no leader."""
        self._move(lane, self._leaderless)

    def _move(self, lane: Lane, place: dict[Lane, None]) -> None:
        if lane.place is not place:
            self.forget(lane)
            place[lane] = None
            lane.place = place

    # ---- queries of the sender

    @property
    def has_leaderless(self) -> bool:
        return bool(self._leaderless)

    def due(self, now_ms: float) -> list[Lane]:
        """Removes and returns the lanes whose time has come."""
        found = []
        while self.next_ms <= now_ms:
            lane = heapq.heappop(self._moments)[2]
            self.forget(lane)
            found.append(lane)
        return found

    @property
    def next_ms(self) -> float:
        """When the next waiting lane is due, in ms; inf when none waits."""
        moments = self._moments
        while moments and moments[0][2].due_ms != moments[0][0]:
            heapq.heappop(moments)
        return moments[0][0] if moments else math.inf

    def idle(self, node_id: int) -> Iterable[Lane]:
        """The eager lanes of a broker, which may be sent from now that it has no outstanding requests."""
        return list(self._eager.get(node_id, ()))

    def nodes(self) -> list[int]:
        """The node ids of brokers with ready lanes."""
        return [node_id for node_id, lanes in self._ready.items() if lanes]

    def count(self, node_id: int) -> int:
        """The number of lanes that are ready for a broker."""
        return len(self._ready.get(node_id, ()))

    def first(self, node_id: int) -> Lane:
        """The next ready lane of a broker; there must be one."""
        return next(iter(self._ready[node_id]))

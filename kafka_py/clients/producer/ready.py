"""Which lanes can be sent from, per broker, so that the sender looks only at lanes to which something happened.

A lane is in one place at a time: ready for its leader, waiting until a moment (for more records, or to be sent again),
without a leader, or nowhere, when it has nothing to send or waits for an answer. The sender puts it where it belongs
whenever a batch of it was opened, closed, answered or put back, its leader changed, or its moment has come.

Ready lanes of one broker are taken in turn: the one that was served last waits behind all others.

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
    """The places of all lanes of one producer."""

    def __init__(self) -> None:
        self._ready: dict[int, OrderedDict[Lane, None]] = {}
        self._waiting: dict[Lane, None] = {}
        self._eager: dict[int, dict[Lane, None]] = {}
        self._leaderless: dict[Lane, None] = {}
        self._moments: list[tuple[float, int, Lane]] = []
        """A heap; an entry counts while its lane still waits for that very moment."""
        self._order = itertools.count()

    def forget(self, lane: Lane) -> None:
        """Takes a lane out of where it is."""
        place = lane.place
        if place is not None:
            del place[lane]
            lane.place = None
            lane.due_ms = math.inf

    def put_ready(self, lane: Lane) -> None:
        """The lane's first batch may be sent to its leader now. A lane that is ready already keeps its turn."""
        place = self._ready.get(lane.leader)
        if place is None:
            place = self._ready[lane.leader] = OrderedDict()
        self._move(lane, place)

    def put_waiting(self, lane: Lane, until_ms: float, *, eager: bool = False) -> None:
        """The lane is due at a moment; an eager one also when its leader has answered all requests (`idle`)."""
        self._move(lane, self._eager.setdefault(lane.leader, {}) if eager else self._waiting)
        if lane.due_ms != until_ms:
            lane.due_ms = until_ms
            heapq.heappush(self._moments, (until_ms, next(self._order), lane))

    def put_leaderless(self, lane: Lane) -> None:
        """Nobody leads the lane's partition."""
        self._move(lane, self._leaderless)

    def _move(self, lane: Lane, place: dict[Lane, None]) -> None:
        if lane.place is not place:
            self.forget(lane)
            place[lane] = None
            lane.place = place

    # What the sender takes

    @property
    def has_leaderless(self) -> bool:
        return bool(self._leaderless)

    def due(self, now_ms: float) -> list[Lane]:
        """The lanes whose moment has come; they wait no longer."""
        found = []
        while self.next_ms <= now_ms:
            lane = heapq.heappop(self._moments)[2]
            self.forget(lane)
            found.append(lane)
        return found

    @property
    def next_ms(self) -> float:
        """When the next lane is due; inf when none waits."""
        moments = self._moments
        while moments and moments[0][2].due_ms != moments[0][0]:
            heapq.heappop(moments)
        return moments[0][0] if moments else math.inf

    def idle(self, node_id: int) -> Iterable[Lane]:
        """The lanes that waited for more records only because a broker still had requests to answer."""
        return list(self._eager.get(node_id, ()))

    def nodes(self) -> list[int]:
        """The brokers that have something to be sent."""
        return [node_id for node_id, lanes in self._ready.items() if lanes]

    def count(self, node_id: int) -> int:
        """How many lanes are ready for a broker."""
        return len(self._ready.get(node_id, ()))

    def first(self, node_id: int) -> Lane:
        """The lane of a broker whose turn it is; there must be one."""
        return next(iter(self._ready[node_id]))

"""The partitions of a fetcher by their states: in the fetch session, or outside of it while something else is due.

Synchronous; moves partitions from one state to another as states.py allows, and does nothing of what a state stands
for: fetcher.py does.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.follower.fetch_session import FollowerSession
from kafka_py.replication.follower.fetch_state import Followed
from kafka_py.replication.follower.states import (
    DELAYED,
    DROPPED,
    FETCHING,
    HELD_BACK,
    MOVES,
    OUT_OF_RANGE,
    SYNCING,
    TRUNCATING,
    FollowedState,
)

Place = dict[TopicPartition, Followed]


class FollowedPartitions:
    """The partitions that a fetcher follows.

    all: whatever their state. session: those that are FETCHING. truncating, out_of_range, syncing, held_back, delayed:
    those in the state of that name. backoff_ms: how long a delay lasts.
    """

    def __init__(self, session: FollowerSession, clock: Clock, backoff_ms: Callable[[], float]) -> None:
        self.all: Place = {}
        self.session = session
        self.truncating: Place = {}
        self.out_of_range: Place = {}
        self.syncing: Place = {}
        self.held_back: Place = {}
        self.delayed: Place = {}
        self._places: dict[FollowedState, Place] = {
            TRUNCATING: self.truncating,
            OUT_OF_RANGE: self.out_of_range,
            SYNCING: self.syncing,
            HELD_BACK: self.held_back,
            DELAYED: self.delayed,
        }
        self._clock = clock
        self._backoff_ms = backoff_ms

    def add(self, one: Followed) -> None:
        """Follows it, in place of the one of its name if there is one."""
        former = self.all.get(one.topic_partition)
        if former is not None:
            self.move(former, DROPPED)
        self.all[one.topic_partition] = one

    def remove(self, topic_partition: TopicPartition, state: FollowedState = DROPPED) -> bool:
        """Takes it out of all: it is DROPPED or FAILED. False when it was not followed."""
        one = self.all.pop(topic_partition, None)
        if one is None:
            return False
        self.move(one, state)
        return True

    def move(self, one: Followed, state: FollowedState) -> None:
        """Changes its state. Raises IllegalMove."""
        topic_partition, before = one.topic_partition, one.state
        one.state = MOVES.after(before, state)
        if before is FETCHING:
            self.session.forget(topic_partition)
        elif before in self._places:
            self._places[before].pop(topic_partition, None)
        if state is FETCHING:
            self.session.want(one)
        elif state in self._places:
            self._places[state][topic_partition] = one

    def is_current(self, one: Followed) -> bool:
        """Whether it was neither dropped nor followed in another epoch while an answer was on its way."""
        return self.all.get(one.topic_partition) is one

    def delay(self, one: Followed) -> None:
        """Leaves it alone for a while."""
        one.resume_ms = self._clock.monotonic_ms() + self._backoff_ms()
        self.move(one, DELAYED)

    def due(self) -> list[Followed]:
        """Those of the delayed that have waited long enough."""
        now_ms = self._clock.monotonic_ms()
        return [one for one in self.delayed.values() if one.resume_ms <= now_ms]

    def wait_ms(self) -> float | None:
        """How long until one that is delayed or held back is to be looked at, at least 1; None without one."""
        now_ms = self._clock.monotonic_ms()
        moments = [one.resume_ms for one in self.delayed.values()]
        if self.held_back:
            moments.append(now_ms + self._backoff_ms())
        return max(min(moments) - now_ms, 1.0) if moments else None

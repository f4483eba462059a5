"""The partitions of a fetcher by state: FETCHING ones are in the fetch session, the others are not.

Synchronous; moves partitions from one state to another as states.py allows. The work of each state is in fetcher.py.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.follower.fetch_session import FollowerFetchSession
from kafka_py.replication.follower.fetch_state import PartitionFetchState
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

ByPartition = dict[TopicPartition, PartitionFetchState]


class FollowedPartitions:
    """The partitions that a fetcher follows.

    all: in any state. session: has those that are FETCHING. truncating, out_of_range, syncing, held_back, delayed:
    those in the state of that name. backoff_ms: returns how long a delay lasts.
    """

    def __init__(self, session: FollowerFetchSession, clock: Clock, backoff_ms: Callable[[], float]) -> None:
        self.all: ByPartition = {}
        self.session = session
        self.truncating: ByPartition = {}
        self.out_of_range: ByPartition = {}
        self.syncing: ByPartition = {}
        self.held_back: ByPartition = {}
        self.delayed: ByPartition = {}
        self._by_state: dict[FollowedState, ByPartition] = {
            TRUNCATING: self.truncating,
            OUT_OF_RANGE: self.out_of_range,
            SYNCING: self.syncing,
            HELD_BACK: self.held_back,
            DELAYED: self.delayed,
        }
        self._clock = clock
        self._backoff_ms = backoff_ms

    def add(self, one: PartitionFetchState) -> None:
        """Adds it; one of the same name is replaced."""
        replaced = self.all.get(one.topic_partition)
        if replaced is not None:
            self.move(replaced, DROPPED)
        self.all[one.topic_partition] = one

    def remove(self, topic_partition: TopicPartition, state: FollowedState = DROPPED) -> bool:
        """Removes it as DROPPED or FAILED. False if it was not followed."""
        one = self.all.pop(topic_partition, None)
        if one is None:
            return False
        self.move(one, state)
        return True

    def move(self, one: PartitionFetchState, state: FollowedState) -> None:
        """Changes its state. Raises IllegalMove."""
        topic_partition, before = one.topic_partition, one.state
        one.state = MOVES.after(before, state)
        if before is FETCHING:
            self.session.remove(topic_partition)
        elif before in self._by_state:
            self._by_state[before].pop(topic_partition, None)
        if state is FETCHING:
            self.session.put(one)
        elif state in self._by_state:
            self._by_state[state][topic_partition] = one

    def is_current(self, one: PartitionFetchState) -> bool:
        """Whether it was neither removed nor replaced since it was requested."""
        return self.all.get(one.topic_partition) is one

    def delay(self, one: PartitionFetchState) -> None:
        """Delays it by the back-off."""
        one.resume_ms = self._clock.monotonic_ms() + self._backoff_ms()
        self.move(one, DELAYED)

    def due(self) -> list[PartitionFetchState]:
        """The delayed partitions whose delay is over."""
        now_ms = self._clock.monotonic_ms()
        return [one for one in self.delayed.values() if one.resume_ms <= now_ms]

    def wait_ms(self) -> float | None:
        """The time until the next delayed or throttled partition is examined, at least 1 ms; None without one."""
        now_ms = self._clock.monotonic_ms()
        moments = [one.resume_ms for one in self.delayed.values()]
        if self.held_back:
            moments.append(now_ms + self._backoff_ms())
        return max(min(moments) - now_ms, 1.0) if moments else None

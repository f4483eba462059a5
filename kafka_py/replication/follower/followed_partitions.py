"""Where each partition of a fetcher is: in the fetch session, or outside of it while it is dealt with otherwise.

Synchronous; moves partitions from one place to another, and does nothing of what a place stands for: fetcher.py does.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.follower.fetch_session import FollowerSession
from kafka_py.replication.follower.fetch_state import Followed

Place = dict[TopicPartition, Followed]


class FollowedPartitions:
    """The partitions that a fetcher follows; each is in the session or in one of the other places.

    all: wherever they are. session: what is fetched. truncating: not compared with the leader's epochs yet.
    out_of_range: the leader does not hold their fetch offset. delayed: they wait until their `resume_ms`.
    held_back: throttled. syncing: not fetched, which acknowledges, before what flush.messages asks for is synced.
    backoff_ms: how long a delay lasts.
    """

    def __init__(self, session: FollowerSession, clock: Clock, backoff_ms: Callable[[], float]) -> None:
        self.all: Place = {}
        self.session = session
        self.truncating: Place = {}
        self.out_of_range: Place = {}
        self.delayed: Place = {}
        self.held_back: Place = {}
        self.syncing: Place = {}
        self._clock = clock
        self._backoff_ms = backoff_ms

    def leave(self, topic_partition: TopicPartition) -> None:
        """Takes it out of its place; it stays among all."""
        self.session.forget(topic_partition)
        for place in (self.truncating, self.out_of_range, self.delayed, self.held_back, self.syncing):
            place.pop(topic_partition, None)

    def remove(self, topic_partition: TopicPartition) -> bool:
        """Takes it out of all; False when it was not followed."""
        if self.all.pop(topic_partition, None) is None:
            return False
        self.leave(topic_partition)
        return True

    def is_fetching(self, one: Followed) -> bool:
        """Whether it is in the session."""
        topic_partition = one.topic_partition
        elsewhere = (self.truncating, self.out_of_range, self.delayed, self.held_back, self.syncing)
        return not any(topic_partition in others for others in elsewhere)

    def is_current(self, one: Followed) -> bool:
        """Whether it was neither dropped nor followed in another epoch while an answer was on its way."""
        return self.all.get(one.topic_partition) is one

    def delay(self, one: Followed) -> None:
        """Leaves it alone for a while."""
        self.leave(one.topic_partition)
        one.resume_ms = self._clock.monotonic_ms() + self._backoff_ms()
        self.delayed[one.topic_partition] = one

    def take_due(self) -> list[Followed]:
        """Those of the delayed that have waited long enough, which are in no place now."""
        now_ms = self._clock.monotonic_ms()
        due = [one for one in self.delayed.values() if one.resume_ms <= now_ms]
        for one in due:
            del self.delayed[one.topic_partition]
        return due

    def wait_ms(self) -> float | None:
        """How long until one that is delayed or held back is to be looked at, at least 1; None without one."""
        now_ms = self._clock.monotonic_ms()
        moments = [one.resume_ms for one in self.delayed.values()]
        if self.held_back:
            moments.append(now_ms + self._backoff_ms())
        return max(min(moments) - now_ms, 1.0) if moments else None

"""The places of followed partitions: whichever one is in, it leaves it, and is in no two."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.replication.follower.fetch_session import FollowerSession
from kafka_py.replication.follower.fetch_state import Followed
from kafka_py.replication.follower.followed_partitions import FollowedPartitions, Place
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.logs import MemoryLog
from kafka_py.testing.fakes.replicas import role
from kafka_py.wire.protocol_versions import InterBrokerVersion

T0 = TopicPartition("t", 0)
PLACES = ("truncating", "out_of_range", "delayed", "held_back", "syncing")
BACKOFF_MS = 1000.0


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.session = FollowerSession(sessions=True)
        self.places = FollowedPartitions(self.session, self.clock, lambda: BACKOFF_MS)
        partition, log = Partition(T0, 1, 30_000), MemoryLog(T0)
        partition.become_follower(role(leader=2, isr=(2,), replicas=(1, 2)), log)  # type: ignore[arg-type]
        self.one = Followed(partition, log, 1000, InterBrokerVersion("2.8"))  # type: ignore[arg-type]
        self.places.all[T0] = self.one

    def put(self, place: str) -> Place:
        found: Place = getattr(self.places, place)
        found[T0] = self.one
        return found


@pytest.mark.parametrize("place", PLACES)
def test_each_place_is_left(place: str) -> None:
    world = World()
    where = world.put(place)
    assert not world.places.is_fetching(world.one)
    world.places.leave(T0)
    assert not where
    assert world.places.is_fetching(world.one) and world.places.is_current(world.one)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_removed_is_nowhere(place: str) -> None:
    world = World()
    where = world.put(place)
    world.session.want(world.one)
    assert world.places.remove(T0)
    assert not where and not world.session and not world.places.all
    assert not world.places.is_current(world.one)
    assert not world.places.remove(T0)


@pytest.mark.parametrize("place", [place for place in PLACES if place != "delayed"])
def test_a_delayed_partition_leaves_its_place_and_returns_after_the_backoff(place: str) -> None:
    world = World()
    where = world.put(place)
    world.places.delay(world.one)
    assert not where
    assert world.places.wait_ms() == BACKOFF_MS
    world.clock.advance(BACKOFF_MS - 1)
    assert world.places.take_due() == []
    world.clock.advance(1)
    assert world.places.take_due() == [world.one]
    assert not world.places.delayed
    assert world.places.wait_ms() is None

"""The partitions of a fetcher by state: the table walked in full, and each partition in one place at most."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.base.moves import IllegalMove
from kafka_py.replication.follower.fetch_session import FollowerFetchSession
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.followed_partitions import FollowedPartitions
from kafka_py.replication.follower.states import (
    DELAYED,
    DROPPED,
    FAILED,
    FETCHING,
    HELD_BACK,
    MOVES,
    NEW,
    OUT_OF_RANGE,
    SYNCING,
    TRUNCATING,
    FollowedState,
)
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.logs import MemoryLog
from kafka_py.testing.fakes.replicas import role
from kafka_py.wire.protocol_versions import InterBrokerVersion

T0 = TopicPartition("t", 0)
BACKOFF_MS = 1000.0
LEGAL = {(move.state, move.next_state) for move in MOVES}
WAY = {
    NEW: [], TRUNCATING: [TRUNCATING], FETCHING: [FETCHING], SYNCING: [SYNCING], DELAYED: [DELAYED], FAILED: [FAILED],
    DROPPED: [DROPPED], OUT_OF_RANGE: [FETCHING, OUT_OF_RANGE], HELD_BACK: [FETCHING, HELD_BACK],
}  # fmt: skip
"""From NEW to each state."""
LIVE = [state for state in FollowedState if state not in (FAILED, DROPPED)]


class World:
    """One followed partition, in the given state."""

    def __init__(self, state: FollowedState) -> None:
        self.clock = ManualClock()
        self.session = FollowerFetchSession(sessions=True)
        self.places = FollowedPartitions(self.session, self.clock, lambda: BACKOFF_MS)
        self.one = self.followed()
        self.places.add(self.one)
        for each in WAY[state]:
            self.places.move(self.one, each)
        assert self.one.state is state

    def followed(self) -> PartitionFetchState:
        partition, log = Partition(T0, 1, 30_000), MemoryLog(T0)
        partition.become_follower(role(leader=2, isr=(2,), replicas=(1, 2)), log)  # type: ignore[arg-type]
        return PartitionFetchState(partition, log, 1000, InterBrokerVersion("2.8"))  # type: ignore[arg-type]

    def found_in(self) -> list[FollowedState]:
        """The states by whose places the partition is found."""
        places = {
            TRUNCATING: self.places.truncating, OUT_OF_RANGE: self.places.out_of_range, SYNCING: self.places.syncing,
            HELD_BACK: self.places.held_back, DELAYED: self.places.delayed,
        }  # fmt: skip
        found = [state for state, place in places.items() if place.get(T0) is self.one]
        return found + [FETCHING] * len(self.session)


@pytest.mark.parametrize("to", FollowedState)
@pytest.mark.parametrize("state", FollowedState)
def test_every_move_of_the_table_changes_the_place_and_every_other_raises(
    state: FollowedState, to: FollowedState
) -> None:
    world = World(state)
    if (state, to) not in LEGAL:
        with pytest.raises(IllegalMove):
            world.places.move(world.one, to)
        return
    world.places.move(world.one, to)
    assert world.one.state is to
    assert world.found_in() == ([to] if to not in (NEW, FAILED, DROPPED) else [])


@pytest.mark.parametrize("end", [FAILED, DROPPED])
@pytest.mark.parametrize("state", LIVE)
def test_what_is_removed_is_nowhere(state: FollowedState, end: FollowedState) -> None:
    world = World(state)
    assert world.places.remove(T0, end)
    assert world.one.state is end
    assert not world.found_in() and not world.places.all
    assert not world.places.is_current(world.one)
    assert not world.places.remove(T0)


@pytest.mark.parametrize("state", LIVE)
def test_a_partition_in_another_epoch_takes_the_place_of_the_former_one(state: FollowedState) -> None:
    world = World(state)
    former, world.one = world.one, world.followed()
    world.places.add(world.one)
    assert former.state is DROPPED and world.one.state is NEW
    assert not world.found_in()
    assert world.places.is_current(world.one) and not world.places.is_current(former)


@pytest.mark.parametrize("state", LIVE)
def test_a_delayed_partition_is_due_after_the_backoff(state: FollowedState) -> None:
    world = World(state)
    world.places.delay(world.one)
    assert world.found_in() == [DELAYED]
    assert world.places.wait_ms() == BACKOFF_MS
    world.clock.advance(int(BACKOFF_MS) - 1)
    assert world.places.due() == []
    world.clock.advance(1)
    assert world.places.due() == [world.one]
    world.places.move(world.one, FETCHING)
    assert world.places.due() == []
    assert world.places.wait_ms() is None

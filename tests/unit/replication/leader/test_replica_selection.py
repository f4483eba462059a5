"""From which replica a consumer reads (KIP-392)."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.leader.replica_selection import Candidate, RackAware, choose
from kafka_py.replication.state.reads import FetchEntry, FetchParams, Isolation, PlainSource
from kafka_py.testing.fakes.replicas import ReplicaWorld

T0 = TopicPartition("t", 0)
LEADER = Candidate(1, "a", 100, 0)


@pytest.mark.parametrize(
    ("rack", "followers", "chosen"),
    [
        ("", [Candidate(2, "b", 100, 0)], 1),
        ("a", [Candidate(2, "a", 100, 0)], 1),  # the leader is as near
        ("b", [Candidate(2, "b", 50, 0)], 2),
        ("c", [Candidate(2, "b", 100, 0)], 1),
        ("b", [Candidate(2, "b", 50, 9), Candidate(3, "b", 60, 0)], 3),  # the furthest on
        ("b", [Candidate(2, "b", 50, 5), Candidate(3, "b", 50, 4)], 2),  # the one caught up last
        ("b", [Candidate(2, "b", 50, 5), Candidate(3, "b", 50, 5)], 3),
        ("b", [Candidate(2, None, 50, 5)], 1),
    ],
)
def test_the_choice(rack: str, followers: list[Candidate], chosen: int) -> None:
    assert choose(rack, LEADER, followers) == chosen


def fetch(world: ReplicaWorld, rack: str, offset: int = 0, replica_id: int = -1):  # type: ignore[no-untyped-def]
    isolation = Isolation.LOG_END if replica_id >= 0 else Isolation.READ_UNCOMMITTED
    params = FetchParams(replica_id, 500, 1, 1000, isolation, leader_only=False, rack=rack)
    world.manager.fetches.fetch(params, PlainSource([FetchEntry(T0, offset, 1000)]), world.fetched.append)
    return world.fetched[-1][0][1]


@pytest.fixture
def world() -> ReplicaWorld:
    """Broker 1 in rack a leads, broker 2 in rack b follows and is at offset 3."""
    world = ReplicaWorld(choose_replica=RackAware({1: "a", 2: "b"}.get))
    world.lead(T0, isr=(1, 2))
    world.append(T0)
    world.fetch(FetchEntry(T0, 3, 1000, log_start_offset=0), replica_id=2, max_wait_ms=0)
    return world


def test_a_consumer_is_sent_to_its_rack_at_once_and_without_records(world: ReplicaWorld) -> None:
    read = fetch(world, "b")
    assert (read.error, read.preferred_read_replica, read.size, read.high_watermark) == (ErrorCode.NONE, 2, 0, 3)


def test_the_leader_serves_what_only_it_holds_and_who_is_near_it(world: ReplicaWorld) -> None:
    world.append(T0)
    assert fetch(world, "b", offset=3).preferred_read_replica == 2
    world.partition(T0).followers[2].log_end_offset = 2
    assert fetch(world, "a").size > 0
    assert fetch(world, "c").size > 0


def test_a_follower_is_never_sent_away(world: ReplicaWorld) -> None:
    read = fetch(world, "b", offset=0, replica_id=2)
    assert (read.preferred_read_replica, read.size > 0) == (-1, True)

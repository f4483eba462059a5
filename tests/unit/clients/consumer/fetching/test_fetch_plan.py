"""From where each partition is fetched: looked at again only when something happened to it."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.clients.consumer.fetching.fetch_counts import FetchCounts
from kafka_py.clients.consumer.fetching.fetch_plan import FetchPlan
from kafka_py.clients.consumer.fetching.fetched import CompletedFetch, Decoding
from kafka_py.clients.consumer.fetching.held import ANSWERS_AHEAD, HeldAnswers
from kafka_py.clients.consumer.subscriptions import Subscriptions
from kafka_py.clients.metadata import ClusterView, Node, PartitionInfo, TopicInfo
from kafka_py.records.builder import BatchBuilder

BACKOFF_MS = 100.0


class NoCounts(FetchCounts):
    def __init__(self) -> None:
        pass

    def consumed(self, *_: object) -> None:
        pass


class World:
    """`count` partitions with positions, all led by broker 0 of two; `looked` counts how many were looked at."""

    def __init__(self, count: int) -> None:
        self.partitions = [TopicPartition("t", number) for number in range(count)]
        self.leaders = dict.fromkeys(self.partitions, 0)
        self.looked = 0
        self.subscriptions = Subscriptions()
        self.held = HeldAnswers(self.subscriptions, NoCounts(), lambda: None)
        self.plan = FetchPlan(self.subscriptions, self.held, self._view, partition_bytes=1, retry_backoff_ms=BACKOFF_MS)
        self.subscriptions.assign(self.partitions)
        for partition in self.partitions:
            self.subscriptions.of(partition).seek(0)

    def _view(self) -> ClusterView:
        self.looked += 1
        infos = tuple(
            PartitionInfo("t", each.partition, leader, 0, (0, 1), (0, 1), ()) for each, leader in self.leaders.items()
        )
        nodes = {number: Node(number, "h", number) for number in range(2)}
        return ClusterView(nodes, {"t": TopicInfo("t", ZERO_UUID, False, infos)})

    def update(self, now_ms: float = 0.0) -> dict[int, set[int]]:
        """What is fetched from where now."""
        self.plan.update(now_ms)
        return {
            node: {each.partition for each in session.wanted}
            for node, session in self.plan.sessions.items()
            if session.wanted
        }

    def answer(self, partition: TopicPartition) -> None:
        builder = BatchBuilder()
        builder.append(0, None, b"x")
        state = self.subscriptions.of(partition)
        offset = state.fetch_offset or 0
        fetched = CompletedFetch(partition, state.generation, offset, builder.build(), (), Decoding(check_crcs=False))
        state.fetch_offset = offset + 1
        self.held.add(fetched)


def test_only_what_changed_is_looked_at() -> None:
    world = World(300)
    assert world.update() == {0: set(range(300))}
    world.looked = 0
    world.update()
    assert world.looked == 0
    world.answer(world.partitions[7])
    world.update()
    assert world.looked == 1
    assert world.plan.sessions[0].build().send.keys() == set(world.partitions)


def test_enough_answers_held_leave_a_partition_out_until_one_is_taken() -> None:
    world = World(2)
    for _ in range(ANSWERS_AHEAD):
        world.answer(world.partitions[0])
    assert world.update() == {0: {1}}
    assert world.plan.some_wait
    world.held.collect(10).complete = True
    assert world.update() == {0: {0, 1}}
    assert not world.plan.some_wait


def test_pause_resume_seek_and_revocation_are_seen() -> None:
    world = World(3)
    a, b, c = world.partitions
    world.update()
    world.subscriptions.of(a).pause()
    world.subscriptions.of(b).reset(-1)
    world.subscriptions.assign([a, b])
    assert world.update() == {}
    world.subscriptions.of(a).resume()
    world.subscriptions.of(b).seek(9)
    world.subscriptions.assign([a, b, c])
    assert world.update() == {0: {0, 1}}
    assert world.plan.sessions[0].wanted[b].fetch_offset == 9


def test_a_new_leader_is_asked_instead_of_the_former() -> None:
    world = World(2)
    world.update()
    world.leaders[world.partitions[1]] = 1
    world.subscriptions.touch_all()
    assert world.update() == {0: {0}, 1: {1}}


def test_a_partition_without_a_leader_or_in_its_back_off_is_looked_at_when_that_is_over() -> None:
    world = World(2)
    a, b = world.partitions
    world.leaders[a] = -1
    state = world.subscriptions.of(b)
    state.retry_at = 50.0
    assert world.update() == {}
    assert world.plan.leaderless
    assert world.plan.next_ms == 50.0
    assert world.update(50.0) == {0: {1}}
    world.leaders[a] = 0
    assert world.update(99.0) == {0: {1}}
    assert world.update(100.0) == {0: {0, 1}}


def test_a_preferred_replica_is_fetched_from_until_its_time_is_over() -> None:
    world = World(1)
    [a] = world.partitions
    state = world.subscriptions.of(a)
    state.preferred_replica, state.preferred_until_ms = 1, 500.0
    assert world.update() == {1: {0}}
    assert world.update(499.0) == {1: {0}}
    assert world.update(500.0) == {0: {0}}


def test_an_error_keeps_a_partition_out_until_the_application_has_it() -> None:
    world = World(2)
    world.held.partition_failed(world.subscriptions.of(world.partitions[0]), KafkaError(ErrorCode.INVALID_RECORD))
    assert world.update() == {0: {1}}
    with pytest.raises(KafkaError):
        world.held.collect(1)
    assert world.update() == {0: {0, 1}}

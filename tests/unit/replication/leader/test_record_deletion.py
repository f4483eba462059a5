"""DeleteRecords on led partitions: what is refused, and who is waited for (KIP-107)."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.configs import LogConfig
from kafka_py.replication.leader.delayed import DeleteRecordsResult
from kafka_py.replication.leader.record_deletion import RecordDeletion
from kafka_py.replication.state.reads import FetchEntry
from kafka_py.testing.fakes.logs import MemoryLog
from kafka_py.testing.fakes.replicas import ReplicaWorld, role

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class World(ReplicaWorld):
    """A replica world with ten records per led partition; `answers` holds what deletions were answered."""

    def __init__(self) -> None:
        super().__init__()
        self.dead: set[int] = set()
        self.deletion = RecordDeletion(self.manager, lambda broker_id: broker_id not in self.dead)
        self.answers: list[list[DeleteRecordsResult]] = []

    def lead_with_records(self, topic_partition: TopicPartition, isr: tuple[int, ...] = (1,)) -> MemoryLog:
        log = self.lead(topic_partition, isr)
        self.append(topic_partition, records=b"0123456789")
        for broker_id in isr[1:]:
            self.follow(topic_partition, broker_id, 0)
        return log

    def follow(self, topic_partition: TopicPartition, broker_id: int, start: int) -> None:
        """A follower that has everything fetches, and says where its log starts."""
        self.fetch(FetchEntry(topic_partition, 10, 1000, log_start_offset=start), replica_id=broker_id, max_wait_ms=0)

    def delete(self, offsets: dict[TopicPartition, int], timeout_ms: int = 100) -> None:
        self.deletion.delete(offsets.items(), timeout_ms, self.answers.append)

    @property
    def rows(self) -> list[tuple[ErrorCode, int]]:
        [results] = self.answers
        return [(result.error, result.low_watermark) for result in results]


@pytest.fixture
def world() -> World:
    world = World()
    world.known = {T0, T1}
    return world


def test_without_followers_the_answer_comes_at_once(world: World) -> None:
    log = world.lead_with_records(T0)
    world.delete({T0: 4})
    assert log.log_start_offset == 4
    assert world.rows == [(ErrorCode.NONE, 4)]


def test_minus_one_means_the_high_watermark(world: World) -> None:
    world.lead_with_records(T0)
    world.delete({T0: -1})
    assert world.rows == [(ErrorCode.NONE, 10)]


def test_an_offset_below_the_log_start_changes_nothing_and_succeeds(world: World) -> None:
    log = world.lead_with_records(T0)
    log.advance_log_start_offset(6)
    world.delete({T0: 2})
    assert (log.log_start_offset, world.rows) == (6, [(ErrorCode.NONE, 6)])


@pytest.mark.parametrize("offset", [-2, 11])
def test_an_offset_outside_the_log_is_out_of_range(world: World, offset: int) -> None:
    log = world.lead_with_records(T0)
    world.delete({T0: offset})
    assert (log.log_start_offset, world.rows) == (0, [(ErrorCode.OFFSET_OUT_OF_RANGE, -1)])


def test_what_may_not_be_deleted_is_refused_each_for_itself(world: World) -> None:
    compacted = world.lead_with_records(T0)
    compacted.reconfigure(LogConfig.for_topic(overrides={"cleanup.policy": "compact"}))
    world.lead_with_records(T1)
    offsets = TopicPartition("__consumer_offsets", 0)
    gone = TopicPartition("gone", 0)
    world.delete({T0: 1, T1: 1, offsets: 1, gone: 1})
    assert world.rows == [
        (ErrorCode.POLICY_VIOLATION, -1), (ErrorCode.NONE, 1), (ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]  # fmt: skip


def test_the_log_start_moves_at_once_but_the_answer_waits_for_the_followers(world: World) -> None:
    log = world.lead_with_records(T0, isr=(1, 2, 3))
    world.delete({T0: 5})
    assert (log.log_start_offset, world.answers) == (5, [])
    world.follow(T0, 2, 5)
    assert world.answers == []
    world.follow(T0, 3, 5)
    assert world.rows == [(ErrorCode.NONE, 5)]
    assert world.manager.parked.delete.delayed == 0


def test_dead_followers_are_not_waited_for(world: World) -> None:
    world.lead_with_records(T0, isr=(1, 2))
    world.delete({T0: 5})
    world.dead.add(2)
    world.deletion.check_all()
    assert world.rows == [(ErrorCode.NONE, 5)]


def test_a_follower_that_lags_makes_it_time_out_and_the_records_stay_deleted(world: World) -> None:
    log = world.lead_with_records(T0, isr=(1, 2))
    world.lead_with_records(T1)
    world.delete({T0: 5, T1: 5}, timeout_ms=50)
    world.clock.advance(51)
    assert world.rows == [(ErrorCode.REQUEST_TIMED_OUT, 0), (ErrorCode.NONE, 5)]
    assert log.log_start_offset == 5


def test_losing_the_leadership_answers_it(world: World) -> None:
    world.lead_with_records(T0, isr=(1, 2))
    world.delete({T0: 5})
    partition = world.partition(T0)
    assert partition.log is not None
    partition.become_follower(role(leader=2, epoch=1, isr=(2,), replicas=(1, 2)), partition.log)
    world.manager.parked.complete(T0, partition)
    assert world.rows == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


def test_followers_hear_of_the_new_start_with_their_parked_fetch(world: World) -> None:
    """A fetch session notes the news, so the next answer names the new log start."""
    world.lead_with_records(T0, isr=(1, 2))
    heard: list[None] = []

    class Listener:
        def on_change(self) -> None:
            heard.append(None)

    world.partition(T0).listeners[Listener()] = None
    world.delete({T0: 5})
    assert len(heard) == 1

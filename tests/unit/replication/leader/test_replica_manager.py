"""Appends and fetches over many partitions, and what is parked on them."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.reads import FetchEntry, FetchParams, Isolation, PlainSource
from kafka_py.replication.state.roles import DELETED, OFFLINE
from kafka_py.testing.fakes.logs import slice_bytes
from kafka_py.testing.fakes.replicas import ReplicaWorld

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def world() -> ReplicaWorld:
    world = ReplicaWorld()
    world.known = {T0, T1}
    return world


def test_an_append_is_answered_at_once_when_this_broker_alone_is_in_sync(world: ReplicaWorld) -> None:
    world.lead(T0)
    world.append(T0, acks=-1)
    [[result]] = world.appended
    assert (result.error, result.base_offset, result.end_offset) == (ErrorCode.NONE, 0, 3)
    assert world.manager.parked.produce.delayed == 0


def test_acks_all_waits_for_every_in_sync_replica(world: ReplicaWorld) -> None:
    """W6.9."""
    world.lead(T0, isr=(1, 2))
    world.append(T0, acks=-1)
    assert world.appended == []
    world.fetch(FetchEntry(T0, 3, 1000), replica_id=2, max_wait_ms=0)
    world.run_checks()
    [[result]] = world.appended
    assert (result.error, result.base_offset) == (ErrorCode.NONE, 0)


def test_acks_all_times_out_and_the_data_stays(world: ReplicaWorld) -> None:
    log = world.lead(T0, isr=(1, 2))
    world.append(T0, acks=-1, timeout_ms=100)
    world.clock.advance(101)
    [[result]] = world.appended
    assert (result.error, result.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    assert log.log_end_offset == 3


def test_acks_1_does_not_wait(world: ReplicaWorld) -> None:
    world.lead(T0, isr=(1, 2))
    world.append(T0, acks=1)
    assert world.appended[0][0].error is ErrorCode.NONE


def test_an_append_that_must_be_flushed_is_answered_when_it_is(world: ReplicaWorld) -> None:
    log = world.lead(T0)
    log.config.__dict__["flush_messages"] = 1
    world.append(T0, acks=-1)
    assert world.appended == []
    assert log.high_watermark == 0
    log.flushes.pop()(True)
    world.run_checks()
    assert log.high_watermark == 3
    assert world.appended[0][0].error is ErrorCode.NONE


def test_consumers_do_not_see_what_flush_messages_wants_synced_first(world: ReplicaWorld) -> None:
    log = world.lead(T0)
    log.config.__dict__["flush_messages"] = 1
    world.append(T0, acks=1)
    world.fetch(FetchEntry(T0, 0, 1000), max_wait_ms=5000)
    assert world.fetched == []
    log.flushes.pop()(True)
    world.run_checks()
    [[(_, read)]] = world.fetched
    assert (read.high_watermark, read.size) == (3, 3)


def test_a_flush_that_fails_is_not_acknowledged(world: ReplicaWorld) -> None:
    log = world.lead(T0)
    world.lead(T1)
    log.config.__dict__["flush_messages"] = 1
    world.append(T0, T1)
    log.flushes.pop()(False)
    assert [result.error for result in world.appended[0]] == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE]


def test_a_flush_that_failed_is_tried_again_until_the_high_watermark_rises(world: ReplicaWorld) -> None:
    """It may have failed for want of a descriptor; nobody may come to append again."""
    log = world.lead(T0)
    log.config.__dict__["flush_messages"] = 1
    world.append(T0)
    log.flushes.pop()(False)
    for succeeds in (False, True):
        asyncio.run(world.manager.appends.sync_all_owed())
        assert log.high_watermark == 0
        log.flushes.pop()(succeeds)
    assert log.high_watermark == 3
    asyncio.run(world.manager.appends.sync_all_owed())
    assert not log.flushes


def test_what_is_owed_while_following_is_not_for_the_leaders_round(world: ReplicaWorld) -> None:
    log = world.lead(T0)
    log.config.__dict__["flush_messages"] = 1
    world.append(T0)
    log.flushes.pop()(False)
    world.manager.hosted.partitions[T0].leave(DELETED)
    asyncio.run(world.manager.appends.sync_all_owed())
    assert not log.flushes


def test_an_append_that_nobody_foresaw_to_fail_leaves_the_other_partitions_alone(
    world: ReplicaWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.lead(T0)
    log = world.lead(T1)
    log.failure = ZeroDivisionError("nobody foresaw this")  # type: ignore[assignment]
    world.append(T0, T1, T0)
    assert [result.error for result in world.appended[0]] == [
        ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE,
    ]  # fmt: skip
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


def test_each_partition_has_its_own_error(world: ReplicaWorld) -> None:
    world.lead(T0)
    gone = TopicPartition("gone", 0)
    world.append(T0, T1, gone)
    assert [result.error for result in world.appended[0]] == [
        ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]  # fmt: skip
    assert world.appended[0][1].log_start_offset == -1


def test_internal_topics_are_refused_to_clients(world: ReplicaWorld) -> None:
    world.append(TopicPartition("__consumer_offsets", 3))
    assert world.appended[0][0].error is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_refused_batch_tells_the_log_start_unless_the_error_says_nothing_of_the_log(world: ReplicaWorld) -> None:
    log = world.lead(T0)
    log.log_start_offset = 7
    starts = {ErrorCode.INVALID_RECORD: 7, ErrorCode.CORRUPT_MESSAGE: -1, ErrorCode.MESSAGE_TOO_LARGE: -1}
    for code, start in starts.items():
        log.failure = KafkaError(code)
        world.append(T0)
        assert (world.appended[-1][0].error, world.appended[-1][0].log_start_offset) == (code, start)


def test_an_io_error_is_a_storage_error_and_is_reported(world: ReplicaWorld) -> None:
    log = world.lead(T0)
    log.failure = OSError("disk gone")
    world.append(T0)
    assert world.appended[0][0].error is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.failed == [T0]


def test_offline_partitions_answer_storage_errors_and_what_is_parked_on_them_is_answered(world: ReplicaWorld) -> None:
    world.lead(T0, isr=(1, 2))
    world.append(T0, acks=-1)
    world.fetch(FetchEntry(T0, 3, 100))
    world.manager.mark_offline([T0])
    assert world.appended[0][0].error is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.fetched[0][0][1].error is ErrorCode.KAFKA_STORAGE_ERROR
    world.append(T0)
    assert world.appended[1][0].error is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_long_poll_is_woken_by_the_append(world: ReplicaWorld) -> None:
    """W6.10: no spinning with empty answers, and an answer as soon as there is news."""
    world.lead(T0)
    world.fetch(FetchEntry(T0, 0, 1000))
    assert world.fetched == []
    world.append(T0)
    world.run_checks()
    [[(_, read)]] = world.fetched
    assert slice_bytes(read.records) == b"abc"


def test_a_long_poll_waits_for_min_bytes_over_all_partitions(world: ReplicaWorld) -> None:
    world.lead(T0)
    world.lead(T1)
    world.fetch(FetchEntry(T0, 0, 1000), FetchEntry(T1, 0, 1000), min_bytes=6)
    world.append(T0)
    world.run_checks()
    assert world.fetched == []
    world.append(T1, records=b"def")
    world.run_checks()
    assert [slice_bytes(read.records) for _, read in world.fetched[0]] == [b"abc", b"def"]


def test_a_long_poll_ends_with_its_time(world: ReplicaWorld) -> None:
    world.lead(T0)
    world.fetch(FetchEntry(T0, 0, 1000), max_wait_ms=50)
    world.clock.advance(51)
    assert world.fetched[0][0][1].size == 0


def test_we3_21_fewer_bytes_than_asked_for_are_answered_when_the_wait_is_over(world: ReplicaWorld) -> None:
    """WE3-21: fetch.min.bytes above what there is: the answer comes after fetch.max.wait.ms, with what there is."""
    world.lead(T0)
    world.append(T0)
    world.fetch(FetchEntry(T0, 0, 1000), min_bytes=100, max_wait_ms=500)
    world.clock.advance(499)
    assert world.fetched == []
    world.clock.advance(2)
    [[(_, read)]] = world.fetched
    assert slice_bytes(read.records) == b"abc"


def test_many_appends_of_one_turn_wake_a_long_poll_once(world: ReplicaWorld) -> None:
    world.lead(T0)
    world.fetch(FetchEntry(T0, 0, 1000))
    world.append(T0)
    world.append(T0, records=b"def")
    assert len(world.deferred) == 1
    world.run_checks()
    assert slice_bytes(world.fetched[0][0][1].records) == b"abcdef"


def test_an_error_is_answered_at_once(world: ReplicaWorld) -> None:
    world.fetch(FetchEntry(TopicPartition("gone", 0), 0, 1000))
    assert world.fetched[0][0][1].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_first_batch_comes_whole_though_it_exceeds_the_limits_and_the_next_do_not(world: ReplicaWorld) -> None:
    world.lead(T0)
    world.lead(T1)
    world.append(T0, T1, records=b"x" * 50)
    world.fetch(FetchEntry(T0, 0, 10), FetchEntry(T1, 0, 10), max_bytes=20)
    assert [read.size for _, read in world.fetched[0]] == [50, 0]


def test_a_fetch_of_a_broker_that_is_no_replica_gets_no_data_and_no_error(world: ReplicaWorld) -> None:
    world.lead(T0)
    world.append(T0)
    world.fetch(FetchEntry(T0, 0, 1000), replica_id=9, max_wait_ms=0)
    assert (world.fetched[0][0][1].error, world.fetched[0][0][1].size) == (ErrorCode.NONE, 0)


def test_the_answer_to_a_follower_holds_the_watermark_from_before_its_fetch_counted(world: ReplicaWorld) -> None:
    log = world.lead(T0, isr=(1, 2))
    world.append(T0)
    world.fetch(FetchEntry(T0, 3, 1000), replica_id=2, max_wait_ms=0)
    assert world.fetched[0][0][1].high_watermark == 0
    assert log.high_watermark == 3


def test_traffic_is_counted_per_topic_and_in_all(world: ReplicaWorld) -> None:
    world.lead(T0)
    world.append(T0)
    assert (world.metrics.topic("t").bytes_in, world.metrics.all_topics.messages_in) == (3, 3)
    assert world.metrics.manager.leader_count == 1


def test_names_that_a_reader_invents_are_not_counted(world: ReplicaWorld) -> None:
    before = len(world.registry.tables())
    for number in range(100):
        world.fetch(FetchEntry(TopicPartition(f"invented-{number}", 0), 0, 1000), max_wait_ms=0)
    assert {results[0][1].error for results in world.fetched} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(world.registry.tables()) == before
    assert world.metrics.all_topics.fetch_requests == 0


def test_reads_of_what_the_cluster_has_are_counted_whoever_hosts_it(world: ReplicaWorld) -> None:
    world.lead(T0)
    elsewhere = TopicPartition("elsewhere", 0)
    world.known.add(elsewhere)
    world.fetch(FetchEntry(T0, 0, 1000), FetchEntry(elsewhere, 0, 1000), max_wait_ms=0)
    assert world.metrics.topic("t").fetch_requests == 1
    assert world.metrics.topic("elsewhere").fetch_requests == 1
    assert world.metrics.all_topics.fetch_requests == 2


def test_reads_that_may_not_be_are_not_counted(world: ReplicaWorld) -> None:
    world.lead(T0)
    params = FetchParams(-1, 0, 1, 1000, Isolation.READ_UNCOMMITTED, may_read=lambda _topic: False)
    world.manager.fetches.fetch(params, PlainSource([FetchEntry(T0, 0, 1000)]), world.fetched.append)
    assert world.fetched[0][0][1].error is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert world.metrics.all_topics.fetch_requests == 0


def test_we1_2_the_high_watermark_follows_the_slowest_in_sync_replica(world: ReplicaWorld) -> None:
    """WE1-2: leader and followers 2 and 3 are at offset 3; messages 3 and 4 come; one follower is slower."""
    log = world.lead(T0, isr=(1, 2, 3))

    def fetched_up_to(replica_id: int, offset: int) -> None:
        world.fetch(FetchEntry(T0, offset, 1000), replica_id=replica_id, max_wait_ms=0)
        world.run_checks()

    def consumable() -> bytes:
        world.fetch(FetchEntry(T0, 0, 1000), max_wait_ms=0)
        return slice_bytes(world.fetched[-1][0][1].records)

    world.append(T0, records=b"012")
    fetched_up_to(2, 3)
    fetched_up_to(3, 3)
    assert (log.log_end_offset, log.high_watermark) == (3, 3)

    for record in (b"3", b"4"):
        world.append(T0, records=record)
    assert (log.log_end_offset, log.high_watermark) == (5, 3)
    fetched_up_to(2, 5)
    assert log.high_watermark == 3
    fetched_up_to(3, 4)
    assert log.high_watermark == 4
    assert consumable() == b"0123"
    fetched_up_to(3, 5)
    assert log.high_watermark == log.log_end_offset == 5
    assert consumable() == b"01234"


def test_w6_9_three_replicas_must_have_the_batch_before_it_is_acknowledged(world: ReplicaWorld) -> None:
    """W6.9: messages 3 and 4 with acks=-1 are answered when both followers fetched them, or time out after 30 s."""
    world.lead(T0, isr=(1, 2, 3))
    world.append(T0, records=b"012")
    world.append(T0, records=b"34", acks=-1, timeout_ms=30_000)
    assert len(world.appended) == 1
    for replica_id in (2, 3):
        assert len(world.appended) == 1
        world.fetch(FetchEntry(T0, 5, 1000), replica_id=replica_id, max_wait_ms=0)
        world.run_checks()
    assert (world.appended[1][0].error, world.appended[1][0].base_offset) == (ErrorCode.NONE, 3)

    world.append(T0, records=b"56", acks=-1, timeout_ms=30_000)
    world.fetch(FetchEntry(T0, 7, 1000), replica_id=2, max_wait_ms=0)
    world.clock.advance(29_999)
    assert len(world.appended) == 2
    world.clock.advance(2)
    assert world.appended[2][0].error is ErrorCode.REQUEST_TIMED_OUT


def test_w6_10_followers_at_the_end_wait_for_news(world: ReplicaWorld) -> None:
    """W6.10: both fetch at the leader's end; no empty answers until a message comes, or the wait is over."""
    world.lead(T0, isr=(1, 2, 3))
    for replica_id in (2, 3):
        world.fetch(FetchEntry(T0, 0, 1000), replica_id=replica_id, max_wait_ms=500)
    world.clock.advance(400)
    assert world.fetched == []
    world.append(T0)
    world.run_checks()
    assert [slice_bytes(read.records) for [(_, read)] in world.fetched] == [b"abc", b"abc"]
    world.fetch(FetchEntry(T0, 3, 1000), replica_id=2, max_wait_ms=500)
    world.clock.advance(501)
    assert world.fetched[-1][0][1].size == 0


def test_a_read_that_fails_unforeseen_costs_its_partition_alone(world: ReplicaWorld) -> None:
    broken = world.lead(T0)
    world.lead(T1)
    world.append(T1)
    broken.failure = ValueError("an index that nobody can read")  # type: ignore[assignment]
    world.fetch(FetchEntry(T0, 0, 1000), FetchEntry(T1, 0, 1000))
    [results] = world.fetched
    assert [read.error for _, read in results] == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE]
    assert world.metrics.all_topics.failed_fetch_requests == 1


def test_who_still_holds_an_offline_partition_neither_appends_to_it_nor_commits_its_in_sync_set(
    world: ReplicaWorld,
) -> None:
    world.lead(T0, isr=(1, 2))
    partition = world.manager.hosted.partitions[T0]
    world.manager.mark_offline([T0])
    assert (partition.role, partition.is_leader, partition.log) == (OFFLINE, False, None)
    assert partition.acks_all_outcome(0) is ErrorCode.NOT_LEADER_OR_FOLLOWER

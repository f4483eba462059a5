"""One partition's role, epochs and high watermark."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, TopicPartition
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.leader.offset_queries import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    is_search,
    offset_for_timestamp,
)
from kafka_py.replication.state.isr import CommittedIsr, PendingExpandIsr, PendingShrinkIsr
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import FetchEntry, Isolation
from kafka_py.testing.fakes.logs import MemoryLog, slice_bytes
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionState

T0 = TopicPartition("t", 0)
LAG_MS = 30_000
NO_SETTINGS: Mapping[str, str] = {}


def state(leader: int = 1, epoch: int = 0, isr: tuple[int, ...] = (1,), replicas: tuple[int, ...] = (1,)):
    return LeaderAndIsrPartitionState(
        partition_index=0, controller_epoch=1, leader=leader, leader_epoch=epoch, isr=list(isr), zk_version=0,
        replicas=list(replicas),
    )  # fmt: skip


def led(
    isr: tuple[int, ...] = (1,), replicas: tuple[int, ...] = (1,), settings: Mapping[str, str] = NO_SETTINGS
) -> tuple[Partition, Any]:
    """A partition that this broker leads, and its MemoryLog."""
    log: Any = MemoryLog(T0, LogConfig.for_topic(None, settings))
    partition = Partition(T0, 1, LAG_MS)
    partition.become_leader(state(isr=isr, replicas=replicas), log, now_ms=0)
    return partition, log


def append(partition: Partition, records: bytes = b"abc", acks: int = 1):
    return partition.append(memoryview(bytearray(records)), acks, 1000)


def code_of(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


def test_alone_in_the_isr_an_append_is_committed_at_once() -> None:
    partition, log = led()
    append(partition)
    assert partition.maybe_raise_high_watermark(0)
    assert log.high_watermark == 3


def test_the_high_watermark_waits_for_every_in_sync_replica() -> None:
    partition, log = led(isr=(1, 2), replicas=(1, 2))
    append(partition)
    assert not partition.maybe_raise_high_watermark(0)
    assert partition.record_follower_fetch(2, FetchEntry(T0, 3, 100), end_offset=3, now_ms=1)
    assert log.high_watermark == 3


def test_a_replica_that_was_caught_up_a_moment_ago_holds_the_high_watermark_though_not_in_the_isr() -> None:
    partition, log = led(isr=(1, 2), replicas=(1, 2, 3))
    append(partition)
    partition.isr = PendingShrinkIsr(frozenset({1, 2}), frozenset())
    partition.record_follower_fetch(3, FetchEntry(T0, 0, 100), end_offset=0, now_ms=10)
    partition.record_follower_fetch(2, FetchEntry(T0, 3, 100), end_offset=3, now_ms=20)
    assert log.high_watermark == 0
    assert partition.maybe_raise_high_watermark(10 + LAG_MS + 1)
    assert log.high_watermark == 3


def test_a_pending_expansion_holds_the_high_watermark_and_does_not_count_for_min_insync() -> None:
    partition, log = led(isr=(1,), replicas=(1, 2), settings={"min.insync.replicas": "2"})
    append(partition)
    partition.isr = PendingExpandIsr(frozenset({1}), adding=2)
    assert not partition.maybe_raise_high_watermark(LAG_MS * 2)
    with pytest.raises(KafkaError) as error:
        append(partition, acks=-1)
    assert code_of(error) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert log.high_watermark == 0


def test_a_pending_shrink_does_not_let_the_high_watermark_pass_who_leaves() -> None:
    partition, log = led(isr=(1, 2), replicas=(1, 2))
    append(partition)
    partition.isr = PendingShrinkIsr(frozenset({1, 2}), removing=frozenset({2}))
    assert not partition.maybe_raise_high_watermark(LAG_MS * 2)
    assert log.high_watermark == 0


def test_acks_all_needs_min_insync_replicas_and_acks_1_does_not() -> None:
    partition, _ = led(settings={"min.insync.replicas": "2"})
    append(partition, acks=1)
    with pytest.raises(KafkaError) as error:
        append(partition, acks=-1)
    assert code_of(error) is ErrorCode.NOT_ENOUGH_REPLICAS


def test_acks_all_reports_an_isr_that_shrank_after_the_append() -> None:
    partition, _ = led(isr=(1,), settings={"min.insync.replicas": "2"})
    append(partition)
    assert partition.acks_all_outcome(3) is None
    partition.maybe_raise_high_watermark(0)
    assert partition.acks_all_outcome(3) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_follower_refuses_appends() -> None:
    partition, log = led()
    partition.become_follower(state(leader=2, epoch=1, replicas=(1, 2)), log)
    with pytest.raises(KafkaError) as error:
        append(partition)
    assert code_of(error) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.acks_all_outcome(1) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_becoming_a_follower_again_of_the_same_leader_and_epoch_changes_nothing() -> None:
    partition, log = led()
    assert partition.become_follower(state(leader=2, epoch=1), log)
    assert not partition.become_follower(state(leader=2, epoch=1), log)
    assert partition.become_follower(state(leader=3, epoch=2), log)


def test_a_wrong_epoch_is_told_before_the_wrong_role() -> None:
    partition, log = led()
    partition.become_follower(state(leader=2, epoch=5), log)
    for epoch, code in ((4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(KafkaError) as error:
            partition.readable_log(epoch, leader_only=True)
        assert code_of(error) is code
    with pytest.raises(KafkaError) as error:
        partition.readable_log(5, leader_only=True)
    assert code_of(error) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.readable_log(5, leader_only=False) is log


def read(partition: Partition, entry: FetchEntry, isolation: Isolation = Isolation.READ_UNCOMMITTED):
    return partition.read(entry, 1000, isolation, leader_only=True, min_one_batch=True)


def test_consumers_read_below_the_high_watermark_and_replicas_to_the_log_end() -> None:
    partition, _ = led(isr=(1, 2), replicas=(1, 2))
    append(partition)
    assert read(partition, FetchEntry(T0, 0, 1000)).size == 0
    found = read(partition, FetchEntry(T0, 0, 1000), Isolation.LOG_END)
    assert slice_bytes(found.records) == b"abc"


def test_between_high_watermark_and_log_end_there_is_nothing_and_no_error() -> None:
    partition, _ = led(isr=(1, 2), replicas=(1, 2))
    append(partition)
    found = read(partition, FetchEntry(T0, 2, 1000))
    assert (found.error, found.size, found.high_watermark) == (ErrorCode.NONE, 0, 0)
    with pytest.raises(KafkaError) as error:
        read(partition, FetchEntry(T0, 4, 1000))
    assert code_of(error) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_read_committed_stops_at_the_last_stable_offset() -> None:
    partition, log = led()
    append(partition, b"abc")
    append(partition, b"de")
    partition.maybe_raise_high_watermark(0)
    log.stable_limit = 3
    assert slice_bytes(read(partition, FetchEntry(T0, 0, 1000), Isolation.READ_COMMITTED).records) == b"abc"


def test_a_reader_whose_epoch_ended_earlier_here_is_told_where_to_cut() -> None:
    partition, log = led()
    append(partition)
    partition.become_leader(state(epoch=4), log, now_ms=0)
    append(partition)
    found = read(partition, FetchEntry(T0, 5, 1000, last_fetched_epoch=0))
    assert found.diverging == EpochEnd(0, 3)
    assert found.size == 0
    assert read(partition, FetchEntry(T0, 5, 1000, last_fetched_epoch=4)).diverging is None
    with pytest.raises(KafkaError) as error:
        read(partition, FetchEntry(T0, 5, 1000, last_fetched_epoch=7))
    assert code_of(error) is ErrorCode.OFFSET_OUT_OF_RANGE


def at(
    partition: Partition, timestamp: int, replica_id: int = CONSUMER_REPLICA_ID,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
):
    log: Any = partition.leader_log()
    by_time = log.offset_for_timestamp(timestamp) if is_search(timestamp) else None
    return offset_for_timestamp(
        partition, timestamp, isolation, -1, leader_only=True, replica_id=replica_id, by_time=by_time
    )


def test_latest_is_the_high_watermark_with_the_leader_epoch_and_earliest_the_log_start() -> None:
    partition, _ = led()
    append(partition)
    partition.maybe_raise_high_watermark(0)
    latest, earliest = at(partition, LATEST_TIMESTAMP), at(partition, EARLIEST_TIMESTAMP)
    assert latest is not None and (latest.timestamp, latest.offset, latest.leader_epoch) == (-1, 3, 0)
    assert earliest is not None and (earliest.timestamp, earliest.offset, earliest.leader_epoch) == (-1, 0, 0)


def test_a_time_beyond_all_records_finds_nothing() -> None:
    partition, _ = led()
    append(partition)
    partition.maybe_raise_high_watermark(0)
    assert at(partition, 5000) is None
    found = at(partition, 900)
    assert found is not None and found.offset == 0


def test_a_new_leader_answers_clients_offset_not_available_until_its_epoch_is_committed() -> None:
    partition, log = led(isr=(1, 2), replicas=(1, 2))
    append(partition)
    partition.become_leader(state(epoch=1, isr=(1, 2), replicas=(1, 2)), log, now_ms=0)
    for timestamp in (LATEST_TIMESTAMP, 900):
        with pytest.raises(KafkaError) as error:
            at(partition, timestamp)
        assert code_of(error) is ErrorCode.OFFSET_NOT_AVAILABLE
    assert at(partition, EARLIEST_TIMESTAMP) is not None
    assert at(partition, LATEST_TIMESTAMP, replica_id=2, isolation=Isolation.LOG_END) is not None


def test_gauges_tell_under_replication_without_counting_replicas_being_added() -> None:
    partition, log = led(isr=(1,), replicas=(1, 2))
    assert partition.is_under_replicated
    moving = state(epoch=1, replicas=(1, 2))
    moving.adding_replicas = [2]
    partition.become_leader(moving, log, now_ms=0)
    assert not partition.is_under_replicated


# Worked examples of the high watermark


def fetched(partition: Partition, follower: int, offset: int, now_ms: float = 1) -> None:
    """The follower asks for `offset`, so it holds what lies below."""
    entry = FetchEntry(T0, offset, 100)
    partition.record_follower_fetch(follower, entry, end_offset=partition.leader_log().log_end_offset, now_ms=now_ms)


def test_w8_3_the_high_watermark_is_the_least_end_of_the_in_sync_replicas() -> None:
    """W8.3: leader at 9, followers at 7 and 6: HW 6; without the slowest: HW 7."""
    partition, log = led(isr=(1, 2, 3), replicas=(1, 2, 3))
    append(partition, b"012345678")
    fetched(partition, 2, 7)
    fetched(partition, 3, 6)
    assert (log.log_end_offset, log.high_watermark) == (9, 6)
    partition.isr = CommittedIsr(frozenset({1, 2}))
    assert partition.maybe_raise_high_watermark(LAG_MS + 2)
    assert log.high_watermark == 7


def test_w8_5_the_high_watermark_is_one_round_of_fetches_behind() -> None:
    """W8.5: what a follower holds is known only from its next fetch."""
    partition, log = led(isr=(1, 2, 3), replicas=(1, 2, 3))
    append(partition, b"01234")
    assert (log.log_end_offset, log.high_watermark) == (5, 0)
    fetched(partition, 2, 0)
    fetched(partition, 3, 0)
    assert log.high_watermark == 0  # which is what both are told, though they now hold 3 and 4 messages
    append(partition, b"5678901234")
    fetched(partition, 2, 3)
    fetched(partition, 3, 4)
    assert (log.log_end_offset, log.high_watermark) == (15, 3)


def test_w8_12_an_isr_below_the_minimum_takes_no_acks_all() -> None:
    """W8.12: three replicas, min.insync.replicas 2, one in sync."""
    partition, _ = led(isr=(1,), replicas=(1, 2, 3), settings={"min.insync.replicas": "2"})
    with pytest.raises(KafkaError) as error:
        append(partition, acks=-1)
    assert code_of(error) is ErrorCode.NOT_ENOUGH_REPLICAS


class TestJoiningTheInSyncSet:
    """S2-033, S2-037: a follower joins when its log end has reached the leader's high watermark.

    And the start of the leader's own epoch: before that it may hold records that the leader does not.
    """

    @pytest.mark.parametrize("others", [(), (3,)], ids=["committed by the leader alone", "and by a third replica"])
    def test_no_follower_joins_below_the_high_watermark(self, others: tuple[int, ...]) -> None:
        partition, log = led(isr=(1, *others), replicas=(1, 2, 3))
        append(partition, b"012345678")
        for other in others:
            fetched(partition, other, 9)
        partition.maybe_raise_high_watermark(LAG_MS + 2)
        assert (partition.leader_epoch_start, log.high_watermark) == (0, 9)
        members = frozenset({1, *others})
        for behind in range(9):
            fetched(partition, 2, behind, now_ms=LAG_MS + 3)
            assert partition.isr == CommittedIsr(members), behind
        fetched(partition, 2, 9, now_ms=LAG_MS + 4)
        assert partition.isr == PendingExpandIsr(members, adding=2)

    def test_it_need_not_reach_the_leaders_log_end(self) -> None:
        partition, log = led(isr=(1, 3), replicas=(1, 2, 3))
        append(partition, b"012345678")
        fetched(partition, 3, 6)
        assert log.high_watermark == 6
        fetched(partition, 2, 5)
        assert partition.isr == CommittedIsr(frozenset({1, 3}))
        fetched(partition, 2, 6)
        assert partition.isr == PendingExpandIsr(frozenset({1, 3}), adding=2)

    def test_no_follower_joins_below_the_start_of_the_leaders_epoch(self) -> None:
        partition, log = led(isr=(1,), replicas=(1, 2))
        append(partition, b"012345678")
        log.update_high_watermark(4)
        partition.become_leader(state(epoch=1, isr=(1, 3), replicas=(1, 2, 3)), log, now_ms=0)
        assert (partition.leader_epoch_start, log.high_watermark) == (9, 4)
        fetched(partition, 2, 8)
        assert partition.isr == CommittedIsr(frozenset({1, 3}))
        fetched(partition, 2, 9)
        assert partition.isr == PendingExpandIsr(frozenset({1, 3}), adding=2)


class TestLeavingTheInSyncSet:
    def test_a_member_that_is_no_replica_leaves_at_the_next_look(self) -> None:
        """It never fetches again, and would count for min.insync.replicas for ever."""
        partition, _ = led(isr=(1, 2, 7), replicas=(1, 2), settings={"min.insync.replicas": "3"})
        append(partition, b"abc", acks=-1)
        fetched(partition, 2, 3)
        assert partition.shrink_isr(1)
        assert partition.isr == PendingShrinkIsr(frozenset({1, 2, 7}), frozenset({7}))
        partition.commit_isr(partition.isr, zk_version=1, now_ms=2)
        with pytest.raises(KafkaError) as error:
            append(partition, acks=-1)
        assert code_of(error) is ErrorCode.NOT_ENOUGH_REPLICAS

    def test_so_it_is_when_the_leader_is_the_only_replica(self) -> None:
        partition, _ = led(isr=(1, 7), replicas=(1,))
        assert partition.shrink_isr(1)
        assert partition.isr == PendingShrinkIsr(frozenset({1, 7}), frozenset({7}))

    def test_replicas_that_keep_up_stay(self) -> None:
        partition, _ = led(isr=(1, 2), replicas=(1, 2))
        append(partition, b"abc")
        fetched(partition, 2, 3)
        assert not partition.shrink_isr(10 * LAG_MS)
        assert partition.isr == CommittedIsr(frozenset({1, 2}))

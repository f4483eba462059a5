"""Commits over a real log, above all those of transactions: what is pending, what holds, what another broker finds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups import removal
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import CommittedOffset, CommittingProducer, TxnEnd
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.coordinator.groups.states import DEAD, STABLE
from kafka_py.records.batch import iter_headers
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.testing.fakes.stored_groups import GROUP, PARTITION, StoredGroups, commit

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
FIRST, SECOND = (7, 0), (8, 0)


@pytest.fixture
def world() -> Iterator[StoredGroups]:
    made = StoredGroups()
    yield made.own()
    for task in made.tasks:
        task.close()


def group_of(world: StoredGroups) -> Group:
    group = world.store.get(GROUP)
    assert group is not None
    return group


def committed(world: StoredGroups) -> dict[TopicPartition, int]:
    return {where: found.offset for where, found in group_of(world).offsets.committed.items()}


def code_of(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        call()
    return caught.value.code


# ---- the batch


def test_the_batch_of_a_transaction_is_marked_as_such(world: StoredGroups) -> None:
    world.commit_in_transaction((P0, commit(5)), (P1, commit(6)), producer=(7, 3))
    [(_, header)] = iter_headers(world.disk.data(f"{0:020}.log"))
    assert header.is_transactional and not header.is_control
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 0)
    assert header.record_count == 2


def group_producer() -> CommittingProducer:
    return CommittingProducer(*FIRST)


def built(world: StoredGroups, request: CommitRequest) -> bytes:
    """The batch of a commit, built in turns."""
    building = world.offsets.building(GROUP, request)
    while True:
        try:
            next(building)
        except StopIteration as end:
            return bytes(end.value)


def test_many_commits_of_a_transaction_are_built_in_steps(world: StoredGroups) -> None:
    commits = {TopicPartition("t", number): commit(number) for number in range(600)}
    world.commit_in_transaction(*commits.items())
    at_once = world.disk.data(f"{0:020}.log")
    again = StoredGroups().own()
    request = CommitRequest(-1, "", None, commits, group_producer())
    again.offsets.commit(GROUP, request, lambda _: None, built(again, request))
    assert again.disk.data(f"{0:020}.log") == at_once


NOW_MS = 1_700_000_000_123
APACHE_COMMITS = (
    "0000000000000000000000a7ffffffff02ba3d70e90010000000010000018bcfe5687b0000018bcfe5687b000000000000000700030000"
    "00000000000278000000340001000f636f6e73756d657247726f75704964000174000000003800030000000000000005000000020004"
    "6e6f74650000018bcfe5687b0070000002340001000f636f6e73756d657247726f75704964000174000000013000030000000000000006"
    "0000000200000000018bcfe5687b00"
)
APACHE_MARKERS = {
    ControlType.COMMIT: (
        "000000000000000000000042ffffffff0264a0740e0030000000000000018bcfe5687b0000018bcfe5687b00000000000000070003"
        "ffffffff000000012000000008000000010c00000000000400"
    ),
    ControlType.ABORT: (
        "000000000000000000000042ffffffff02909ea2460030000000000000018bcfe5687b0000018bcfe5687b00000000000000070003"
        "ffffffff000000012000000008000000000c00000000000400"
    ),
}
"""What GroupMetadataManager and MemoryRecords of Apache Kafka 2.8.2 write for the same commits, and for their end."""


def test_the_bytes_are_those_of_apache_kafka(world: StoredGroups) -> None:
    world.disk.clock.jump_wall(NOW_MS - world.disk.clock.wall_ms())
    commits = {P0: commit(5, NOW_MS, "note"), P1: commit(6, NOW_MS)}
    request = CommitRequest(-1, "", None, commits, CommittingProducer(7, 3))
    assert built(world, request).hex() == APACHE_COMMITS
    for control_type, expected in APACHE_MARKERS.items():
        marker = end_txn_marker(
            control_type, producer_id=7, producer_epoch=3, coordinator_epoch=4, timestamp=NOW_MS
        )
        assert marker.hex() == expected


# ---- until the marker


@pytest.mark.parametrize("is_commit", [True, False])
def test_offsets_of_a_transaction_wait_for_its_marker(world: StoredGroups, is_commit: bool) -> None:
    assert world.commit_in_transaction((P0, commit(5, 100, "note"))) is ErrorCode.NONE
    group = group_of(world)
    assert group.offsets.is_pending(P0) and not group.offsets.committed
    world.end_transaction(is_commit)
    assert not group.offsets.is_pending(P0)
    assert group.offsets.committed == ({P0: CommittedOffset(5, 2, "note", 100, -1, 0)} if is_commit else {})
    world.reload()
    if is_commit:
        assert committed(world) == {P0: 5}
    else:
        assert world.store.get(GROUP) is None


def test_what_was_pending_before_a_fail_over_is_pending_after_it(world: StoredGroups) -> None:
    world.commit_in_transaction((P0, commit(5)))
    world.reload()
    assert group_of(world).offsets.is_pending(P0)
    world.end_transaction(is_commit=True)
    assert committed(world) == {P0: 5}


def test_a_marker_without_commits_changes_nothing(world: StoredGroups) -> None:
    world.commit((P0, commit(5)))
    world.end_transaction(is_commit=True)
    assert committed(world) == {P0: 5}
    world.reload()
    assert committed(world) == {P0: 5}


def test_a_marker_that_comes_twice_counts_once(world: StoredGroups) -> None:
    world.commit_in_transaction((P0, commit(5)))
    world.end_transaction(is_commit=True)
    world.commit((P0, commit(3)))
    world.end_transaction(is_commit=True)
    assert committed(world) == {P0: 3}
    world.reload()
    assert committed(world) == {P0: 3}


def test_the_end_of_a_transaction_concerns_its_partition_and_producer_alone(world: StoredGroups) -> None:
    world.commit_in_transaction((P0, commit(5)))
    world.store.complete_txn(PARTITION + 1, TxnEnd(7, 99, is_commit=True))
    world.store.complete_txn(PARTITION, TxnEnd(8, 99, is_commit=True))
    assert group_of(world).offsets.is_pending(P0)
    world.store.complete_txn(PARTITION, TxnEnd(7, 99, is_commit=True))
    assert committed(world) == {P0: 5}


def test_one_transaction_may_commit_for_several_groups(world: StoredGroups) -> None:
    number = world.store.runtime.partition_for
    other = next(name for name in (f"g{each}" for each in range(999)) if number(name) == PARTITION)
    world.commit_in_transaction((P0, commit(5)))
    world.commit_in_transaction((P0, commit(6)), group=other)
    world.end_transaction(is_commit=True)
    assert committed(world) == {P0: 5}
    found = world.store.get(other)
    assert found is not None and found.offsets.committed[P0].offset == 6


# ---- races


def test_of_two_producers_on_one_partition_the_later_commit_holds(world: StoredGroups) -> None:
    world.commit_in_transaction((P0, commit(1)), producer=FIRST)
    world.commit_in_transaction((P0, commit(2)), producer=SECOND)
    world.end_transaction(is_commit=True, producer=SECOND)
    assert committed(world) == {P0: 2} and group_of(world).offsets.is_pending(P0)
    world.end_transaction(is_commit=True, producer=FIRST)
    assert committed(world) == {P0: 2} and not group_of(world).offsets.is_pending(P0)
    world.reload()
    assert committed(world) == {P0: 2}


def test_a_plain_commit_after_that_of_a_transaction_holds(
    world: StoredGroups, caplog: pytest.LogCaptureFixture
) -> None:
    world.commit_in_transaction((P0, commit(1)))
    with caplog.at_level(logging.WARNING):
        world.commit((P0, commit(9)))
        world.commit((P0, commit(8)))
    world.end_transaction(is_commit=True)
    assert committed(world) == {P0: 8}
    world.reload()
    assert committed(world) == {P0: 8}
    assert caplog.text.count("A group should use one kind") == 1


def test_a_plain_commit_before_that_of_a_transaction_is_replaced(
    world: StoredGroups, caplog: pytest.LogCaptureFixture
) -> None:
    world.commit((P0, commit(9)))
    with caplog.at_level(logging.WARNING):
        world.commit_in_transaction((P0, commit(1)))
    assert "A group should use one kind" in caplog.text
    assert committed(world) == {P0: 9}, "until the marker"
    world.end_transaction(is_commit=True)
    assert committed(world) == {P0: 1}


def test_a_commit_that_is_acknowledged_after_a_later_transaction_does_not_replace_it(world: StoredGroups) -> None:
    world.waiting = []
    world.commit((P0, commit(1)))
    world.commit_in_transaction((P0, commit(2)))
    plain, transactional = world.waiting
    transactional()
    world.end_transaction(is_commit=True)
    plain()
    assert committed(world) == {P0: 2}


# ---- failures


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.INVALID_FETCH_SIZE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.CORRUPT_MESSAGE, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_a_commit_of_a_transaction_that_is_not_written_is_forgotten(
    world: StoredGroups, error: ErrorCode, answer: ErrorCode
) -> None:
    world.error = error
    assert world.commit_in_transaction((P0, commit(5))) is answer
    assert group_of(world).offsets.is_empty
    world.error = ErrorCode.NONE
    world.end_transaction(is_commit=True)
    assert not group_of(world).offsets.committed


def test_producers_whose_commits_are_not_written_are_not_kept_in_memory(
    world: StoredGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.commit_in_transaction((P0, commit(5)), producer=(1, 0))
    world.error = ErrorCode.INVALID_PRODUCER_EPOCH
    for producer_id in range(1, 100):
        world.commit_in_transaction((P0, commit(6)), producer=(producer_id, 0))

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(world.store, "append_commits", fail)
    with pytest.raises(ZeroDivisionError):
        world.commit_in_transaction((P0, commit(6)), producer=(200, 0))
    assert list(world.store._open[PARTITION]) == [1]
    world.end_transaction(is_commit=True, producer=(1, 0))
    assert committed(world) == {P0: 5}
    assert not world.store._open[PARTITION]


def test_a_producer_that_was_fenced_commits_nothing(world: StoredGroups) -> None:
    world.commit_in_transaction((P0, commit(5)), producer=(7, 1))
    assert world.commit_in_transaction((P0, commit(6)), producer=(7, 0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    world.end_transaction(is_commit=True, producer=(7, 1))
    assert committed(world) == {P0: 5}


def test_what_is_acknowledged_after_the_coordinator_was_lost_changes_nothing_here(world: StoredGroups) -> None:
    world.waiting = []
    world.commit_in_transaction((P0, commit(5)))
    group = group_of(world)
    world.store.runtime.resigned(PARTITION, 1)
    world.run()
    [acknowledge] = world.waiting
    acknowledge()
    assert world.store.get(GROUP) is None and group.state is DEAD
    world.store.complete_txn(PARTITION, TxnEnd(7, 99, is_commit=True))
    assert not group.offsets.committed
    world.disk.mark(*FIRST, ControlType.COMMIT)
    world.waiting = None
    world.reload()
    assert committed(world) == {P0: 5}, "the next coordinator reads it in the log"


def test_a_store_that_raises_leaves_nothing_pending(world: StoredGroups, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(world.store, "append_commits", fail)
    for commit_some in (world.commit, world.commit_in_transaction):
        with pytest.raises(ZeroDivisionError):
            commit_some((P0, commit(5)))
        assert group_of(world).offsets.is_empty


# ---- what is counted


def test_commits_are_counted_whatever_comes_of_them_and_deletions_only_if_asked_for(world: StoredGroups) -> None:
    """As GroupMetadataManager and GroupCoordinator of Apache Kafka 2.8.2 do."""
    world.commit((P0, commit(5)), (P1, commit(6)))
    world.commit_in_transaction((P0, commit(7)))
    world.error = ErrorCode.NOT_ENOUGH_REPLICAS
    world.commit((P0, commit(8)))
    assert world.offsets.committed_count == 4
    world.error = ErrorCode.NONE
    world.offsets.delete(GROUP, [P0])
    list(world.offsets.remove_topics(["t"]))
    assert (world.offsets.deleted_count, world.offsets.expired_count) == (1, 0)


# ---- who may


def test_a_transaction_brings_its_group_into_being(world: StoredGroups) -> None:
    assert world.commit_in_transaction((P0, commit(5)), generation=-1) is ErrorCode.NONE
    assert code_of(lambda: world.commit_in_transaction((P0, commit(5)), group="")) is ErrorCode.INVALID_GROUP_ID
    assert code_of(lambda: world.commit_in_transaction((P0, commit(5)), generation=3)) is ErrorCode.ILLEGAL_GENERATION
    assert code_of(lambda: world.commit_in_transaction((P0, commit(5)), member_id="m")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_producer_that_names_its_consumer_is_fenced_with_it(world: StoredGroups) -> None:
    """KIP-447: member id, generation and instance id are those of the consumer whose offsets are committed."""
    group = world.store.get_or_create(GROUP)
    group.protocol_type, group.protocol, group.generation = "consumer", "range", 3
    group.add(Member("m", "i", "client", "/h", 60_000, 10_000, (("range", b""),)))
    group.state = STABLE
    assert world.commit_in_transaction((P0, commit(5)), generation=3, member_id="m") is ErrorCode.NONE
    assert world.commit_in_transaction((P0, commit(5))) is ErrorCode.NONE, "older producers say nothing"
    assert code_of(
        lambda: world.commit_in_transaction((P0, commit(5)), generation=2, member_id="m")
    ) is ErrorCode.ILLEGAL_GENERATION
    assert code_of(
        lambda: world.commit_in_transaction((P0, commit(5)), generation=3, member_id="n")
    ) is ErrorCode.UNKNOWN_MEMBER_ID
    request = CommitRequest(3, "n", "i", {P0: commit(5)}, group_producer())
    assert code_of(lambda: world.offsets.commit(GROUP, request, lambda _: None)) is ErrorCode.FENCED_INSTANCE_ID


def test_a_request_of_which_nothing_is_left_is_answered_at_once(world: StoredGroups) -> None:
    codes: list[ErrorCode] = []
    for producer in (None, group_producer()):
        world.offsets.commit(GROUP, CommitRequest(-1, "", None, {}, producer), codes.append)
    assert codes == [ErrorCode.OFFSET_METADATA_TOO_LARGE] * 2
    assert group_of(world).offsets.is_empty
    assert not world.asked


# ---- what goes


def test_a_group_with_an_open_transaction_is_not_removed(world: StoredGroups) -> None:
    world.commit((P0, commit(5, world.disk.clock.wall_ms())))
    world.commit_in_transaction((P1, commit(6, world.disk.clock.wall_ms())))
    world.disk.clock.advance(8 * 86_400_000)
    list(world.offsets.remove_expired())
    assert committed(world) == {} and group_of(world).offsets.is_pending(P1)
    world.end_transaction(is_commit=False)
    list(world.offsets.remove_expired())
    assert world.store.get(GROUP) is None


def test_offsets_that_are_deleted_while_a_transaction_is_open_do_not_come_back_with_its_marker(
    world: StoredGroups,
) -> None:
    world.commit((P1, commit(1)))
    world.commit_in_transaction((P0, commit(5)), (P1, commit(6)))
    assert world.offsets.delete(GROUP, [P0]) == [P0]
    world.end_transaction(is_commit=True)
    assert committed(world) == {P1: 6}


def test_the_offsets_of_a_deleted_topic_are_dropped_from_open_transactions(world: StoredGroups) -> None:
    other = TopicPartition("u", 0)
    world.commit_in_transaction((P0, commit(5)), (other, commit(6)))
    list(world.offsets.remove_topics(["t"]))
    world.end_transaction(is_commit=True)
    assert committed(world) == {other: 6}


def test_a_group_that_is_deleted_and_made_again_has_nothing_of_the_old_transaction(world: StoredGroups) -> None:
    world.commit_in_transaction((P0, commit(5)))
    old = group_of(world)
    old.become(DEAD, 0)
    world.store.bury(old, removal.remove_group(old))
    world.commit((P1, commit(1)))
    world.end_transaction(is_commit=True)
    assert committed(world) == {P1: 1}
    assert not old.offsets.committed


def test_a_later_transaction_of_the_same_producer_is_ended_by_its_own_marker(world: StoredGroups) -> None:
    for offset in (5, 6):
        world.commit_in_transaction((P0, commit(offset)))
        world.end_transaction(is_commit=True)
        assert committed(world) == {P0: offset}
    world.waiting = []
    world.commit_in_transaction((P0, commit(7)))
    world.store.complete_txn(PARTITION, TxnEnd(7, 3, is_commit=True))  # the one before is announced again
    world.waiting[0]()
    assert group_of(world).offsets.is_pending(P0)
    world.end_transaction(is_commit=True)
    assert committed(world) == {P0: 7}

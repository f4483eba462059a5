from __future__ import annotations

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets, OpenTransaction, TxnEnd

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def at(offset: int, record_offset: int = -1) -> CommittedOffset:
    return CommittedOffset(offset, -1, "", 0, record_offset=record_offset)


def test_a_commit_holds_once_it_is_appended() -> None:
    offsets = GroupOffsets()
    commits = {P0: at(5)}
    offsets.prepare(commits)
    assert not offsets.committed and offsets.is_pending(P0) and not offsets.is_empty
    offsets.appended(commits, 10)
    assert offsets.committed == {P0: at(5, 10)}
    assert not offsets.is_pending(P0)


def test_a_failed_commit_leaves_what_was_there() -> None:
    offsets = GroupOffsets()
    offsets.committed[P0] = at(1, 3)
    commits = {P0: at(5)}
    offsets.prepare(commits)
    offsets.failed(commits)
    assert offsets.committed == {P0: at(1, 3)}
    assert not offsets.pending


def test_of_commits_that_race_the_later_batch_wins() -> None:
    offsets = GroupOffsets()
    first, second = {P0: at(1)}, {P0: at(2)}
    offsets.prepare(first)
    offsets.prepare(second)
    offsets.appended(second, 11)
    offsets.appended(first, 10)
    assert offsets.committed == {P0: at(2, 11)}


def test_an_earlier_commit_holds_while_a_later_one_is_on_its_way() -> None:
    offsets = GroupOffsets()
    first, second = {P0: at(1)}, {P0: at(2)}
    offsets.prepare(first)
    offsets.prepare(second)
    offsets.appended(first, 10)
    assert offsets.committed[P0].offset == 1 and offsets.is_pending(P0)
    offsets.failed(second)
    assert offsets.committed[P0].offset == 1 and not offsets.is_pending(P0)


def test_a_later_commit_that_fails_does_not_take_the_earlier_one_with_it() -> None:
    """The client was told that the earlier one is stored."""
    offsets = GroupOffsets()
    first, second, third = {P0: at(1)}, {P0: at(2)}, {P0: at(3)}
    for commits in (first, second, third):
        offsets.prepare(commits)
    offsets.failed(second)
    offsets.failed(third)
    assert offsets.is_pending(P0)
    offsets.appended(first, 10)
    assert offsets.committed == {P0: at(1, 10)} and not offsets.is_pending(P0)


def test_commits_made_before_and_after_a_removal_are_told_apart() -> None:
    offsets = GroupOffsets()
    first, second = {P0: at(1)}, {P0: at(2)}
    offsets.prepare(first)
    offsets.remove([P0])
    offsets.prepare(second)
    offsets.appended(first, 10)
    assert not offsets.committed and offsets.is_pending(P0)
    offsets.failed(second)
    assert offsets.is_empty


def test_what_was_removed_while_it_was_appended_does_not_come_back() -> None:
    offsets = GroupOffsets()
    commits = {P0: at(1)}
    offsets.prepare(commits)
    assert offsets.remove([P0]) == []
    offsets.appended(commits, 1)
    assert offsets.is_empty


def test_only_what_was_committed_counts_as_removed() -> None:
    offsets = GroupOffsets()
    offsets.committed[P0] = at(1, 1)
    offsets.pending_txn[7] = OpenTransaction({P0: at(2, 2), P1: at(3, 2)})
    assert offsets.remove([P0, P1]) == [P0]
    assert offsets.is_empty


def test_a_committed_transaction_gives_its_offsets_unless_they_are_older() -> None:
    offsets = GroupOffsets()
    offsets.committed = {P0: at(1, 5), P1: at(1, 9)}
    offsets.pending_txn[7] = OpenTransaction({P0: at(2, 8), P1: at(2, 8)})
    assert offsets.is_pending(P0)
    offsets.complete_txn(TxnEnd(7, 20, is_commit=True))
    assert offsets.committed == {P0: at(2, 8), P1: at(1, 9)}
    assert not offsets.is_pending(P0)


def test_an_aborted_transaction_leaves_nothing() -> None:
    offsets = GroupOffsets()
    offsets.pending_txn[7] = OpenTransaction({P0: at(2, 8)})
    offsets.complete_txn(TxnEnd(7, 20, is_commit=False))
    offsets.complete_txn(TxnEnd(8, 20, is_commit=True))
    assert offsets.is_empty


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_says_nothing_about_the_commits_behind_it(is_commit: bool) -> None:
    offsets = GroupOffsets()
    offsets.pending_txn[7] = OpenTransaction({P0: at(2, 8), P1: at(3, 12)})
    offsets.complete_txn(TxnEnd(7, 10, is_commit))
    assert offsets.committed == ({P0: at(2, 8)} if is_commit else {})
    assert offsets.pending_txn[7].appended == {P1: at(3, 12)}


def test_the_partitions_of_a_topic_are_found_wherever_they_are() -> None:
    offsets = GroupOffsets()
    other = TopicPartition("u", 0)
    offsets.committed = {P0: at(1, 1), other: at(1, 1)}
    offsets.pending_txn[7] = OpenTransaction({P1: at(1, 1)})
    assert offsets.of_topics(["t"]) == [P0, P1]


# ---- commits of a transaction on their way into the log


def test_a_commit_of_a_transaction_is_pending_until_the_marker() -> None:
    offsets = GroupOffsets()
    commits = {P0: at(5)}
    offsets.prepare_txn(7, commits)
    assert offsets.is_pending(P0) and not offsets.is_empty
    offsets.appended_txn(7, commits, 10)
    assert offsets.is_pending(P0) and not offsets.committed
    offsets.complete_txn(TxnEnd(7, 11, is_commit=True))
    assert offsets.committed == {P0: at(5, 10)}
    assert not offsets.pending_txn


def test_a_failed_commit_of_a_transaction_leaves_the_earlier_one() -> None:
    offsets = GroupOffsets()
    first, second = {P0: at(1)}, {P0: at(2), P1: at(2)}
    offsets.prepare_txn(7, first)
    offsets.appended_txn(7, first, 10)
    offsets.prepare_txn(7, second)
    offsets.failed_txn(7, second)
    assert offsets.is_pending(P0) and not offsets.is_pending(P1)
    offsets.complete_txn(TxnEnd(7, 12, is_commit=True))
    assert offsets.committed == {P0: at(1, 10)}


def test_a_later_commit_of_a_transaction_that_fails_does_not_take_the_earlier_one_with_it() -> None:
    offsets = GroupOffsets()
    first, second = {P0: at(1)}, {P0: at(2)}
    offsets.prepare_txn(7, first)
    offsets.prepare_txn(7, second)
    offsets.failed_txn(7, second)
    offsets.appended_txn(7, first, 10)
    offsets.complete_txn(TxnEnd(7, 11, is_commit=True))
    assert offsets.committed == {P0: at(1, 10)} and offsets.pending_txn == {}


def test_a_transaction_of_which_nothing_was_appended_is_forgotten() -> None:
    offsets = GroupOffsets()
    commits = {P0: at(1)}
    offsets.prepare_txn(7, commits)
    offsets.failed_txn(7, commits)
    assert offsets.is_empty
    offsets.failed_txn(7, commits)
    offsets.appended_txn(7, commits, 3)
    assert offsets.is_empty


def test_of_commits_of_one_transaction_the_later_batch_wins() -> None:
    offsets = GroupOffsets()
    first, second = {P0: at(1)}, {P0: at(2)}
    offsets.prepare_txn(7, first)
    offsets.prepare_txn(7, second)
    offsets.appended_txn(7, second, 11)
    offsets.appended_txn(7, first, 10)
    offsets.complete_txn(TxnEnd(7, 12, is_commit=True))
    assert offsets.committed == {P0: at(2, 11)}


def test_a_commit_of_a_transaction_whose_partition_was_removed_meanwhile_does_not_come_back() -> None:
    offsets = GroupOffsets()
    commits = {P0: at(1), P1: at(1)}
    offsets.prepare_txn(7, commits)
    assert offsets.remove([P0]) == []
    offsets.appended_txn(7, commits, 3)
    offsets.complete_txn(TxnEnd(7, 4, is_commit=True))
    assert offsets.committed == {P1: at(1, 3)}


def test_what_is_acknowledged_after_a_marker_that_it_is_behind_belongs_to_the_next_transaction() -> None:
    offsets = GroupOffsets()
    commits = {P0: at(1)}
    offsets.prepare_txn(7, commits)
    offsets.complete_txn(TxnEnd(7, 4, is_commit=False))
    offsets.appended_txn(7, commits, 5)
    assert offsets.is_pending(P0) and offsets.pending_txn[7].ends == []
    offsets.complete_txn(TxnEnd(7, 6, is_commit=True))
    assert offsets.committed == {P0: at(1, 5)}


@pytest.mark.parametrize("is_commit", [True, False])
def test_what_is_acknowledged_after_its_marker_is_decided_by_it(is_commit: bool) -> None:
    offsets = GroupOffsets()
    offsets.committed[P1] = at(9, 9)
    first, second = {P0: at(1), P1: at(1)}, {P0: at(2)}
    offsets.prepare_txn(7, first)
    offsets.prepare_txn(7, second)
    offsets.complete_txn(TxnEnd(7, 6, is_commit))
    offsets.complete_txn(TxnEnd(7, 8, not is_commit))
    offsets.appended_txn(7, second, 7)
    offsets.appended_txn(7, first, 5)
    assert offsets.committed == {P0: at(1, 5) if is_commit else at(2, 7), P1: at(9, 9)}
    assert offsets.is_empty or not offsets.pending_txn


@pytest.mark.parametrize("first_ends", [7, 8])
def test_of_two_transactions_on_one_partition_the_later_commit_holds_whichever_ends_first(first_ends: int) -> None:
    offsets = GroupOffsets()
    for producer_id, offset, record_offset in ((7, 1, 10), (8, 2, 11)):
        commits = {P0: at(offset)}
        offsets.prepare_txn(producer_id, commits)
        offsets.appended_txn(producer_id, commits, record_offset)
    offsets.complete_txn(TxnEnd(first_ends, 12, is_commit=True))
    assert offsets.is_pending(P0)
    offsets.complete_txn(TxnEnd(15 - first_ends, 13, is_commit=True))
    assert offsets.committed == {P0: at(2, 11)}
    assert not offsets.is_pending(P0)


def test_everything_can_be_removed_at_once() -> None:
    offsets = GroupOffsets()
    offsets.committed[P0] = at(1, 1)
    offsets.prepare({P1: at(2)})
    offsets.prepare_txn(7, {P1: at(2)})
    assert offsets.remove_all() == [P0]
    assert offsets.is_empty

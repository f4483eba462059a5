from __future__ import annotations

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets, TxnEnd

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
    offsets.pending_txn[7] = {P0: at(2, 2), P1: at(3, 2)}
    assert offsets.remove([P0, P1]) == [P0]
    assert offsets.is_empty


def test_a_committed_transaction_gives_its_offsets_unless_they_are_older() -> None:
    offsets = GroupOffsets()
    offsets.committed = {P0: at(1, 5), P1: at(1, 9)}
    offsets.pending_txn[7] = {P0: at(2, 8), P1: at(2, 8)}
    assert offsets.is_pending(P0)
    offsets.complete_txn(TxnEnd(7, 20, is_commit=True))
    assert offsets.committed == {P0: at(2, 8), P1: at(1, 9)}
    assert not offsets.is_pending(P0)


def test_an_aborted_transaction_leaves_nothing() -> None:
    offsets = GroupOffsets()
    offsets.pending_txn[7] = {P0: at(2, 8)}
    offsets.complete_txn(TxnEnd(7, 20, is_commit=False))
    offsets.complete_txn(TxnEnd(8, 20, is_commit=True))
    assert offsets.is_empty


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_says_nothing_about_the_commits_behind_it(is_commit: bool) -> None:
    offsets = GroupOffsets()
    offsets.pending_txn[7] = {P0: at(2, 8), P1: at(3, 12)}
    offsets.complete_txn(TxnEnd(7, 10, is_commit))
    assert offsets.committed == ({P0: at(2, 8)} if is_commit else {})
    assert offsets.pending_txn == {7: {P1: at(3, 12)}}


def test_the_partitions_of_a_topic_are_found_wherever_they_are() -> None:
    offsets = GroupOffsets()
    other = TopicPartition("u", 0)
    offsets.committed = {P0: at(1, 1), other: at(1, 1)}
    offsets.pending_txn[7] = {P1: at(1, 1)}
    assert offsets.of_topics(["t"]) == [P0, P1]

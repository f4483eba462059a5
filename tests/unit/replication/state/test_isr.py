"""The in-sync set while a change of it is on its way; who joins it and who has to leave."""

import pytest

from kafka_py.replication.state.isr import (
    CommittedIsr,
    Isr,
    PendingExpandIsr,
    PendingShrinkIsr,
    may_join,
    out_of_sync_members,
)
from kafka_py.replication.state.progress import FollowerProgress

ONE_TWO = frozenset({1, 2})


def test_an_expansion_counts_for_the_high_watermark_and_not_yet_for_min_insync() -> None:
    isr = PendingExpandIsr(ONE_TWO, adding=3)
    assert isr.members == ONE_TWO
    assert isr.maximal == {1, 2, 3}
    assert isr.in_flight


def test_a_shrink_still_holds_the_replicas_that_leave() -> None:
    isr = PendingShrinkIsr(ONE_TWO, removing=frozenset({2}))
    assert isr.members == isr.maximal == ONE_TWO
    assert isr.in_flight


def test_a_committed_set_is_its_own_maximum() -> None:
    assert CommittedIsr(ONE_TWO).maximal == ONE_TWO
    assert not CommittedIsr(ONE_TWO).in_flight


EVERYBODY = frozenset({1, 2, 3})


@pytest.mark.parametrize(
    ("isr", "end", "high_watermark", "epoch_start", "joins"),
    [
        (CommittedIsr(frozenset({1})), 9, 9, 5, True),
        (CommittedIsr(frozenset({1})), 8, 9, 5, False),
        (CommittedIsr(frozenset({1})), 5, 4, 6, False),
        (CommittedIsr(frozenset({1})), 9, 9, None, False),
        (PendingExpandIsr(frozenset({1}), adding=3), 9, 9, 5, False),
        (PendingShrinkIsr(EVERYBODY, frozenset({3})), 9, 9, 5, False),
    ],
    ids=["has all", "below the high watermark", "below the leader's epoch", "no leader", "one joins", "one leaves"],
)
def test_who_joins(isr: Isr, end: int, high_watermark: int, epoch_start: int | None, joins: bool) -> None:
    assert may_join(isr, end, high_watermark, epoch_start) is joins


def behind(caught_up_ms: float, end: int = 5) -> FollowerProgress:
    progress = FollowerProgress(2)
    progress.log_end_offset, progress.last_caught_up_ms = end, caught_up_ms
    return progress


@pytest.mark.parametrize(
    ("isr", "followers", "late"),
    [
        (CommittedIsr(EVERYBODY), {2: behind(70_000), 3: behind(69_999)}, {3}),
        (CommittedIsr(EVERYBODY), {2: behind(0, end=9), 3: behind(0)}, {3}),
        (CommittedIsr(EVERYBODY), {2: behind(70_000)}, {3}),
        (CommittedIsr(frozenset({1})), {}, set()),
        (PendingExpandIsr(EVERYBODY, adding=4), {2: behind(0), 3: behind(0)}, set()),
        (PendingShrinkIsr(EVERYBODY, frozenset({2})), {2: behind(0), 3: behind(0)}, set()),
    ],
    ids=["behind for too long", "at the end is not late", "no replica", "alone", "one joins", "one leaves"],
)
def test_who_has_to_leave(isr: Isr, followers: dict[int, FollowerProgress], late: set[int]) -> None:
    assert out_of_sync_members(isr, 1, followers, 9, 100_000, 30_000) == late

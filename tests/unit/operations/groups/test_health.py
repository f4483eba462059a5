"""Stuck, slow or well: the rules over a window of commits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.groups.health import (
    CommitSample,
    GroupHealth,
    MemberHealth,
    PartitionHealth,
    group_health,
    member_health,
    partition_health,
)

OK, WARN, STOP, STALL, REWIND, UNKNOWN = PartitionHealth


def window(*pairs):
    """(committed, end) every second."""
    return [CommitSample(1_000 * number, *pair) for number, pair in enumerate(pairs)]


@pytest.mark.parametrize(
    ("samples", "now_s", "has_member", "health"),
    [
        ([], 0, True, UNKNOWN),
        (window((5, 9), (6, 9)), 1, True, UNKNOWN),
        (window((9, 9)), 0, True, OK),
        (window((5, 5), (5, 5), (5, 5)), 90, True, OK),
        (window((1, 9), (3, 12), (5, 15), (7, 18)), 3, True, WARN),
        (window((1, 9), (3, 11), (5, 13)), 2, True, WARN),
        (window((1, 9), (5, 10), (9, 12)), 2, True, OK),
        (window((1, 9), (5, 10), (6, 12)), 2, True, OK),
        (window((5, 9), (5, 10), (5, 11)), 2, True, STALL),
        (window((5, 9), (5, 9), (5, 9)), 2, True, STALL),
        (window((5, 9), (5, 10), (5, 11)), 2, False, STOP),
        (window((1, 9), (5, 10), (5, 11), (5, 12)), 3, False, STOP),
        (window((1, 9), (5, 10), (5, 11)), 2, False, OK),
        (window((9, 9), (9, 20), (9, 30)), 2, True, STALL),
        (window((1, 9), (7, 9), (4, 9)), 2, True, REWIND),
        (window((1, 9), (9, 9), (4, 9)), 2, True, OK),
        (window((12, 9), (13, 9), (14, 9)), 2, True, OK),
    ],
)
def test_the_rules(samples, now_s, has_member, health):
    assert partition_health(samples, 1_000 * now_s, has_member=has_member) is health


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8), st.integers(0, 9), st.booleans())
def test_a_partition_without_lag_is_never_in_trouble(pairs, now_s, has_member):
    samples = [*window(*pairs), CommitSample(1_000 * len(pairs), 50, 50)]
    assert partition_health(samples, 1_000 * (len(pairs) + now_s), has_member=has_member) is OK


@pytest.mark.parametrize(
    ("partitions", "health"),
    [([], GroupHealth.UNKNOWN), ([UNKNOWN], GroupHealth.UNKNOWN), ([OK, UNKNOWN], GroupHealth.OK),
     ([OK, WARN], GroupHealth.WARN), ([WARN, STALL], GroupHealth.ERR), ([REWIND], GroupHealth.ERR)],
)  # fmt: skip
def test_a_group_is_as_its_worst_partition(partitions, health):
    assert group_health(partitions) is health


def test_a_member_is_stuck_slow_well_or_idle():
    t0, t1, t2 = (TopicPartition("t", number) for number in range(3))
    health = {t0: STALL, t1: WARN, t2: OK}
    assert member_health([], health) is MemberHealth.IDLE
    assert member_health([t0, t2], health) is MemberHealth.STUCK
    assert member_health([t1, t2], health) is MemberHealth.SLOW
    assert member_health([t2], health) is MemberHealth.WELL
    assert member_health([TopicPartition("u", 0)], health) is MemberHealth.UNKNOWN

"""Range: each topic by itself, in contiguous ranges. The worked examples are tests by their ids."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import Subscription
from kafka_py.clients.consumer.assignors.range import RangeAssignor


def shares(counts: dict[str, int], subscriptions: dict[str, list[str]]) -> dict[str, str]:
    """What each member gets, as `t0p0 t0p1`."""
    wants = {member: Subscription(topics) for member, topics in subscriptions.items()}
    made = RangeAssignor().assign_counts(counts, wants)
    return {member: " ".join(f"{topic}p{number}" for topic, number in share) for member, share in made.items()}


def test_w7_1_even_counts_are_shared_evenly() -> None:
    """W7.1"""
    assert shares({"t0": 4, "t1": 4}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]}) == {
        "C0": "t0p0 t0p1 t1p0 t1p1",
        "C1": "t0p2 t0p3 t1p2 t1p3",
    }


def test_w7_2_odd_counts_burden_the_first() -> None:
    """W7.2"""
    assert shares({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]}) == {
        "C0": "t0p0 t0p1 t1p0 t1p1",
        "C1": "t0p2 t1p2",
    }


@pytest.mark.parametrize(
    ("partitions", "members", "expected"),
    [
        (4, 4, [[0], [1], [2], [3]]),
        (4, 2, [[0, 1], [2, 3]]),
        (7, 1, [[0, 1, 2, 3, 4, 5, 6]]),
        (7, 2, [[0, 1, 2, 3], [4, 5, 6]]),
        (7, 3, [[0, 1, 2], [3, 4], [5, 6]]),
        (7, 8, [[0], [1], [2], [3], [4], [5], [6], []]),
    ],
)
def test_we3_1_and_we3_2_partitions_by_members(partitions: int, members: int, expected: list[list[int]]) -> None:
    """WE3-1, WE3-2"""
    wants = {f"C{number}": Subscription(["t"]) for number in range(members)}
    made = RangeAssignor().assign_counts({"t": partitions}, wants)
    assert [[each.partition for each in made[member]] for member in sorted(made)] == expected


def test_x_041_shares_differ_by_one_unlike_those_of_the_old_formula() -> None:
    """X-041: five partitions among four members."""
    made = RangeAssignor().assign_counts({"t": 5}, {f"C{number}": Subscription(["t"]) for number in range(4)})
    assert [len(made[member]) for member in sorted(made)] == [2, 1, 1, 1]


def test_only_subscribers_get_a_topic_and_unknown_topics_are_nobody_s() -> None:
    assert shares({"t0": 2}, {"C0": ["t0"], "C1": ["t1"], "C2": ["t0", "t1"]}) == {"C0": "t0p0", "C1": "", "C2": "t0p1"}


def test_static_members_come_first_and_in_the_order_of_their_instance_ids() -> None:
    """KIP-345: their places do not change when a restart gives them another member id."""
    wants = {
        "a": Subscription(["t"]),
        "z": Subscription(["t"], group_instance_id="1"),
        "b": Subscription(["t"], group_instance_id="2"),
    }
    assert RangeAssignor().assign_counts({"t": 3}, wants) == {
        "z": [TopicPartition("t", 0)],
        "b": [TopicPartition("t", 1)],
        "a": [TopicPartition("t", 2)],
    }

"""Round robin: all partitions dealt out in turn. The worked examples are tests by their ids."""

from kafka_py.clients.consumer.assignors.assignor import Subscription
from kafka_py.clients.consumer.assignors.round_robin import RoundRobinAssignor

UNEQUAL = {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]}
FOUR = ["t0", "t1", "t2", "t3"]


def shares(counts: dict[str, int], subscriptions: dict[str, list[str]]) -> dict[str, str]:
    """What each member gets, as `t0p0 t0p1`."""
    wants = {member: Subscription(topics) for member, topics in subscriptions.items()}
    made = RoundRobinAssignor().assign_counts(counts, wants)
    return {member: " ".join(f"{topic}p{number}" for topic, number in share) for member, share in made.items()}


def test_w7_3_equal_subscriptions_are_served_evenly() -> None:
    """W7.3"""
    assert shares({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]}) == {
        "C0": "t0p0 t0p2 t1p1",
        "C1": "t0p1 t1p0 t1p2",
    }


def test_w7_4_unequal_subscriptions_may_be_served_unevenly() -> None:
    """W7.4"""
    assert shares({"t0": 1, "t1": 2, "t2": 3}, UNEQUAL) == {"C0": "t0p0", "C1": "t1p0", "C2": "t1p1 t2p0 t2p1 t2p2"}


def test_w7_6_when_a_member_leaves_all_is_dealt_anew() -> None:
    """W7.6, the round robin half."""
    counts = dict.fromkeys(FOUR, 2)
    assert shares(counts, {"C0": FOUR, "C2": FOUR}) == {"C0": "t0p0 t1p0 t2p0 t3p0", "C2": "t0p1 t1p1 t2p1 t3p1"}


def test_w7_8_when_the_first_member_leaves_three_partitions_stay() -> None:
    """W7.8, S3-113"""
    rest = {member: topics for member, topics in UNEQUAL.items() if member != "C0"}
    assert shares({"t0": 1, "t1": 2, "t2": 3}, rest) == {"C1": "t0p0 t1p1", "C2": "t1p0 t2p0 t2p1 t2p2"}


def test_topics_that_nobody_wants_or_that_are_not_there_are_skipped() -> None:
    assert shares({"t0": 1, "t9": 5}, {"C0": ["t0", "t1"], "C1": ["t1"]}) == {"C0": "t0p0", "C1": ""}

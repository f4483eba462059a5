"""Sticky: balanced, then as before. The worked examples are tests by their ids; the rules are tried at random."""

import random
import time

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import Assignment, GroupMetadata, Subscription
from kafka_py.clients.consumer.assignors.sticky import StickyAssignor
from kafka_py.clients.consumer.protocol import encode_claim

UNEQUAL = {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]}
UNEQUAL_COUNTS = {"t0": 1, "t1": 2, "t2": 3}
FOUR = ["t0", "t1", "t2", "t3"]

Shares = dict[str, list[TopicPartition]]


def assign(counts: dict[str, int], subscriptions: dict[str, list[str]], had: Shares | None = None) -> Shares:
    """What each member gets, when it says what it had in generation 1."""
    wants = {
        member: Subscription(topics, encode_claim(had[member], 1) if had and member in had else None)
        for member, topics in subscriptions.items()
    }
    return StickyAssignor().assign_counts(counts, wants)


def text(shares: Shares) -> dict[str, set[str]]:
    return {member: {f"{topic}p{number}" for topic, number in share} for member, share in shares.items()}


def words(**shares: str) -> dict[str, set[str]]:
    return {member: set(share.split()) for member, share in shares.items()}


def without(subscriptions: dict[str, list[str]], member: str) -> dict[str, list[str]]:
    return {each: topics for each, topics in subscriptions.items() if each != member}


def test_w7_5_w7_6_equal_subscriptions_and_a_member_that_leaves() -> None:
    """W7.5, W7.6, S3-109, S3-111: nobody gives anything up, what is free goes to whoever has least."""
    counts, subscriptions = dict.fromkeys(FOUR, 2), dict.fromkeys(("C0", "C1", "C2"), FOUR)
    first = assign(counts, subscriptions)
    assert text(first) == words(C0="t0p0 t1p1 t3p0", C1="t0p1 t2p0 t3p1", C2="t1p0 t2p1")
    second = assign(counts, without(subscriptions, "C1"), first)
    assert text(second) == words(C0="t0p0 t1p1 t3p0 t2p0", C2="t1p0 t2p1 t0p1 t3p1")


def test_w7_7_w7_8_unequal_subscriptions_and_a_member_that_leaves() -> None:
    """W7.7, W7.8, S3-112, S3-114: five of the six stay where they were."""
    first = assign(UNEQUAL_COUNTS, UNEQUAL)
    assert text(first) == words(C0="t0p0", C1="t1p0 t1p1", C2="t2p0 t2p1 t2p2")
    second = assign(UNEQUAL_COUNTS, without(UNEQUAL, "C0"), first)
    assert text(second) == words(C1="t1p0 t1p1 t0p0", C2="t2p0 t2p1 t2p2")


def test_a_member_says_what_it_had_since_its_last_assignment() -> None:
    assignor = StickyAssignor()
    assert assignor.subscription_user_data(["t"]) is None
    had = [TopicPartition("t", 1)]
    assignor.on_assignment(Assignment(had), GroupMetadata("g", 7, "m"))
    assert assignor.subscription_user_data(["t"]) == encode_claim(had, 7)


def test_kip_341_the_later_generation_has_the_right() -> None:
    """A member that was away comes back with what others have had for two generations."""
    partitions = [TopicPartition("t", number) for number in range(2)]
    wants = {
        "away": Subscription(["t"], encode_claim(partitions, 1)),
        "here": Subscription(["t"], encode_claim(partitions[:1], 3)),
    }
    assert StickyAssignor().assign_counts({"t": 2}, wants) == {"here": [partitions[0]], "away": [partitions[1]]}


def test_equal_claims_on_one_partition_cancel_each_other() -> None:
    both = encode_claim([TopicPartition("t", 0), TopicPartition("t", 1)], 1)
    made = StickyAssignor().assign_counts({"t": 2}, {each: Subscription(["t"], both) for each in ("a", "b")})
    assert sorted(made.values()) == [[TopicPartition("t", 0)], [TopicPartition("t", 1)]]


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 9, b"\x00\x00\x00\x02abc"])
def test_user_data_that_cannot_be_read_is_no_claim(data: bytes) -> None:
    made = StickyAssignor().assign_counts({"t": 2}, {"a": Subscription(["t"], data), "b": Subscription(["t"])})
    assert [len(share) for share in made.values()] == [1, 1]


def test_what_is_gone_is_not_kept() -> None:
    """A topic deleted, one with fewer partitions, one not subscribed to any more."""
    had = [TopicPartition("gone", 0), TopicPartition("t", 5), TopicPartition("other", 0), TopicPartition("t", 0)]
    wants = {"a": Subscription(["t", "gone"], encode_claim(had, 1))}
    assert StickyAssignor().assign_counts({"t": 1, "other": 1}, wants) == {"a": [TopicPartition("t", 0)]}


def _is_balanced(shares: Shares, subscriptions: dict[str, list[str]]) -> bool:
    """Whether no partition could go to a subscriber with at least two fewer."""
    return not any(
        partition.topic in subscriptions[other] and len(shares[other]) + 1 < len(share)
        for share in shares.values()
        for partition in share
        for other in shares
    )


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_whole_balanced_and_sticky(seed: int) -> None:
    """Every partition once, to a subscriber; balanced; and, when nothing changes, nothing moves."""
    draw = random.Random(seed)
    counts = {f"t{number}": draw.randint(1, 9) for number in range(draw.randint(1, 8))}
    members = [f"m{number}" for number in range(draw.randint(1, 9))]
    subscriptions = {each: draw.sample(list(counts), draw.randint(1, len(counts))) for each in members}
    first = assign(counts, subscriptions)
    wanted = {topic for topics in subscriptions.values() for topic in topics}
    assigned = sorted(partition for share in first.values() for partition in share)
    assert assigned == sorted(TopicPartition(topic, number) for topic in wanted for number in range(counts[topic]))
    assert all(each.topic in subscriptions[member] for member, share in first.items() for each in share)
    assert _is_balanced(first, subscriptions)
    assert text(assign(counts, subscriptions, first)) == text(first)
    leaver = draw.choice(members)
    second = assign(counts, without(subscriptions, leaver), first)
    assert _is_balanced(second, without(subscriptions, leaver))


@pytest.mark.parametrize("topics", [1, 10, 1000])
def test_a_thousand_partitions_among_a_hundred_members(topics: int) -> None:
    """Balanced to the last partition, and a member that goes moves nothing but its own."""
    counts = {f"t{number}": 1000 // topics for number in range(topics)}
    subscriptions = {f"m{number:02}": list(counts) for number in range(100)}
    begun = time.monotonic()
    first = assign(counts, subscriptions)
    second = assign(counts, without(subscriptions, "m50"), first)
    assert time.monotonic() - begun < 30  # a fraction of a second where nothing else runs
    assert {len(share) for share in first.values()} == {10}
    assert sorted({len(share) for share in second.values()}) == [10, 11]
    assert all(set(first[member]) <= set(share) for member, share in second.items())


def test_a_thousand_partitions_that_one_member_had_and_not_all_may_have() -> None:
    """The others come back at once, each to some of the topics: the one keeps no more than its share."""
    draw = random.Random(1)
    counts = {f"t{number}": 20 for number in range(50)}
    subscriptions = {f"m{number:02}": draw.sample(list(counts), 16) for number in range(100)}
    subscriptions["m00"] = list(counts)
    everything = [TopicPartition(topic, number) for topic in counts for number in range(20)]
    begun = time.monotonic()
    shares = assign(counts, subscriptions, {"m00": everything})
    assert time.monotonic() - begun < 30  # a fraction of a second where nothing else runs
    assert sorted(each for share in shares.values() for each in share) == sorted(everything)
    assert _is_balanced(shares, subscriptions)
    assert len(shares["m00"]) <= min(map(len, shares.values())) + 2

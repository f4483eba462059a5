"""Cooperative sticky: what changes hands is given up first (KIP-429)."""

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import Assignment, GroupMetadata, RebalanceProtocol, Subscription
from kafka_py.clients.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_py.clients.consumer.protocol import decode_generation, encode_generation

ALL = [TopicPartition("t", number) for number in range(4)]


def assign(**owned: tuple[list[TopicPartition], int]) -> dict[str, list[TopicPartition]]:
    """Shares of topic t, four partitions; owned: what each member has, and since which generation."""
    wants = {
        member: Subscription(["t"], encode_generation(generation), had) for member, (had, generation) in owned.items()
    }
    return CooperativeStickyAssignor().assign_counts({"t": 4}, wants)


def test_a_newcomer_gets_nothing_before_it_was_given_up() -> None:
    assert assign(a=(ALL, 1), b=([], -1)) == {"a": ALL[:2], "b": []}
    assert assign(a=(ALL[:2], 2), b=([], 2)) == {"a": ALL[:2], "b": ALL[2:]}


def test_what_nobody_owns_is_given_at_once() -> None:
    assert assign(a=(ALL[:1], 1), b=([], 1)) == {"a": [ALL[0], ALL[2]], "b": [ALL[1], ALL[3]]}


def test_a_member_that_was_away_does_not_take_back_what_others_have() -> None:
    """It still owns partitions by its own account, of an older generation."""
    made = assign(away=(ALL[:2], 1), here=(ALL, 3))
    assert made["here"] == ALL[:2]
    assert made["away"] == []  # its two go away from `here` only in the next generation


def test_the_generation_of_the_last_assignment_is_told() -> None:
    assignor = CooperativeStickyAssignor()
    assert decode_generation(assignor.subscription_user_data(["t"])) == -1
    assignor.on_assignment(Assignment(ALL), GroupMetadata("g", 7, "m"))
    assert decode_generation(assignor.subscription_user_data(["t"])) == 7


def test_it_takes_part_in_eager_rebalances_as_well() -> None:
    """So that a group can change over to it member by member."""
    assert set(CooperativeStickyAssignor.protocols) == {RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE}

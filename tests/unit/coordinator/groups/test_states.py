"""The table of group states, walked in full, and the states' names as the protocol says them.

S4-026 and X-020: the five states. S4-027: the way from Empty to Stable. S4-028: what leads back.
"""

import itertools
from pathlib import Path

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.coordinator.groups.states import (
    CAN_REBALANCE,
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    MOVES,
    PREPARING_REBALANCE,
    STABLE,
    GroupState,
)

MAY_COME_FROM = {
    EMPTY: {PREPARING_REBALANCE},
    PREPARING_REBALANCE: {EMPTY, STABLE, COMPLETING_REBALANCE},
    COMPLETING_REBALANCE: {PREPARING_REBALANCE},
    STABLE: {COMPLETING_REBALANCE},
    DEAD: set(GroupState),
}
"""The reference's own table."""


@pytest.mark.parametrize(("before", "after"), list(itertools.product(GroupState, GroupState)))
def test_every_legal_move_works_and_every_other_raises(before: GroupState, after: GroupState) -> None:
    group = Group("g", GroupOffsets(), 1)
    group.state = before
    if before in MAY_COME_FROM[after]:
        group.become(after, 7)
        assert (group.state, group.current_state_timestamp) == (after, 7)
    else:
        with pytest.raises(IllegalMove):
            group.become(after, 7)
        assert (group.state, group.current_state_timestamp) == (before, 1)


def test_names_are_those_of_the_protocol() -> None:
    """S4-026, X-020."""
    assert {state.value for state in GroupState} == {
        "Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Stable",
    }  # fmt: skip


def test_a_round_may_begin_in_three_states() -> None:
    assert {EMPTY, STABLE, COMPLETING_REBALANCE} == CAN_REBALANCE


def test_the_way_of_a_group() -> None:
    """S4-027."""
    way = [EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE]
    assert all(MOVES.allows(here, there) for here, there in itertools.pairwise(way))


def test_the_picture_in_the_documentation_is_this_table() -> None:
    text = (Path(__file__).resolve().parents[4] / "docs" / "groups.md").read_text()
    assert MOVES.diagram() in text

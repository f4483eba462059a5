"""The states of a consumer group and the legal moves between them; the only place that lists them.

The actions on a move are in rebalancing.py and its neighbours. Source: docs/reference/groups.md, section 2.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class GroupState(Enum):
    """The state of a group; the value is its name in DescribeGroups and ListGroups."""

    EMPTY = "Empty"  # no members, perhaps offsets
    PREPARING_REBALANCE = "PreparingRebalance"  # waiting for its members to join
    COMPLETING_REBALANCE = "CompletingRebalance"  # the generation is fixed; waiting for the leader's assignment
    STABLE = "Stable"  # the assignment is stored
    DEAD = "Dead"  # removed, or its coordinator moved to another broker


EMPTY = GroupState.EMPTY
PREPARING_REBALANCE = GroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
DEAD = GroupState.DEAD

MOVES = moves_between("group", {
    EMPTY:                [PREPARING_REBALANCE, DEAD],
    PREPARING_REBALANCE:  [COMPLETING_REBALANCE, EMPTY, DEAD],
    COMPLETING_REBALANCE: [STABLE, PREPARING_REBALANCE, DEAD],
    STABLE:               [PREPARING_REBALANCE, DEAD],
    DEAD:                 [DEAD],
})  # fmt: skip
"""From each state, the states it may move to. DEAD to DEAD: a group may be unloaded after it was removed."""

CAN_REBALANCE = frozenset(MOVES.before(PREPARING_REBALANCE))
"""The states in which a rebalance may begin."""

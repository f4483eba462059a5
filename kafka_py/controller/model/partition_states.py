"""The states of a partition on the controller, and the legal moves between them.

Only the table; partition_moves.py reads, writes and sends what belongs to each move.
Source: docs/reference/controller.md, section 4.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class PartitionState(Enum):
    """The state of a partition; an unknown one is NON_EXISTENT."""

    NEW = 0  # has replicas, never had a leader
    ONLINE = 1  # has a leader
    OFFLINE = 2  # has had a leader, which is offline
    NON_EXISTENT = 3  # never created, or deleted

    __hash__ = object.__hash__  # that of Enum is written in Python, and each move looks states up


NEW = PartitionState.NEW
ONLINE = PartitionState.ONLINE
OFFLINE = PartitionState.OFFLINE
NON_EXISTENT = PartitionState.NON_EXISTENT

MOVES = moves_between("partition", {
    NON_EXISTENT: {NEW},
    NEW:          {ONLINE, OFFLINE},
    ONLINE:       {ONLINE, OFFLINE},
    OFFLINE:      {ONLINE, OFFLINE, NON_EXISTENT},
})  # fmt: skip
"""From each state, the states it may move to. ONLINE to ONLINE is the election of another leader."""

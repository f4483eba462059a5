"""The states of a partition as the controller sees it, and the legal moves between them.

Only the table; what each move reads, writes and sends is partition_moves.py.
Source: docs/reference/controller.md, section 4.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class PartitionState(Enum):
    """Where a partition stands; one the controller has never heard of counts as NON_EXISTENT."""

    NEW = 0  # has replicas, never had a leader
    ONLINE = 1  # has a leader
    OFFLINE = 2  # had a leader, which is gone
    NON_EXISTENT = 3  # never made, or deleted


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

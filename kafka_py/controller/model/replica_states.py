"""The states of one replica as the controller sees it, and the legal moves between them.

Only the table; what each move reads, writes and sends is replica_moves.py.
Source: docs/reference/controller.md, section 5.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class ReplicaState(Enum):
    """Where a replica stands; one the controller has never heard of counts as NON_EXISTENT."""

    NEW = 1  # just assigned; can only become a follower
    ONLINE = 2  # started and assigned; leads or follows
    OFFLINE = 3  # its broker or its disk is gone, or it is being stopped
    DELETION_STARTED = 4  # told to delete its files
    DELETION_SUCCESSFUL = 5  # said that it did
    DELETION_INELIGIBLE = 6  # failed to, or cannot for now
    NON_EXISTENT = 7


NEW = ReplicaState.NEW
ONLINE = ReplicaState.ONLINE
OFFLINE = ReplicaState.OFFLINE
DELETION_STARTED = ReplicaState.DELETION_STARTED
DELETION_SUCCESSFUL = ReplicaState.DELETION_SUCCESSFUL
DELETION_INELIGIBLE = ReplicaState.DELETION_INELIGIBLE
NON_EXISTENT = ReplicaState.NON_EXISTENT

MOVES = moves_between("replica", {
    NON_EXISTENT:        {NEW},
    NEW:                 {ONLINE, OFFLINE},
    ONLINE:              {ONLINE, OFFLINE},
    OFFLINE:             {ONLINE, OFFLINE, DELETION_STARTED, DELETION_INELIGIBLE},
    DELETION_STARTED:    {DELETION_SUCCESSFUL, DELETION_INELIGIBLE},
    DELETION_SUCCESSFUL: {NON_EXISTENT},
    DELETION_INELIGIBLE: {ONLINE, OFFLINE},
})  # fmt: skip
"""From each state, the states it may move to."""

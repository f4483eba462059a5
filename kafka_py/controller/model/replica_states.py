"""The states of one replica on the controller, and the legal moves between them.

Only the table; replica_moves.py reads, writes and sends what belongs to each move.
Source: docs/reference/controller.md, section 5.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class ReplicaState(Enum):
    """The state of a replica; an unknown one is NON_EXISTENT."""

    NEW = 1  # just assigned; can only become a follower
    ONLINE = 2  # started and assigned; leads or follows
    OFFLINE = 3  # its broker is down, its log directory has failed, or it is being stopped
    DELETION_STARTED = 4  # StopReplica with delete was sent
    DELETION_SUCCESSFUL = 5  # the broker has deleted it
    DELETION_INELIGIBLE = 6  # the deletion failed, or is not possible at present
    NON_EXISTENT = 7

    __hash__ = object.__hash__  # that of Enum is written in Python, and each move looks states up


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

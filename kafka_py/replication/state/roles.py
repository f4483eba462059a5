"""The roles of a partition on this broker, and the legal moves between them; the only place that lists them.

    NONE ---LeaderAndIsr---> FOLLOWER <---LeaderAndIsr---> LEADER
      |                          |                           |
      +--------------------------+---------------------------+---StopReplica, delete---> DELETED
      |                          |                           |
      +--------------------------+---------------------------+---directory failed------> OFFLINE

A LEADER or FOLLOWER gets the same role again with each new leader epoch. DELETED and OFFLINE are the end of a
Partition: what is created later under its name is another one, and an offline directory comes back only with a restart.
StopReplica without delete ends the fetching and changes no role, nor does a move between log directories (mover.py).
Pure. Source: docs/reference/replication.md, section 5; ReplicaManager.
"""

from enum import Enum
from typing import Protocol

from kafka_py.base.moves import moves_between

NO_EPOCH = -1
"""The leader epoch of a partition that never had a role."""


class Role(Enum):
    """What this broker is to a partition that it hosts."""

    NONE = "none"  # registered, but the controller has given it no role that could be taken
    FOLLOWER = "follower"
    LEADER = "leader"
    DELETED = "deleted"  # stopped, and its data with it
    OFFLINE = "offline"  # its log directory has failed


NONE = Role.NONE
FOLLOWER = Role.FOLLOWER
LEADER = Role.LEADER
DELETED = Role.DELETED
OFFLINE = Role.OFFLINE

MOVES = moves_between("role of a partition", {
    NONE:     [LEADER, FOLLOWER, DELETED, OFFLINE],
    FOLLOWER: [LEADER, FOLLOWER, DELETED, OFFLINE],
    LEADER:   [LEADER, FOLLOWER, DELETED, OFFLINE],
    DELETED:  [],
    OFFLINE:  [],
})  # fmt: skip
"""From each role, the roles it may change to."""


class RoleState(Protocol):
    """What the controller says of a partition: an entry of LeaderAndIsr."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]
    zk_version: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    is_new: bool

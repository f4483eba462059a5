"""The roles of a partition on this broker, and the legal moves between them; the only place that lists them.

    NONE ---LeaderAndIsr---> FOLLOWER <---LeaderAndIsr---> LEADER
      |                          |                           |
      +--------------------------+---------------------------+---StopReplica, delete---> DELETED
      |                          |                           |
      +--------------------------+---------------------------+---directory failed------> OFFLINE

A LEADER or FOLLOWER gets the same role again with each new leader epoch. DELETED and OFFLINE are final: a partition
that is created later under the same name is another Partition, and an offline directory is used again only after a
restart. StopReplica without delete stops the fetching but changes no role; neither does a move between log directories
(mover.py).
Pure. Source: docs/reference/replication.md, section 5; ReplicaManager.
"""

from enum import Enum
from typing import Protocol

from kafka_py.base.moves import moves_between


class Role(Enum):
    """The role of this broker for a partition that it hosts."""

    NONE = "none"  # registered, but without a role that could be taken
    FOLLOWER = "follower"
    LEADER = "leader"
    DELETED = "deleted"  # stopped, and its data deleted
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
    """The state of a partition in LeaderAndIsr."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]
    zk_version: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    is_new: bool

"""What LeaderAndIsr and StopReplica ask of a broker, and whether it does it: decided for one partition at a time.

Pure: what the broker has comes in as values. role_changes.py does what is decided.
Source: docs/reference/replication.md, section 5; docs/reference/controller.md, section 13; ReplicaManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.replication import stale_logs
from kafka_py.replication.state.roles import FOLLOWER, LEADER, NO_EPOCH, NONE, Role, RoleState

EPOCH_DURING_DELETE = -2
"""StopReplica's leader epoch for a topic in deletion: it stops whatever epoch the replica has."""


@dataclass(slots=True, frozen=True)
class RoleRequest:
    """One entry of LeaderAndIsr with its topic; `topic_id` is the zero uuid where the version has none."""

    topic_partition: TopicPartition
    topic_id: TopicId
    state: RoleState


@dataclass(slots=True, frozen=True)
class StopRequest:
    """One entry of StopReplica. leader_epoch: -1 unknown, -2 topic in deletion, else not older than ours.

    Of an entry that does not delete it must be newer. With `delete` the same epoch will do (KAFKA-13972): nobody raises
    it between the addition of a replica and the cancellation of the reassignment that added it.
    """

    topic_partition: TopicPartition
    leader_epoch: int
    delete: bool


class Held(NamedTuple):
    """What a broker has under a partition's name.

    is_offline: it is on a failed directory. is_hosted: the broker has had a request for it. leader_epoch: of its role,
    NO_EPOCH without one. topic_id: of its replica; None without a replica, or for a topic without an id.
    """

    is_offline: bool = False
    is_hosted: bool = False
    leader_epoch: int = NO_EPOCH
    topic_id: TopicId | None = None


def check_role(request: RoleRequest, held: Held, broker_id: int) -> ErrorCode:
    """NONE when the role can be taken. INCONSISTENT_TOPIC_ID: unless the log held is stale (stale_logs.py)."""
    if held.is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if stale_logs.differs(held.topic_id, request.topic_id):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    if request.state.leader_epoch <= held.leader_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if broker_id not in request.state.replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def check_stop(request: StopRequest, held: Held) -> ErrorCode:
    """NONE when it is to be stopped: also what is not hosted, for a directory may be left over."""
    if held.is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if not held.is_hosted or request.leader_epoch in (NO_EPOCH, EPOCH_DURING_DELETE):
        return ErrorCode.NONE
    lowest = held.leader_epoch if request.delete else held.leader_epoch + 1
    return ErrorCode.NONE if request.leader_epoch >= lowest else ErrorCode.FENCED_LEADER_EPOCH


def role_to_take(state: RoleState, broker_id: int, is_live: Callable[[int], bool]) -> Role:
    """NONE when the leader is not alive: the partition gets its log and waits for the controller's next word."""
    if state.leader == broker_id:
        return LEADER
    return FOLLOWER if is_live(state.leader) else NONE


def by_role(requests: Iterable[RoleRequest], broker_id: int) -> tuple[list[RoleRequest], list[RoleRequest]]:
    """Those that the broker is to lead, and the others, which it is to follow; each in their order."""
    leading: list[RoleRequest] = []
    following: list[RoleRequest] = []
    for request in requests:
        (leading if request.state.leader == broker_id else following).append(request)
    return leading, following

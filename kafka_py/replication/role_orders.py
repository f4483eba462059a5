"""Whether the broker accepts an entry of LeaderAndIsr or StopReplica: decided for one partition at a time.

Pure: the broker's state is handed in as values. role_changes.py carries out what is decided.
Source: docs/reference/replication.md, section 5; docs/reference/controller.md, section 13; ReplicaManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import EPOCH_DURING_DELETE, TopicId, TopicPartition
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.replication import stale_logs
from kafka_py.replication.state.roles import FOLLOWER, LEADER, NONE, Role, RoleState


@dataclass(slots=True, frozen=True)
class RoleRequest:
    """One entry of LeaderAndIsr with its topic; `topic_id` is the zero UUID if the version has none."""

    topic_partition: TopicPartition
    topic_id: TopicId
    state: RoleState


@dataclass(slots=True, frozen=True)
class StopRequest:
    """One entry of StopReplica. leader_epoch: -1 unknown, -2 topic in deletion, else compared with the replica's.

    Without `delete` it must be newer. With `delete` it may be the same (KAFKA-13972), because the epoch does not change
    between the addition of a replica and the cancellation of the reassignment that added it.
    """

    topic_partition: TopicPartition
    leader_epoch: int
    delete: bool


class LocalReplica(NamedTuple):
    """The broker's state of a partition.

    is_offline: whether it is on a failed directory. is_hosted: whether the broker hosts it. leader_epoch: that of its
    role, NO_LEADER_EPOCH without one. topic_id: that of its log; None without a log, or for a topic without an id.
    """

    is_offline: bool = False
    is_hosted: bool = False
    leader_epoch: int = NO_LEADER_EPOCH
    topic_id: TopicId | None = None


def check_role(request: RoleRequest, held: LocalReplica, broker_id: int) -> ErrorCode:
    """NONE if the role can be taken. INCONSISTENT_TOPIC_ID: the log may be stale, see stale_logs.py."""
    if held.is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if stale_logs.differs(held.topic_id, request.topic_id):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    if request.state.leader_epoch <= held.leader_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    if broker_id not in request.state.replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def check_stop(request: StopRequest, held: LocalReplica) -> ErrorCode:
    """NONE if the replica is to be stopped; also if it is not hosted, because its directory may exist."""
    if held.is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if not held.is_hosted or request.leader_epoch in (NO_LEADER_EPOCH, EPOCH_DURING_DELETE):
        return ErrorCode.NONE
    lowest = held.leader_epoch if request.delete else held.leader_epoch + 1
    return ErrorCode.NONE if request.leader_epoch >= lowest else ErrorCode.FENCED_LEADER_EPOCH


def role_to_take(state: RoleState, broker_id: int, is_live: Callable[[int], bool]) -> Role:
    """The role; NONE if the leader is not alive: the partition gets its log and waits for the next LeaderAndIsr."""
    if state.leader == broker_id:
        return LEADER
    return FOLLOWER if is_live(state.leader) else NONE


def once_each(requests: list[RoleRequest]) -> list[RoleRequest]:
    """One request for each partition: of several, that with the largest leader epoch, the last of equals.

    No controller sends several, and the check of one must not admit another.
    """
    if len({request.topic_partition for request in requests}) == len(requests):
        return requests
    latest: dict[TopicPartition, RoleRequest] = {}
    for request in requests:
        other = latest.get(request.topic_partition)
        if other is None or request.state.leader_epoch >= other.state.leader_epoch:
            latest[request.topic_partition] = request
    return list(latest.values())


def by_role(requests: Iterable[RoleRequest], broker_id: int) -> tuple[list[RoleRequest], list[RoleRequest]]:
    """The requests whose partitions the broker leads, and the others, which it follows; both in order."""
    leading: list[RoleRequest] = []
    following: list[RoleRequest] = []
    for request in requests:
        (leading if request.state.leader == broker_id else following).append(request)
    return leading, following

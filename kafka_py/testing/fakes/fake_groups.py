"""What the pretend brokers answer about consumer groups to an admin client: over plain values, without joining.

A test puts a `FakeGroup` into the cluster's `groups` and may move its coordinator. Shape of the answers as in
fake_answers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages import (
    delete_groups,
    describe_groups,
    find_coordinator,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartitions

if TYPE_CHECKING:
    from kafka_py.testing.fakes.fake_cluster import FakeCluster

NONE = ErrorCode.NONE
TRANSACTION = 1
"""The key type of a transactional id."""


@dataclass
class FakeMember:
    """A member and what it is assigned: partition numbers by topic."""

    member_id: str
    client_id: str = "client"
    group_instance_id: str | None = None
    assignment: dict[str, list[int]] = field(default_factory=dict)

    def described(self) -> describe_groups.DescribedGroupMember:
        assigned = [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in self.assignment.items()]
        body = ConsumerProtocolAssignment(assigned_partitions=assigned)
        return describe_groups.DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host="/127.0.0.1",
            member_metadata=b"",
            member_assignment=encode_versioned(body, 1),
        )


@dataclass
class FakeGroup:
    """A group: Stable with members, else Empty unless `state` says otherwise."""

    members: list[FakeMember] = field(default_factory=list)
    offsets: dict[TopicPartition, tuple[int, str]] = field(default_factory=dict)
    coordinator: int = 0
    protocol_type: str = "consumer"
    state: str = ""

    @property
    def shown_state(self) -> str:
        return self.state or ("Stable" if self.members else "Empty")

    @property
    def subscribed(self) -> set[str]:
        return {topic for member in self.members for topic in member.assignment}


def _found(
    cluster: FakeCluster, node_id: int, name: str, error: ErrorCode, missing: ErrorCode = NONE
) -> tuple[ErrorCode, FakeGroup | None]:
    """(error, group); missing: the error where there is no such group."""
    group = cluster.groups.get(name)
    if group is not None and group.coordinator != node_id:
        error = error or ErrorCode.NOT_COORDINATOR
    return error or (missing if group is None else NONE), group


def answer_find_coordinator(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    group = cluster.groups.get(request.key)
    coordinator = 0 if group is None else group.coordinator
    if request.key_type == TRANSACTION:
        coordinator = cluster.transactions.coordinator
    return find_coordinator.FindCoordinatorResponse(
        error_code=error,
        error_message=error.name,
        node_id=-1 if error else coordinator,
        host="" if error else "127.0.0.1",
        port=-1 if error else cluster.ports[coordinator],
    )


def answer_list_groups(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    groups = [
        list_groups.ListedGroup(group_id=name, protocol_type=group.protocol_type, group_state=group.shown_state)
        for name, group in cluster.groups.items()
        if group.coordinator == node_id and (not request.states_filter or group.shown_state in request.states_filter)
    ]
    return list_groups.ListGroupsResponse(error_code=error, groups=[] if error else groups)


def answer_describe_groups(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    rows = []
    for name in request.groups:
        code, group = _found(cluster, node_id, name, error)
        shown = group if group is not None and code is NONE else FakeGroup(state="Dead", protocol_type="")
        row = describe_groups.DescribedGroup(
            error_code=code,
            group_id=name,
            group_state=shown.shown_state,
            protocol_type=shown.protocol_type,
            protocol_data="range" if shown.members else "",
            members=[member.described() for member in shown.members],
        )
        rows.append(row)
    return describe_groups.DescribeGroupsResponse(groups=rows)


def answer_delete_groups(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    rows = []
    for name in request.groups_names:
        code, group = _found(cluster, node_id, name, error, ErrorCode.GROUP_ID_NOT_FOUND)
        if code is NONE and group is not None:
            if group.members:
                code = ErrorCode.NON_EMPTY_GROUP
            else:
                del cluster.groups[name]
        rows.append(delete_groups.DeletableGroupResult(group_id=name, error_code=code))
    return delete_groups.DeleteGroupsResponse(throttle_time_ms=0, results=rows)


def answer_offset_fetch(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    code, group = _found(cluster, node_id, request.group_id, error)
    offsets = {} if group is None else group.offsets
    if request.topics is None:
        wanted = list(offsets)
    else:
        wanted = [TopicPartition(topic.name, number) for topic in request.topics for number in topic.partition_indexes]
    topics: dict[str, Any] = {}
    for partition in wanted if code is NONE else ():
        offset, metadata = offsets.get(partition, (-1, ""))
        row = offset_fetch.OffsetFetchResponsePartition(
            partition_index=partition.partition, committed_offset=offset, metadata=metadata, error_code=NONE
        )
        topics.setdefault(
            partition.topic, offset_fetch.OffsetFetchResponseTopic(name=partition.topic, partitions=[])
        ).partitions.append(row)
    return offset_fetch.OffsetFetchResponse(topics=list(topics.values()), error_code=code)


def answer_offset_commit(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    code, group = _found(cluster, node_id, request.group_id, error)
    if code is NONE and group is not None and group.members:
        code = ErrorCode.UNKNOWN_MEMBER_ID
    if code is NONE:
        group = cluster.groups.setdefault(request.group_id, FakeGroup(protocol_type="", coordinator=node_id))
    topics = []
    for topic in request.topics:
        rows = []
        for row in topic.partitions:
            partition = TopicPartition(topic.name, row.partition_index)
            own = code
            if own is NONE and partition not in cluster.partitions:
                own = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if own is NONE and group is not None:
                group.offsets[partition] = (row.committed_offset, row.committed_metadata or "")
            rows.append(
                offset_commit.OffsetCommitResponsePartition(partition_index=partition.partition, error_code=own)
            )
        topics.append(offset_commit.OffsetCommitResponseTopic(name=topic.name, partitions=rows))
    return offset_commit.OffsetCommitResponse(topics=topics)


def answer_offset_delete(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    code, group = _found(cluster, node_id, request.group_id, error, ErrorCode.GROUP_ID_NOT_FOUND)
    if group is None or code is not NONE:
        return offset_delete.OffsetDeleteResponse(throttle_time_ms=0, error_code=code, topics=[])

    def delete(topic: str, numbers: Iterable[int]) -> list[offset_delete.OffsetDeleteResponsePartition]:
        rows = []
        for number in numbers:
            own = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if topic in group.subscribed else NONE
            if own is NONE:
                group.offsets.pop(TopicPartition(topic, number), None)
            rows.append(offset_delete.OffsetDeleteResponsePartition(partition_index=number, error_code=own))
        return rows

    topics = [
        offset_delete.OffsetDeleteResponseTopic(
            name=topic.name, partitions=delete(topic.name, [row.partition_index for row in topic.partitions])
        )
        for topic in request.topics
    ]
    return offset_delete.OffsetDeleteResponse(throttle_time_ms=0, error_code=NONE, topics=topics)


def answer_leave_group(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    code, group = _found(cluster, node_id, request.group_id, error)
    rows = []
    for asked in request.members if code is NONE else ():
        known = [
            member
            for member in (() if group is None else group.members)
            if (asked.group_instance_id and member.group_instance_id == asked.group_instance_id)
            or (asked.member_id and member.member_id == asked.member_id)
        ]
        for member in known:
            if group is not None:
                group.members.remove(member)
        own = NONE if known else ErrorCode.UNKNOWN_MEMBER_ID
        rows.append(
            leave_group.MemberResponse(
                member_id=asked.member_id, group_instance_id=asked.group_instance_id, error_code=own
            )
        )
    return leave_group.LeaveGroupResponse(error_code=code, members=rows)


GROUP_ANSWERS: dict[ApiKey, Callable[[FakeCluster, int, Any, ErrorCode], Any]] = {
    ApiKey.FIND_COORDINATOR: answer_find_coordinator,
    ApiKey.LIST_GROUPS: answer_list_groups,
    ApiKey.DESCRIBE_GROUPS: answer_describe_groups,
    ApiKey.DELETE_GROUPS: answer_delete_groups,
    ApiKey.OFFSET_FETCH: answer_offset_fetch,
    ApiKey.OFFSET_COMMIT: answer_offset_commit,
    ApiKey.OFFSET_DELETE: answer_offset_delete,
    ApiKey.LEAVE_GROUP: answer_leave_group,
}

"""Admin calls on consumer groups: list, describe, delete; their committed offsets; removal of members.

A call on a group is sent to its coordinator, which is found for each call, and again when it has moved or is loading. A
KafkaError of a whole group is raised unless the result has an item per group.
Source: KafkaAdminClient; KIP-222, KIP-229, KIP-345, KIP-396, KIP-496, KIP-518.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.coordinators import MOVED, TRY_COORDINATORS_AGAIN, per_key
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.group_descriptions import (
    CONSUMER_TYPES,
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ConsumerGroupState,
    MemberToRemove,
    described,
)
from kafka_py.clients.admin.results import Results
from kafka_py.clients.errors import error_code
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.wire.messages.delete_groups import DeleteGroupsRequest
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_py.wire.messages.list_groups import ListGroupsRequest
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

V = TypeVar("V")

# ---- all groups, or several

async def list_consumer_groups(
    core: AdminCore, *, states: Collection[ConsumerGroupState | str] = (), timeout: float | None = None
) -> list[ConsumerGroupListing]:
    """All consumer groups, or those in one of the states; in the order of their ids.

    Raises KafkaError if a broker refuses the list; UNSUPPORTED_VERSION for states with brokers before 2.6.
    """
    request = ListGroupsRequest(states_filter=[str(state) for state in states])
    if core.cluster.view.fetched_ms is None:
        await core.once(core.refresh, timeout)

    async def ask(node_id: int, timeout_ms: int) -> list[ConsumerGroupListing] | KafkaError:
        try:
            response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        except KafkaError as error:
            return error
        failure = error_of(response.error_code, None, f"the groups of broker {node_id}")
        return failure or [
            ConsumerGroupListing(
                each.group_id,
                not each.protocol_type,
                ConsumerGroupState.of(each.group_state) if each.group_state else None,
            )
            for each in response.groups
            if each.protocol_type in CONSUMER_TYPES
        ]

    async def attempt(nodes: list[int], timeout_ms: int) -> Mapping[int, list[ConsumerGroupListing] | KafkaError]:
        answers = await asyncio.gather(*(ask(node_id, timeout_ms) for node_id in nodes))
        return dict(zip(nodes, answers, strict=True))

    results = await core.per_item(core.cluster.view.nodes, attempt, timeout, try_again=TRY_COORDINATORS_AGAIN)
    listed = {group.group_id: group for groups in results.all().values() for group in groups}
    return [listed[group_id] for group_id in sorted(listed)]


async def describe_consumer_groups(
    core: AdminCore,
    groups: Collection[str],
    *,
    include_authorized_operations: bool = False,
    timeout: float | None = None,
) -> Results[str, ConsumerGroupDescription]:
    """Groups with state and members; one that does not exist is in state DEAD."""

    async def ask(
        node_id: int, some: list[str], timeout_ms: int
    ) -> dict[str, ConsumerGroupDescription | KafkaError]:
        request = DescribeGroupsRequest(groups=some, include_authorized_operations=include_authorized_operations)
        response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        coordinator = core.cluster.view.nodes[node_id]
        return {each.group_id: described(each, coordinator) for each in response.groups}

    return await per_key(core, groups, ask, timeout)


async def delete_consumer_groups(
    core: AdminCore, groups: Collection[str], *, timeout: float | None = None
) -> Results[str, None]:
    """Deletes groups without members, with their offsets."""

    async def ask(node_id: int, some: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        request = DeleteGroupsRequest(groups_names=some)
        response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        return {each.group_id: error_of(each.error_code, None, each.group_id) for each in response.results}

    return await per_key(core, groups, ask, timeout)


# ---- the offsets of one group

async def list_consumer_group_offsets(
    core: AdminCore, group: str, partitions: Collection[TopicPartition] | None = None, *, timeout: float | None = None
) -> Results[TopicPartition, OffsetAndMetadata | None]:
    """The group's committed offsets of these partitions (None: of all that have one); None where there is none.

    Raises KafkaError of the group.
    """
    topics = None
    if partitions is not None:
        topics = [
            OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
            for name, numbers in _by_topic(partitions).items()
        ]

    async def call(node_id: int, timeout_ms: int) -> Results[TopicPartition, OffsetAndMetadata | None]:
        request = OffsetFetchRequest(group_id=group, topics=topics)
        response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        _raise_first(group, [response.error_code])
        rows = [(TopicPartition(topic.name, row.partition_index), row) for topic in response.topics
                for row in topic.partitions]  # fmt: skip
        _raise_moved(group, [row.error_code for _, row in rows])
        return Results({tp: error_of(row.error_code, None, str(tp)) or _committed(row) for tp, row in rows})

    return await _on_coordinator(core, group, call, timeout)


async def alter_consumer_group_offsets(
    core: AdminCore,
    group: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
    *,
    timeout: float | None = None,
) -> Results[TopicPartition, None]:
    """Commits offsets for a group without members, which is created if it does not exist.

    Raises KafkaError of the group.
    """
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, number), given in offsets.items():
        offset = OffsetAndMetadata(given) if isinstance(given, int) else given
        row = OffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=offset.offset,
            committed_leader_epoch=offset.leader_epoch,
            committed_metadata=offset.metadata,
        )
        topics.setdefault(topic, []).append(row)
    request = OffsetCommitRequest(
        group_id=group,
        topics=[OffsetCommitRequestTopic(name=name, partitions=rows) for name, rows in topics.items()],
    )
    return await _per_partition(core, group, request, timeout)


async def delete_consumer_group_offsets(
    core: AdminCore, group: str, partitions: Collection[TopicPartition], *, timeout: float | None = None
) -> Results[TopicPartition, None]:
    """Deletes the group's committed offsets of partitions of topics to which no member subscribes.

    Raises KafkaError of the group.
    """
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers]
            )
            for name, numbers in _by_topic(partitions).items()
        ],
    )
    return await _per_partition(core, group, request, timeout)


# ---- the members of one group

async def remove_members_from_consumer_group(
    core: AdminCore,
    group: str,
    members: Collection[MemberToRemove | str] | None = None,
    *,
    timeout: float | None = None,
) -> Results[MemberToRemove, None]:
    """Removes members: static ones by their group.instance.id (a plain string is one), or all (None).

    Raises KafkaError of the group.
    """
    if members is None:
        described = (await describe_consumer_groups(core, [group], timeout=timeout)).value(group)
        wanted = [MemberToRemove(each.group_instance_id, each.member_id) for each in described.members]
    else:
        wanted = [MemberToRemove(each) if isinstance(each, str) else each for each in members]
    if not wanted:
        return Results()
    identities = [
        MemberIdentity(member_id="" if each.group_instance_id else each.member_id,
                       group_instance_id=each.group_instance_id)
        for each in wanted
    ]  # fmt: skip

    async def call(node_id: int, timeout_ms: int) -> Results[MemberToRemove, None]:
        request = LeaveGroupRequest(group_id=group, members=identities)
        response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        _raise_first(group, [response.error_code])
        codes = {(each.group_instance_id, each.member_id): each.error_code for each in response.members}
        answers: Results[MemberToRemove, None] = Results()
        for member, asked in zip(wanted, identities, strict=True):
            code = codes.get((asked.group_instance_id, asked.member_id), ErrorCode.UNKNOWN_MEMBER_ID)
            answers[member] = error_of(code, None, asked.group_instance_id or asked.member_id)
        return answers

    return await _on_coordinator(core, group, call, timeout)


# ---- shared by these calls

async def _on_coordinator(
    core: AdminCore, group: str, call: Callable[[int, int], Awaitable[V]], timeout: float | None
) -> V:
    """The result for one group. call: gets (coordinator's node id, time-out in ms). Raises KafkaError of the group."""

    async def ask(node_id: int, _group: list[str], timeout_ms: int) -> dict[str, V | KafkaError]:
        return {group: await call(node_id, timeout_ms)}

    return (await per_key(core, [group], ask, timeout)).value(group)


async def _per_partition(
    core: AdminCore, group: str, request: OffsetCommitRequest | OffsetDeleteRequest, timeout: float | None
) -> Results[TopicPartition, None]:
    """The error or success of each partition of the request."""

    async def call(node_id: int, timeout_ms: int) -> Results[TopicPartition, None]:
        response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        _raise_first(group, [getattr(response, "error_code", 0)])
        codes = {TopicPartition(topic.name, row.partition_index): row.error_code for topic in response.topics
                 for row in topic.partitions}  # fmt: skip
        _raise_moved(group, codes.values())
        return Results({tp: error_of(code, None, str(tp)) for tp, code in codes.items()})

    return await _on_coordinator(core, group, call, timeout)


def _raise_first(group: str, codes: Iterable[int]) -> None:
    """Raises the first error as one of the group."""
    for code in codes:
        failure = error_of(code, None, f"group {group}")
        if failure is not None:
            raise failure


def _raise_moved(group: str, codes: Iterable[int]) -> None:
    """Raises the first partition error that says that the coordinator has moved."""
    _raise_first(group, (code for code in codes if error_code(code) in MOVED))


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    return by_topic


def _committed(row: Any) -> OffsetAndMetadata | None:
    if row.committed_offset < 0:
        return None
    return OffsetAndMetadata(row.committed_offset, row.metadata or "", row.committed_leader_epoch)

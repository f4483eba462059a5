"""Groups with their members and committed offsets, asked of the broker that coordinates them.

A broker lists the groups that it coordinates, so it is also the one to describe them: nothing has to be looked up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import sliced
from kafka_py.clients.admin.core import error_of
from kafka_py.clients.admin.group_descriptions import members_of
from kafka_py.clients.errors import error_code
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.operations.cluster_view.asking import LookRequests
from kafka_py.operations.cluster_view.snapshot import GroupSeen, ViewPart
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.list_groups import ListGroupsRequest
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest

DEAD = "Dead"


async def groups_of(
    asker: LookRequests, brokers: Iterable[int], wanted: Container[str] | None, *, members: bool, committed: bool
) -> dict[str, GroupSeen]:
    """The groups of all brokers that answer, by id.

    wanted: only these; None: all. members, committed: whether to describe them, and to fetch their offsets.
    """

    async def ask(broker: int) -> list[GroupSeen]:
        try:
            groups = await _listed(asker, broker, wanted)
        except KafkaError as error:
            asker.note(ViewPart.GROUPS, broker, error)
            return []
        if members:
            groups = await _described(asker, broker, groups)
        if committed:
            groups = list(await asyncio.gather(*(_with_committed(asker, group) for group in groups)))
        return groups

    parts = await asyncio.gather(*(ask(broker) for broker in brokers))
    found = {group.group_id: group for part in parts for group in part}
    return dict(sorted(found.items()))


async def _listed(asker: LookRequests, broker: int, wanted: Container[str] | None) -> list[GroupSeen]:
    response = await asker.ask(broker, ListGroupsRequest())
    failure = error_of(response.error_code, None)
    if failure is not None:
        raise failure
    return [
        GroupSeen(each.group_id, each.protocol_type, each.group_state, broker)
        for each in response.groups
        if wanted is None or each.group_id in wanted
    ]


async def _described(asker: LookRequests, broker: int, groups: list[GroupSeen]) -> list[GroupSeen]:
    step = asker.limits.groups
    pieces = [groups[at : at + step] for at in range(0, len(groups), step)]
    return [group for part in await asyncio.gather(*(_describe(asker, broker, piece) for piece in pieces))
            for group in part]  # fmt: skip


async def _describe(asker: LookRequests, broker: int, groups: list[GroupSeen]) -> list[GroupSeen]:
    """The groups with their members; one that cannot be described stays as listed.

    A group of the protocol of KIP-848 is described as dead to clients that do not know it, though it was listed.
    """
    by_id = {group.group_id: group for group in groups}
    try:
        response = await asker.ask(broker, DescribeGroupsRequest(groups=list(by_id)))
    except KafkaError as error:
        asker.note(ViewPart.GROUPS, broker, error)
        return groups
    for each in response.groups:
        failure = error_of(each.error_code, None)
        if each.group_id not in by_id:
            continue
        if failure is not None:
            asker.note(ViewPart.GROUPS, broker, failure, each.group_id)
        elif each.group_state != DEAD:
            by_id[each.group_id] = by_id[each.group_id]._replace(
                state=each.group_state, assignor=each.protocol_data, members=tuple(members_of(each))
            )
    return list(by_id.values())


async def _with_committed(asker: LookRequests, group: GroupSeen) -> GroupSeen:
    request = OffsetFetchRequest(group_id=group.group_id, topics=None)
    try:
        response = await asker.ask(group.coordinator, request)
        failure = error_of(response.error_code, None)
        if failure is not None:
            raise failure
    except KafkaError as error:
        asker.note(ViewPart.COMMITTED, group.coordinator, error, group.group_id)
        return group
    committed: dict[TopicPartition, OffsetAndMetadata] = {}
    async for some in sliced([(topic.name, row) for topic in response.topics for row in topic.partitions]):
        for name, row in some:
            partition = TopicPartition(name, row.partition_index)
            code = error_code(row.error_code)
            if code is not ErrorCode.NONE:
                asker.note(ViewPart.COMMITTED, group.coordinator, KafkaError(code), f"{group.group_id}: {partition}")
            elif row.committed_offset >= 0:
                committed[partition] = OffsetAndMetadata(
                    row.committed_offset, row.metadata or "", row.committed_leader_epoch
                )
    return group._replace(committed=committed)

"""OffsetFetch: how far a group had read; version 0 looks it up in ZooKeeper, as the oldest consumers do.

Source: docs/reference/groups.md, section 7; KIP-447 (commits of open transactions).
"""

from __future__ import annotations

import asyncio
import logging

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn, sliced
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.coordinator.groups.offsets import NO_OFFSET, GroupOffsets
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_py.wire.version_meanings import OFFSET_FETCH_FROM_ZOOKEEPER
from kafka_py.zk.session import ZkError

_log = logging.getLogger(__name__)

NO_METADATA = ""
_NOTHING = GroupOffsets()


async def handle(node: Node, context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """The offsets asked for, or all; an unknown group or partition has offset -1 and no error.

    Raises KafkaError for the group as a whole.
    """
    if not node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.GROUP, request.group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"group {request.group_id}")
    if OFFSET_FETCH_FROM_ZOOKEEPER[context.api_version]:
        return await _from_zookeeper(node, context, request)
    groups = node.coordinators.groups
    groups.check(request.group_id, may_be_empty=True)
    group = groups.get(request.group_id)
    offsets = _NOTHING if group is None or group.is_dead else group.offsets
    turn = Turn(node.clock)
    if request.topics is None:
        asked: dict[str, list[int]] = {}
        async for some in sliced(list(offsets.committed)):
            for topic, partition in some:
                asked.setdefault(topic, []).append(partition)
        shown = []
        for name, partitions in asked.items():
            await turn.maybe_yield()
            if _may_describe(node, context, name):
                shown.append((name, await _topic(offsets, name, partitions, request.require_stable, turn)))
        return await _response(shown, turn)
    topics = []
    for row in request.topics:
        await turn.maybe_yield()
        name, partitions = row.name, row.partition_indexes
        if _may_describe(node, context, name):
            topics.append((name, await _topic(offsets, name, partitions, request.require_stable, turn)))
        else:
            topics.append((name, await _refused(partitions, turn)))
    return await _response(topics, turn)


def _may_describe(node: Node, context: RequestContext, topic: str) -> bool:
    return node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, topic)


async def _topic(
    offsets: GroupOffsets, topic: str, partitions: list[int], require_stable: bool, turn: Turn
) -> list[OffsetFetchResponsePartition]:
    rows = []
    for index in partitions:
        await turn.maybe_yield()
        topic_partition = TopicPartition(topic, index)
        commit = offsets.committed.get(topic_partition)
        if require_stable and offsets.is_pending(topic_partition):
            rows.append(_absent(index, ErrorCode.UNSTABLE_OFFSET_COMMIT))
        elif commit is None:
            rows.append(_absent(index, ErrorCode.NONE))
        else:
            rows.append(
                OffsetFetchResponsePartition(
                    partition_index=index,
                    committed_offset=commit.offset,
                    committed_leader_epoch=commit.leader_epoch,
                    metadata=commit.metadata,
                    error_code=ErrorCode.NONE,
                )
            )
    return rows


async def _refused(partitions: list[int], turn: Turn) -> list[OffsetFetchResponsePartition]:
    rows = []
    for index in partitions:
        await turn.maybe_yield()
        rows.append(_absent(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return rows


def _absent(index: int, code: ErrorCode) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=NO_LEADER_EPOCH,
        metadata=NO_METADATA,
        error_code=code,
    )


async def _response(
    topics: list[tuple[str, list[OffsetFetchResponsePartition]]], turn: Turn
) -> OffsetFetchResponse:
    made = []
    for name, rows in topics:
        await turn.maybe_yield()
        made.append(OffsetFetchResponseTopic(name=name, partitions=rows))
    return OffsetFetchResponse(topics=made, error_code=ErrorCode.NONE)


async def _from_zookeeper(node: Node, context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """Version 0: here an offset that was never stored is an error."""
    topics = []
    turn = Turn(node.clock)
    for row in request.topics or ():
        await turn.maybe_yield()
        if _may_describe(node, context, row.name):
            known = node.metadata.partitions_of(row.name)
            reads = [
                _stored(node, request.group_id, TopicPartition(row.name, index), index in known)
                for index in row.partition_indexes
            ]
            topics.append((row.name, list(await asyncio.gather(*reads))))
        else:
            topics.append((row.name, await _refused(row.partition_indexes, turn)))
    return await _response(topics, turn)


async def _stored(
    node: Node, group_id: str, topic_partition: TopicPartition, is_known: bool
) -> OffsetFetchResponsePartition:
    index = topic_partition.partition
    if not is_known:
        return _absent(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        offset = await node.store.old_consumers.offset(group_id, topic_partition)
    except (ZkError, ValueError) as error:
        _log.warning("The offset of %s for group %r was not read: %s", topic_partition, group_id, error)
        return _absent(index, ErrorCode.UNKNOWN_SERVER_ERROR)
    if offset is None:
        return _absent(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    found = _absent(index, ErrorCode.NONE)
    found.committed_offset = offset
    return found

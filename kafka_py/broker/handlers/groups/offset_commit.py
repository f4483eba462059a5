"""OffsetCommit: a group stores how far it has read; version 0 stores it in ZooKeeper, as the oldest consumers do.

Source: docs/reference/groups.md, section 7.
"""

from __future__ import annotations

import logging

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.offset_commits import CommitAnswer, OffsetCommits
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_py.wire.version_meanings import OFFSET_COMMIT_TO_ZOOKEEPER
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.session import ZkError

_log = logging.getLogger(__name__)

_ANSWER = CommitAnswer(OffsetCommitResponse, OffsetCommitResponseTopic, OffsetCommitResponsePartition)


def handle(node: Node, context: RequestContext, request: OffsetCommitRequest) -> object:
    """Stores what may be stored, and answers for each partition when that is safe."""
    if not node.authorizer.allows(context, Operation.READ, ResourceType.GROUP, request.group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"group {request.group_id}")
    if request.group_instance_id is not None and not node.config.inter_broker_version().at_least("2.3-IV0"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "static members need inter.broker.protocol.version 2.3")
    asked = OffsetCommits(node, context, request, _ANSWER, retention_ms=request.retention_time_ms)
    if OFFSET_COMMIT_TO_ZOOKEEPER[context.api_version]:
        return _to_zookeeper(node, context, request, asked)
    return asked.store()


async def _to_zookeeper(
    node: Node, context: RequestContext, request: OffsetCommitRequest, asked: OffsetCommits
) -> object:
    """Version 0: whether the group exists is not checked.

    Its connection is muted until ZooKeeper has the offsets: a later commit must not come before and be overwritten.
    """

    async def store(topic_partition: TopicPartition, offset: int) -> ErrorCode:
        try:
            await node.store.old_consumers.set_offset(request.group_id, topic_partition, offset)
        except (ZkError, ValueError) as error:
            _log.warning("The offset of %s for group %r was not stored: %s", topic_partition, request.group_id, error)
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.NONE

    context.connection.mute()
    try:
        await asked.take_in_turns(Turn(node.clock))
        asked.codes.update(dict.fromkeys(asked.too_large, ErrorCode.OFFSET_METADATA_TOO_LARGE))
        outcomes = await pipelined(store(where, commit.offset) for where, commit in asked.commits.items())
        raise_first(outcomes)
        asked.codes.update(zip(asked.commits, outcomes, strict=True))  # type: ignore[arg-type]  # no exception is left
        return asked.response()
    finally:
        context.connection.unmute()

"""OffsetCommit: a group stores how far it has read; version 0 stores it in ZooKeeper, as the oldest consumers do.

Source: docs/reference/groups.md, section 7.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.authorization import Operation, ResourceType
from kafka_py.broker.node import Node
from kafka_py.broker.requests import ANSWERS_LATER, RequestContext
from kafka_py.coordinator.groups.commits import check_commit
from kafka_py.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.session import ZkError

log = logging.getLogger(__name__)

NO_RETENTION = -1
NOW = -1
"""As the time of a commit: the broker's own."""

_UNTIMED = 16
"""The clock is looked at after about so many partitions."""

Codes = dict[TopicPartition, ErrorCode]
Commits = dict[TopicPartition, CommittedOffset]


async def handle(node: Node, context: RequestContext, request: OffsetCommitRequest) -> object:
    """Stores what may be stored, and answers for each partition when that is safe."""
    if not node.authorizer.allows(context, Operation.READ, ResourceType.GROUP, request.group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"group {request.group_id}")
    if request.group_instance_id is not None and not node.config.inter_broker_version().at_least("2.3-IV0"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "static members need inter.broker.protocol.version 2.3")
    codes: Codes = {}
    turn = Turn(node.clock)
    commits, too_large = await _commits(node, context, request, codes, turn)
    if context.api_version == 0:
        codes.update(dict.fromkeys(too_large, ErrorCode.OFFSET_METADATA_TOO_LARGE))
        return await _to_zookeeper(node, request, commits, codes)
    if not (commits or too_large):
        return await _response_in_turns(request, codes, turn)
    if context.large_request is None:
        _to_log(
            node, context, request, commits, too_large, codes, lambda: context.answer(_response(request, codes))
        )
        return ANSWERS_LATER
    decided = asyncio.get_running_loop().create_future()

    def decide() -> None:
        if not decided.done():  # it is when the broker stops meanwhile
            decided.set_result(None)

    _to_log(node, context, request, commits, too_large, codes, decide)
    await decided
    return await _response_in_turns(request, codes, turn)


async def _commits(
    node: Node, context: RequestContext, request: OffsetCommitRequest, codes: Codes, turn: Turn
) -> tuple[Commits, list[TopicPartition]]:
    """(what is to be stored, what is not for its metadata being too large); other partitions get their code."""
    limit = node.config.offset_metadata_max_bytes
    now_ms = node.clock.wall_ms()
    expires_ms = NO_EXPIRY if request.retention_time_ms == NO_RETENTION else now_ms + request.retention_time_ms
    commits: Commits = {}
    too_large = []
    number = 0
    for topic in request.topics:
        name = topic.name
        may_read = node.authorizer.allows(context, Operation.READ, ResourceType.TOPIC, name)
        known = node.metadata.partitions_of(name)
        for number, asked in enumerate(topic.partitions, number + 1):  # noqa: B020
            if not number % _UNTIMED:
                await turn.maybe_yield()
            topic_partition = TopicPartition(name, asked.partition_index)
            metadata = asked.committed_metadata or ""
            if not may_read:
                codes[topic_partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif asked.partition_index not in known:
                codes[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif len(metadata) * 2 > limit and _java_length(metadata) > limit:
                too_large.append(topic_partition)
            else:
                commits[topic_partition] = CommittedOffset(
                    asked.committed_offset,
                    asked.committed_leader_epoch,
                    metadata,
                    now_ms if asked.commit_timestamp == NOW else asked.commit_timestamp,
                    expires_ms,
                )
    return commits, too_large


def _java_length(text: str) -> int:
    """UTF-16 units, which is what the limit counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _to_log(
    node: Node,
    context: RequestContext,
    request: OffsetCommitRequest,
    commits: Commits,
    too_large: list[TopicPartition],
    codes: Codes,
    decided: Callable[[], None],
) -> None:
    """Calls `decided` when all partitions have their code.

    An error of the group or the member is that of all partitions, also of those with too much metadata.
    """
    groups = node.coordinators.groups

    def done(code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            context.metrics.count_error(code.name)
        for topic_partition in commits:
            codes[topic_partition] = code
        decided()

    try:
        groups.check(request.group_id, may_be_empty=True)
        group = groups.get(request.group_id)
        if group is None:
            if request.generation_id >= 0:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"there is no group {request.group_id}")
            group = groups.get_or_create(request.group_id)
        member = check_commit(group, request.generation_id, request.member_id, request.group_instance_id)
    except KafkaError as error:
        codes.update(dict.fromkeys(too_large, error.code))
        done(error.code)
        return
    codes.update(dict.fromkeys(too_large, ErrorCode.OFFSET_METADATA_TOO_LARGE))
    if member is not None:
        node.coordinators.membership.touch(group, request.member_id)
    if commits:
        groups.commit(group, commits, done)
    else:
        done(ErrorCode.OFFSET_METADATA_TOO_LARGE)


async def _to_zookeeper(
    node: Node, request: OffsetCommitRequest, commits: Commits, codes: Codes
) -> OffsetCommitResponse:
    """Version 0: nobody is asked whether the group exists."""

    async def store(topic_partition: TopicPartition, offset: int) -> ErrorCode:
        try:
            await node.store.set_old_consumer_offset(request.group_id, topic_partition, offset)
        except (ZkError, ValueError) as error:
            log.warning("The offset of %s for group %r was not stored: %s", topic_partition, request.group_id, error)
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.NONE

    outcomes = await pipelined(store(where, commit.offset) for where, commit in commits.items())
    raise_first(outcomes)
    codes.update(zip(commits, outcomes, strict=True))  # type: ignore[arg-type]  # no exception is left among them
    return _response(request, codes)


def _response(request: OffsetCommitRequest, codes: Codes) -> OffsetCommitResponse:
    topics = [
        OffsetCommitResponseTopic(name=topic.name, partitions=list(_rows(topic, codes))) for topic in request.topics
    ]
    return OffsetCommitResponse(topics=topics)


async def _response_in_turns(request: OffsetCommitRequest, codes: Codes, turn: Turn) -> OffsetCommitResponse:
    topics = []
    for topic in request.topics:
        made = OffsetCommitResponseTopic(name=topic.name, partitions=[])
        topics.append(made)
        for row in _rows(topic, codes):
            made.partitions.append(row)
            await turn.maybe_yield()
    return OffsetCommitResponse(topics=topics)


def _rows(topic: OffsetCommitRequestTopic, codes: Codes) -> Iterator[OffsetCommitResponsePartition]:
    for asked in topic.partitions:
        code = codes[TopicPartition(topic.name, asked.partition_index)]
        yield OffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=code)

"""OffsetCommit: a group stores how far it has read; version 0 stores it in ZooKeeper, as the oldest consumers do.

Source: docs/reference/groups.md, section 7.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn, finish
from kafka_py.broker.requests.authorization import Operation, ResourceType
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_py.wire.version_meanings import OFFSET_COMMIT_TO_ZOOKEEPER
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.session import ZkError

log = logging.getLogger(__name__)

NO_RETENTION = -1
NOW = -1
"""As the time of a commit: the broker's own."""

_SMALL_REQUEST_BYTES = 4096
"""A request up to this size names so few partitions that they are dealt with in one go."""
_AT_ONCE = 64
"""The clock is looked at after so many partitions."""
_new = tuple.__new__

Codes = dict[TopicPartition, ErrorCode]
Commits = dict[TopicPartition, CommittedOffset]


def handle(node: Node, context: RequestContext, request: OffsetCommitRequest) -> object:
    """Stores what may be stored, and answers for each partition when that is safe."""
    if not node.authorizer.allows(context, Operation.READ, ResourceType.GROUP, request.group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"group {request.group_id}")
    if request.group_instance_id is not None and not node.config.inter_broker_version().at_least("2.3-IV0"):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "static members need inter.broker.protocol.version 2.3")
    asked = _Commit(node, context, request)
    if context.request_bytes > _SMALL_REQUEST_BYTES or OFFSET_COMMIT_TO_ZOOKEEPER[context.api_version]:
        return _in_turns(node, context, request, asked)
    for topic in request.topics:
        asked.take(topic.name, topic.partitions)
    if not (asked.commits or asked.too_large):
        return _response(request, asked.codes)
    _to_log(node, context, request, asked, lambda: context.answer(_response(request, asked.codes)))
    return ANSWERS_LATER


async def _in_turns(
    node: Node, context: RequestContext, request: OffsetCommitRequest, asked: _Commit
) -> OffsetCommitResponse:
    """A commit of many partitions, or to ZooKeeper.

    Its connection is muted until the group or ZooKeeper has it: a later commit must not come before it and be
    overwritten by it, nor may its member leave first.
    """
    turn = Turn(node.clock)
    context.connection.mute()
    try:
        for topic in request.topics:
            for first in range(0, len(topic.partitions), _AT_ONCE):
                asked.take(topic.name, topic.partitions[first : first + _AT_ONCE])
                await turn.maybe_yield()
        if OFFSET_COMMIT_TO_ZOOKEEPER[context.api_version]:
            asked.codes.update(dict.fromkeys(asked.too_large, ErrorCode.OFFSET_METADATA_TOO_LARGE))
            return await _to_zookeeper(node, request, asked.commits, asked.codes)
        decided = asyncio.get_running_loop().create_future()
        await _build_to_log(node, context, request, asked, decided)
    finally:
        context.connection.unmute()
    await decided
    return await _response_in_turns(request, asked.codes, turn)


async def _build_to_log(
    node: Node, context: RequestContext, request: OffsetCommitRequest, asked: _Commit, decided: asyncio.Future[None]
) -> None:
    """The batch is built in turns, then the group has it; `decided` is done when all partitions have their code."""

    def decide() -> None:
        if not decided.done():  # it is when the broker stops meanwhile
            decided.set_result(None)

    if not (asked.commits or asked.too_large):
        decide()
        return
    built = None
    if asked.commits:
        building = node.coordinators.offsets.building(request.group_id, asked.commits)
        built = await finish(building, node.clock.monotonic_ms)
    _to_log(node, context, request, asked, decide, built)


class _Commit:
    """What a request asks for, by partition: to be stored, refused for its metadata being too large, or its code."""

    __slots__ = ("_context", "_expires_ms", "_limit", "_node", "_now_ms", "codes", "commits", "too_large")

    def __init__(self, node: Node, context: RequestContext, request: OffsetCommitRequest) -> None:
        self.codes: Codes = {}
        self.commits: Commits = {}
        self.too_large: list[TopicPartition] = []
        self._node = node
        self._context = context
        self._limit = node.config.offset_metadata_max_bytes
        self._now_ms = now_ms = node.clock.wall_ms()
        is_kept = request.retention_time_ms == NO_RETENTION
        self._expires_ms = NO_EXPIRY if is_kept else now_ms + request.retention_time_ms

    def take(self, topic: str, partitions: list[OffsetCommitRequestPartition]) -> None:
        """Sorts some partitions of a topic."""
        may_read = self._node.authorizer.allows(self._context, Operation.READ, ResourceType.TOPIC, topic)
        known = self._node.metadata.partitions_of(topic)
        limit, now_ms = self._limit, self._now_ms
        for asked in partitions:
            topic_partition = _new(TopicPartition, (topic, asked.partition_index))
            metadata = asked.committed_metadata or ""
            if not may_read:
                self.codes[topic_partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif asked.partition_index not in known:
                self.codes[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif len(metadata) * 2 > limit and _java_length(metadata) > limit:
                self.too_large.append(topic_partition)
            else:
                self.commits[topic_partition] = CommittedOffset(
                    asked.committed_offset,
                    asked.committed_leader_epoch,
                    metadata,
                    now_ms if asked.commit_timestamp == NOW else asked.commit_timestamp,
                    self._expires_ms,
                )


def _java_length(text: str) -> int:
    """UTF-16 units, which is what the limit counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _to_log(
    node: Node,
    context: RequestContext,
    request: OffsetCommitRequest,
    asked: _Commit,
    decided: Callable[[], None],
    built: bytes | None = None,
) -> None:
    """Calls `decided` when all partitions have their code. built: the batch, where it was built in turns.

    An error of the group or the member is that of all partitions, also of those with too much metadata.
    """
    commits, codes = asked.commits, asked.codes
    if asked.too_large:
        codes.update(dict.fromkeys(asked.too_large, ErrorCode.OFFSET_METADATA_TOO_LARGE))

    def done(code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            context.metrics.count_error(code.name)
        for topic_partition in commits:
            codes[topic_partition] = code
        decided()

    commit = CommitRequest(request.generation_id, request.member_id, request.group_instance_id, commits)
    try:
        node.coordinators.offsets.commit(request.group_id, commit, done, built)
    except KafkaError as error:
        codes.update(dict.fromkeys(asked.too_large, error.code))
        done(error.code)


async def _to_zookeeper(
    node: Node, request: OffsetCommitRequest, commits: Commits, codes: Codes
) -> OffsetCommitResponse:
    """Version 0: nobody is asked whether the group exists."""

    async def store(topic_partition: TopicPartition, offset: int) -> ErrorCode:
        try:
            await node.store.old_consumers.set_offset(request.group_id, topic_partition, offset)
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

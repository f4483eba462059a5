"""ListOffsets: the log start offset, the end offset, or the first offset at or after a timestamp.

Source: docs/reference/replication.md, section 12.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID, TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.log.model.answers import TimestampOffset
from kafka_py.replication.leader.offset_queries import is_search, offset_for_timestamp, old_style_offsets
from kafka_py.replication.state.reads import Isolation
from kafka_py.security.acls.authorization import MOST_ALLOWED_AT_ONCE
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_py.wire.version_meanings import LIST_OFFSETS, ListOffsetsMeaning

_new = tuple.__new__

_NONE: set[TopicPartition] = set()
_SMALL_REQUEST_BYTES = 2048
"""A request up to this size has so few partitions that they are processed in one turn."""
_UNTIMED = 16
"""The clock is read after this many partitions."""


def handle(node: Node, context: RequestContext, request: ListOffsetsRequest) -> object:
    """One offset per partition; v0 returns a list of segment base offsets instead."""
    meaning = LIST_OFFSETS[context.api_version]
    if (
        context.request_bytes > _SMALL_REQUEST_BYTES
        or len(request.topics) > MOST_ALLOWED_AT_ONCE
        or _searches(meaning, request)
    ):
        return _in_turns(node, context, request, meaning)
    repeated = _repeated(request)
    topics = []
    for topic in request.topics:
        rows = _TopicRows(node, context, request, meaning, topic.name, repeated)
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=list(map(rows.answer, topic.partitions))))
    return ListOffsetsResponse(topics=topics)


def _searches(meaning: ListOffsetsMeaning, request: ListOffsetsRequest) -> bool:
    """Whether a log has to be searched by time, which may take long."""
    if meaning.lists_segments:
        return False
    for topic in request.topics:
        for asked in topic.partitions:
            if is_search(asked.timestamp):
                return True
    return False


async def _in_turns(
    node: Node, context: RequestContext, request: ListOffsetsRequest, meaning: ListOffsetsMeaning
) -> ListOffsetsResponse:
    """A request for many partitions, or with searches by time."""
    turn = Turn(node.clock)
    repeated = await _repeated_in_turns(request, turn)
    done = 0
    topics = []
    for topic in request.topics:
        await turn.maybe_yield()
        rows = _TopicRows(node, context, request, meaning, topic.name, repeated)
        answers = []
        for asked in topic.partitions:
            search = not meaning.lists_segments and is_search(asked.timestamp)
            answers.append(await rows.search(asked) if search else rows.answer(asked))
            done += 1
            if not done % _UNTIMED:
                await turn.maybe_yield()
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


def _repeated(request: ListOffsetsRequest) -> set[TopicPartition]:
    """Partitions that occur more than once in a small request."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        return _NONE
    return {each for each, times in Counter(_named(request)).items() if times > 1}


async def _repeated_in_turns(request: ListOffsetsRequest, turn: Turn) -> set[TopicPartition]:
    seen: set[TopicPartition] = set()
    repeated: set[TopicPartition] = set()
    for number, topic_partition in enumerate(_named(request), 1):
        (repeated if topic_partition in seen else seen).add(topic_partition)
        if not number % _UNTIMED:
            await turn.maybe_yield()
    return repeated


def _named(request: ListOffsetsRequest) -> Iterator[TopicPartition]:
    for topic in request.topics:
        for asked in topic.partitions:
            yield TopicPartition(topic.name, asked.partition_index)


class _TopicRows:
    """Makes the rows of one topic's partitions; an error affects only its partition."""

    __slots__ = ("_context", "_leader_only", "_may_describe", "_meaning", "_node", "_repeated", "_request", "_topic")

    def __init__(
        self,
        node: Node,
        context: RequestContext,
        request: ListOffsetsRequest,
        meaning: ListOffsetsMeaning,
        topic: str,
        repeated: set[TopicPartition],
    ) -> None:
        self._node = node
        self._context = context
        self._meaning = meaning
        self._request = request
        self._topic = topic
        self._repeated = repeated
        self._leader_only = request.replica_id != DEBUGGING_REPLICA_ID
        self._may_describe = node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, topic)

    def answer(self, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        """The row of a partition that needs no search by time."""
        topic_partition = _new(TopicPartition, (self._topic, asked.partition_index))
        answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=ErrorCode.NONE)
        try:
            self._check(topic_partition)
            if self._meaning.lists_segments:
                partition = self._node.hosted.partition(topic_partition)
                answer.old_style_offsets = old_style_offsets(
                    partition,
                    asked.timestamp,
                    asked.max_num_offsets,
                    self._request.replica_id,
                    self._node.clock.wall_ms(),
                )
            else:
                self._fill(answer, topic_partition, asked, None)
        except (KafkaError, OSError) as error:
            self._fail(answer, topic_partition, error)
        return answer

    async def search(self, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        """The row of a partition with a search by time."""
        topic_partition = _new(TopicPartition, (self._topic, asked.partition_index))
        answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=ErrorCode.NONE)
        try:
            self._check(topic_partition)
            partition = self._node.hosted.partition(topic_partition)
            log = partition.readable_log(asked.current_leader_epoch, leader_only=self._leader_only)
            found = await self._node.replicas.time_lookups.find(log, asked.timestamp)
            self._fill(answer, topic_partition, asked, found)
        except (KafkaError, OSError) as error:
            self._fail(answer, topic_partition, error)
        return answer

    def _check(self, topic_partition: TopicPartition) -> None:
        """Raises KafkaError for an unauthorized or repeated partition."""
        if not self._may_describe:
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if topic_partition in self._repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{topic_partition} occurs twice in the request")
        if not self._node.metadata.has_partition(topic_partition):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _fill(
        self,
        answer: ListOffsetsPartitionResponse,
        topic_partition: TopicPartition,
        asked: ListOffsetsPartition,
        by_time: TimestampOffset | None,
    ) -> None:
        """Raises KafkaError, OSError. by_time: what the search found."""
        request = self._request
        found = offset_for_timestamp(
            self._node.hosted.partition(topic_partition),
            asked.timestamp,
            _isolation(request),
            asked.current_leader_epoch,
            leader_only=self._leader_only,
            replica_id=request.replica_id,
            by_time=by_time,
        )
        if found is not None:
            answer.timestamp = found.timestamp
            answer.offset = found.offset
            answer.leader_epoch = found.leader_epoch if self._meaning.has_leader_epoch else -1

    def _fail(
        self, answer: ListOffsetsPartitionResponse, topic_partition: TopicPartition, error: KafkaError | OSError
    ) -> None:
        if isinstance(error, KafkaError):
            unavailable = error.code is ErrorCode.OFFSET_NOT_AVAILABLE
            answer.error_code = self._meaning.offset_not_available if unavailable else error.code
            self._context.metrics.count_error(error.code.name)
        else:
            self._node.hosted.on_storage_error(topic_partition, error)
            answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR


def _isolation(request: ListOffsetsRequest) -> Isolation:
    if request.replica_id != CONSUMER_REPLICA_ID:
        return Isolation.LOG_END
    return Isolation.READ_COMMITTED if request.isolation_level == 1 else Isolation.READ_UNCOMMITTED

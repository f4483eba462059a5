"""A request to commit offsets, plain or in a transaction: partition by partition, and answered when all are decided.

What may be stored goes to the group as one commit; a partition that is refused before that has its own error. Small
requests are dealt with in one go, others in turns. Source: docs/reference/groups.md, section 7; KafkaApis.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn, finish
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.coordinator.groups.offsets import NO_EXPIRY, NOT_APPENDED, CommittedOffset, CommittingProducer
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.security.acls.authorization import MOST_ALLOWED_AT_ONCE
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition
from kafka_py.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition

NO_RETENTION = -1
NOW = -1
"""As the time of a commit: the broker's own."""

_SMALL_REQUEST_BYTES = 4096
"""A request up to this size names so few partitions that they are dealt with in one go."""
_AT_ONCE = 64
"""The clock is looked at after so many partitions."""
_new = tuple.__new__


class CommitAnswer(NamedTuple):
    """The classes of which an API's response is made."""

    response: type[Any]
    topic: type[Any]
    partition: type[Any]


class OffsetCommits:
    """One request, by partition: what is to be stored, what has too large metadata, and the codes of the answer.

    producer: of the transaction that the commits are part of. retention_ms: after which they expire. while_loading:
    the code in place of COORDINATOR_LOAD_IN_PROGRESS.
    """

    __slots__ = (
        "_answer", "_commit", "_context", "_expires_ms", "_group_id", "_limit", "_node", "_now_ms", "_states_time",
        "_topics", "_while_loading", "codes", "commits", "too_large",
    )  # fmt: skip

    def __init__(
        self,
        node: Node,
        context: RequestContext,
        request: OffsetCommitRequest | TxnOffsetCommitRequest,
        answer: CommitAnswer,
        *,
        producer: CommittingProducer | None = None,
        retention_ms: int = NO_RETENTION,
        while_loading: ErrorCode = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ) -> None:
        self.codes: dict[TopicPartition, ErrorCode] = {}
        self.commits: dict[TopicPartition, CommittedOffset] = {}
        self.too_large: list[TopicPartition] = []
        self._node = node
        self._context = context
        self._answer = answer
        self._topics: Sequence[Any] = request.topics
        self._group_id = request.group_id
        self._commit = CommitRequest(
            request.generation_id, request.member_id, request.group_instance_id, self.commits, producer
        )
        self._states_time = producer is None
        self._while_loading = while_loading
        self._limit = node.config.offset_metadata_max_bytes
        self._now_ms = now_ms = node.clock.wall_ms()
        self._expires_ms = NO_EXPIRY if retention_ms == NO_RETENTION else now_ms + retention_ms

    # ---- from request to response

    def store(self) -> object:
        """Stores what may be stored; the response, or what gives it later."""
        if self._context.request_bytes > _SMALL_REQUEST_BYTES or len(self._topics) > MOST_ALLOWED_AT_ONCE:
            return self._store_in_turns()
        for topic in self._topics:
            self.take(topic.name, topic.partitions)
        if not (self.commits or self.too_large):
            return self.response()
        self._to_log(lambda: self._context.answer(self.response()))
        return ANSWERS_LATER

    async def _store_in_turns(self) -> object:
        """A commit of many partitions.

        Its connection is muted until the group has it: a later commit must not come before it and be overwritten by
        it, nor may its member leave first.
        """
        turn = Turn(self._node.clock)
        decided = asyncio.get_running_loop().create_future()
        self._context.connection.mute()
        try:
            await self.take_in_turns(turn)
            await self._build_to_log(decided)
        finally:
            self._context.connection.unmute()
        await decided
        return await self._response_in_turns(turn)

    async def _build_to_log(self, decided: asyncio.Future[None]) -> None:
        """The batch is built in turns, then the group has it; `decided` is done when all partitions have their code."""

        def decide() -> None:
            if not decided.done():  # it is when the broker stops meanwhile
                decided.set_result(None)

        if not (self.commits or self.too_large):
            decide()
            return
        built = None
        if self.commits:
            building = self._node.coordinators.offsets.building(self._group_id, self._commit)
            built = await finish(building, self._node.clock.monotonic_ms)
        self._to_log(decide, built)

    def _to_log(self, decided: Callable[[], None], built: bytes | None = None) -> None:
        """Calls `decided` when all partitions have their code. built: the batch, where it was built in turns.

        An error of the group or the member is that of all partitions, also of those with too much metadata.
        """
        commits, codes = self.commits, self.codes
        if self.too_large:
            codes.update(dict.fromkeys(self.too_large, ErrorCode.OFFSET_METADATA_TOO_LARGE))

        def done(code: ErrorCode) -> None:
            if code is not ErrorCode.NONE:
                self._context.metrics.count_error(code.name)
            for topic_partition in commits:
                codes[topic_partition] = code
            decided()

        try:
            self._node.coordinators.offsets.commit(self._group_id, self._commit, done, built)
        except KafkaError as error:
            code = error.code
            if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                code = self._while_loading
            codes.update(dict.fromkeys(self.too_large, code))
            done(code)

    # ---- partitions of the request

    async def take_in_turns(self, turn: Turn) -> None:
        """Sorts all partitions."""
        for topic in self._topics:
            await turn.maybe_yield()
            for first in range(0, len(topic.partitions), _AT_ONCE):
                self.take(topic.name, topic.partitions[first : first + _AT_ONCE])
                await turn.maybe_yield()

    def take(
        self, topic: str, partitions: Sequence[OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition]
    ) -> None:
        """Sorts some partitions of a topic."""
        may_read = self._node.authorizer.allows(self._context, Operation.READ, ResourceType.TOPIC, topic)
        known = self._node.metadata.partitions_of(topic)
        limit, now_ms, states_time, expires_ms = self._limit, self._now_ms, self._states_time, self._expires_ms
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
                time_ms = asked.commit_timestamp if states_time and asked.commit_timestamp != NOW else now_ms  # type: ignore[union-attr]
                offset, epoch = asked.committed_offset, asked.committed_leader_epoch
                commit = offset, epoch, metadata, time_ms, expires_ms, NOT_APPENDED
                self.commits[topic_partition] = _new(CommittedOffset, commit)

    # ---- partitions of the response

    def response(self) -> object:
        """The response, when all partitions have their code."""
        made = self._answer
        return made.response(
            topics=[made.topic(name=topic.name, partitions=list(self._rows(topic))) for topic in self._topics]
        )

    async def _response_in_turns(self, turn: Turn) -> object:
        topics = []
        for topic in self._topics:
            await turn.maybe_yield()
            made = self._answer.topic(name=topic.name, partitions=[])
            topics.append(made)
            for row in self._rows(topic):
                made.partitions.append(row)
                await turn.maybe_yield()
        return self._answer.response(topics=topics)

    def _rows(self, topic: Any) -> Iterator[object]:
        row, codes, name = self._answer.partition, self.codes, topic.name
        for asked in topic.partitions:
            number = asked.partition_index
            yield row(partition_index=number, error_code=codes[_new(TopicPartition, (name, number))])


def _java_length(text: str) -> int:
    """UTF-16 units, which is what the limit counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2

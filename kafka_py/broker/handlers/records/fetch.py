"""Fetch: records for consumers and followers, at once or after a wait for fetch.min.bytes.

The records are not read: a response has slices of segment files, which the connection sends. What readers of old
versions get instead is decided in old_readers.py.
Source: docs/reference/replication.md, section 9.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn, finish, sliced
from kafka_py.broker.handlers.records.old_readers import FIRST_WITH_ZSTD, for_old_reader
from kafka_py.broker.requests.fetch_contexts import FetchContext, open_context, open_in_turns
from kafka_py.broker.requests.fetch_sizes import fetch_response_bytes, sizing
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.replication.state.reads import FetchEntry, FetchParams, FetchResults, Isolation, PartitionRead
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.fetch_epochs import NO_SESSION
from kafka_py.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)

_new = tuple.__new__

_NO_RECORDS = b""
_LAST_WITH_HARD_LIMIT = 2
_FIRST_WITH_RACK = 11
_LARGE_REQUEST_BYTES = 8192
"""A request up to this size has about _AT_ONCE partitions at most."""
_AT_ONCE = 200
"""A fetch that reads more partitions than this is served in turns with other work."""


def handle(node: Node, context: RequestContext, request: FetchRequest) -> object:
    """Reads the partitions of the request or its session. An unknown session is an error of the whole response."""
    version = context.api_version
    is_follower = request.replica_id >= 0
    metrics = node.request_metrics
    context.metrics = metrics.fetch_follower if is_follower else metrics.fetch_consumer
    context.metrics.count(version)
    params = _params(node, context, request, is_follower)
    if context.request_bytes > _LARGE_REQUEST_BYTES:
        return _large(node, context, request, params)
    try:
        session = open_context(
            node.sessions,
            request.session_id,
            request.session_epoch,
            _few_wanted(request),
            _forgotten(request) if request.forgotten_topics_data else (),
            is_privileged=is_follower,
            now_ms=node.clock.monotonic_ms(),
        )
    except KafkaError as error:
        return _refused(context, error)
    if session.size > _AT_ONCE:
        return _fetch_in_turns(node, context, session, params)
    # The response has at most as many rows; only aborted transactions come in addition.
    context.has_short_answer = params.isolation is not Isolation.READ_COMMITTED
    node.fetches.fetch(
        params,
        session,
        lambda results: _answer(node, context, session, results, request.replica_id),
        context.long_poll,
    )
    return ANSWERS_LATER


def _params(node: Node, context: RequestContext, request: FetchRequest, is_follower: bool) -> FetchParams:
    """Raises KafkaError(INVALID_REQUEST) for an unknown isolation level, before any state changes."""
    version = context.api_version
    max_bytes, min_bytes = request.max_bytes, request.min_bytes
    limit = node.live_config.current.fetch_max_bytes
    if max_bytes > limit:
        max_bytes = limit
    if node.throttling is not None and not is_follower:
        max_bytes = node.throttling.most_fetch_bytes(context, max_bytes)
    hard_max_bytes = version <= _LAST_WITH_HARD_LIMIT
    leader_only = is_follower or version < _FIRST_WITH_RACK
    may_read = None if node.authorizer is ALLOW_ALL else _permission(node, context, is_follower)
    return _new(  # every field is given; the constructor would take longer
        FetchParams,
        (
            request.replica_id, request.max_wait_ms, min_bytes if min_bytes < max_bytes else max_bytes, max_bytes,
            _isolation(request, is_follower), hard_max_bytes, leader_only, request.rack_id, may_read,
        ),
    )  # fmt: skip


def _refused(context: RequestContext, error: KafkaError) -> FetchResponse:
    context.metrics.count_error(error.code.name)
    return FetchResponse(error_code=error.code, session_id=NO_SESSION, responses=[])


async def _large(
    node: Node, context: RequestContext, request: FetchRequest, params: FetchParams
) -> object:
    """A request with possibly very many partitions, which are added to the session in turns as well."""
    wanted: dict[TopicPartition, FetchEntry] = {}
    turn = Turn(node.clock)
    for entry in _wanted(request):
        wanted[entry.topic_partition] = entry
        await turn.maybe_yield()
    forgotten = []
    for topic_partition in _forgotten(request):
        forgotten.append(topic_partition)
        await turn.maybe_yield()
    try:
        session = await open_in_turns(
            node.sessions,
            request.session_id,
            request.session_epoch,
            list(wanted.values()),
            forgotten,
            is_privileged=params.from_follower,
            now_ms=node.clock.monotonic_ms(),
        )
    except KafkaError as error:
        return _refused(context, error)
    return await _fetch_in_turns(node, context, session, params)


async def _fetch_in_turns(
    node: Node, context: RequestContext, session: FetchContext, params: FetchParams
) -> object:
    """A fetch of very many partitions, such as the first one of a follower, in turns with other work."""
    results = await node.fetches.fetch_in_turns(params, session, context.long_poll)
    if context.api_version < FIRST_WITH_ZSTD:
        converted: asyncio.Future[FetchResults] = asyncio.get_running_loop().create_future()

        def take(found: FetchResults) -> None:
            if not converted.done():  # else the broker is being stopped
                converted.set_result(found)

        known = for_old_reader(node, context, results, take, is_follower=params.from_follower)
        results = await converted if known is None else known
    throttling = None if params.from_follower else node.throttling
    if throttling is not None:
        steps = sizing(context.api_version, results, returns_all=session.returns_all)
        size = await finish(steps, node.clock.monotonic_ms)
        if throttling.refuses_fetch(context, size, partial(_without_rows, session)):
            session.gave_nothing()
            return ANSWERS_LATER
    session_id, changed = await session.finish_in_turns(results)
    topics: list[FetchableTopicResponse] = []
    async for some in sliced(changed):
        _add_rows(node, context, params.replica_id, topics, some)
    response = FetchResponse(session_id=session_id, responses=topics)
    if throttling is None:
        return response
    throttling.send(context, response, None)
    return ANSWERS_LATER


def _wanted(request: FetchRequest) -> Iterator[FetchEntry]:
    """The partitions of the request; if one occurs twice, the last occurrence counts, as in Apache Kafka 2.8.2."""
    for topic in request.topics:
        for asked in topic.partitions:
            yield FetchEntry(
                _new(TopicPartition, (topic.topic, asked.partition)),
                asked.fetch_offset,
                asked.partition_max_bytes,
                asked.current_leader_epoch,
                asked.last_fetched_epoch,
                asked.log_start_offset,
            )


def _few_wanted(request: FetchRequest) -> list[FetchEntry]:
    wanted = list(_wanted(request)) if request.topics else []  # empty in most fetches of a session
    return list({entry.topic_partition: entry for entry in wanted}.values()) if len(wanted) > 1 else wanted


def _forgotten(request: FetchRequest) -> Iterator[TopicPartition]:
    for topic in request.forgotten_topics_data:
        for partition in topic.partitions:
            yield TopicPartition(topic.topic, partition)


def _isolation(request: FetchRequest, is_follower: bool) -> Isolation:
    """The isolation level; followers read to the log end. Raises KafkaError(INVALID_REQUEST) for an unknown level."""
    if is_follower:
        return Isolation.LOG_END
    if request.isolation_level not in (0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Isolation level {request.isolation_level} does not exist")
    return Isolation.READ_COMMITTED if request.isolation_level else Isolation.READ_UNCOMMITTED


class _TopicPermission:
    """Whether the principal may read a topic; checked once per topic and request."""

    __slots__ = ("_context", "_known", "_node")

    def __init__(self, node: Node, context: RequestContext) -> None:
        self._node = node
        self._context = context
        self._known: dict[str, bool] = {}

    def __call__(self, topic: str) -> bool:
        known = self._known.get(topic)
        if known is None:
            known = self._known[topic] = self._node.authorizer.allows(
                self._context, Operation.READ, ResourceType.TOPIC, topic
            )
        return known


def _permission(node: Node, context: RequestContext, is_follower: bool) -> _TopicPermission | _Everything | _Nothing:
    """The permission check: CLUSTER_ACTION for followers, READ per topic for consumers."""
    if not is_follower:
        return _TopicPermission(node, context)
    allowed = node.authorizer.allows(context, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    return _Everything() if allowed else _Nothing()


class _Everything:
    __slots__ = ()

    def __call__(self, topic: str) -> bool:
        return True


class _Nothing:
    __slots__ = ()

    def __call__(self, topic: str) -> bool:
        return False


def _answer(
    node: Node, context: RequestContext, session: FetchContext, results: FetchResults, replica_id: int, *,
    are_known: bool = False,
) -> None:  # fmt: skip
    """Sends the response. are_known: whether the results are fit for the version of the request already."""
    if context.api_version < FIRST_WITH_ZSTD and not are_known:
        known = for_old_reader(
            node, context, results,
            lambda converted: _answer(node, context, session, converted, replica_id, are_known=True),
            is_follower=replica_id >= 0,
        )  # fmt: skip
        if known is None:
            return
        results = known
    throttling = node.throttling if replica_id < 0 else None
    if throttling is not None:
        size = fetch_response_bytes(context.api_version, results, returns_all=session.returns_all)
        if throttling.refuses_fetch(context, size, lambda: _without_rows(session)):
            return  # its partitions count as not sent
    session_id, changed = session.finish(results)
    topics: list[FetchableTopicResponse] = []
    _add_rows(node, context, replica_id, topics, changed)
    response = FetchResponse(session_id=session_id, responses=topics)
    if throttling is None:
        context.answer(response)
    else:
        throttling.send(context, response, None)


def _without_rows(session: FetchContext) -> FetchResponse:
    return FetchResponse(session_id=session.known_id, responses=[])


def _add_rows(
    node: Node, context: RequestContext, replica_id: int, topics: list[FetchableTopicResponse], results: FetchResults
) -> None:
    """Adds the next rows of a response, by topic, and counts their bytes."""
    last, partitions = (topics[-1].topic, topics[-1].partition_responses) if topics else (None, [])
    metrics = node.replicas.metrics
    sent_bytes = 0
    for entry, read in results:
        topic, partition = entry.topic_partition
        if topic != last:
            partitions = []
            topics.append(FetchableTopicResponse(topic=topic, partition_responses=partitions))
            last = topic
        if read.size:
            sent_bytes += read.size
            if replica_id < 0:
                (metrics.topics.get(topic) or metrics.topic(topic)).bytes_out += read.size
            elif read.partition is not None and replica_id in read.partition.adding_replicas:
                metrics.all_topics.reassignment_bytes_out += read.size
        partitions.append(_partition_response(context, partition, read))
    if sent_bytes:
        _count_sent(node, sent_bytes, replica_id >= 0)


def _partition_response(context: RequestContext, partition: int, read: PartitionRead) -> FetchablePartitionResponse:
    made = FetchablePartitionResponse(
        partition=partition,
        error_code=read.error,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        aborted_transactions=None,
        record_set=_NO_RECORDS if read.records is None else read.records,
    )
    if read.error is not ErrorCode.NONE:
        context.metrics.count_error(read.error.name)
    if read.aborted is not None:
        made.aborted_transactions = [
            AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
            for producer_id, first_offset in read.aborted
        ]
    if read.diverging is not None:
        made.diverging_epoch = EpochEndOffset(epoch=read.diverging.epoch, end_offset=read.diverging.end_offset)
    if read.preferred_read_replica >= 0:
        made.preferred_read_replica = read.preferred_read_replica
    return made


def _count_sent(node: Node, sent_bytes: int, is_follower: bool) -> None:
    all_topics = node.replicas.metrics.all_topics
    if is_follower:
        all_topics.replication_bytes_out += sent_bytes
    else:
        all_topics.bytes_out += sent_bytes

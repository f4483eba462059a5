"""Produce: appends batches to partitions that this broker leads. Source: docs/reference/replication.md, section 1.

The hot path: per partition one read of the batch's fixed fields, and one call into the replica manager.
"""

from __future__ import annotations

from functools import partial
from struct import Struct

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests import transactions
from kafka_py.broker.requests.large_produce import in_pieces
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.records.batch import CODEC_MASK, MAGIC, TRANSACTIONAL_FLAG
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

ADMIN_CLIENT = "__admin_client"
"""The client id that may write to internal topics."""

_NO_RECORDS = memoryview(b"")
_FIXED = Struct(">8xi4xb4xh")  # batch length, magic, attributes
_FIXED_OF = _FIXED.unpack_from
_OVERHEAD = 12  # base offset and batch length
_LEAST_LENGTH = 14  # of any format, after the overhead
_ZSTD = 4
_FIRST_WITH_FORMAT_ERROR = 2
_FIRST_WITH_FORMAT_2 = 3
_FIRST_WITH_ZSTD = 7
_VALID_ACKS = frozenset((0, 1, -1))
_WRITE, _TOPIC = Operation.WRITE, ResourceType.TOPIC
_new = tuple.__new__


def handle(node: Node, context: RequestContext, request: ProduceRequest) -> object:
    """Appends; responds when acks is satisfied. With acks=0 there is no response; a failure closes the connection."""
    if context.large_request is not None:
        return in_pieces(node, context, request, handle, _is_transactional, partial(_check_id, node, context, request))
    version, acks = context.api_version, request.acks
    accepted: list[tuple[TopicPartition, memoryview]] = []
    refused: dict[int, AppendResult] = {}  # by index in the request
    metadata = node.metadata
    allows = None if node.authorizer is ALLOW_ALL else node.authorizer.allows
    transactional = 0
    for topic in request.topic_data:
        name = topic.name
        may_write = allows is None or allows(context, _WRITE, _TOPIC, name)
        for data in topic.partition_data:
            topic_partition = _new(TopicPartition, (name, data.index))
            records = data.records
            if not may_write:
                refusal = AppendResult(topic_partition, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif not metadata.has_partition(topic_partition):
                refusal = AppendResult(topic_partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif acks not in _VALID_ACKS:
                refusal = AppendResult(topic_partition, ErrorCode.INVALID_REQUIRED_ACKS)
            else:
                # Usually there is exactly one valid batch; this is checked here, without a call.
                if type(records) is memoryview and len(records) >= _FIXED.size and version >= _FIRST_WITH_FORMAT_2:
                    length, magic, attributes = _FIXED_OF(records)
                    is_whole = magic == MAGIC and length == len(records) - _OVERHEAD
                    if is_whole and (attributes & CODEC_MASK != _ZSTD or version >= _FIRST_WITH_ZSTD):
                        transactional |= attributes & TRANSACTIONAL_FLAG
                        accepted.append((topic_partition, records))
                        continue
                fault = _fault(records, version)
                if fault is None:
                    if _is_transactional(records):
                        transactional = TRANSACTIONAL_FLAG
                    accepted.append((topic_partition, _NO_RECORDS if records is None else records))  # type: ignore[arg-type]
                    continue
                refusal = AppendResult(topic_partition, *fault)
            if not transactional and _is_transactional(records):
                transactional = TRANSACTIONAL_FLAG
            refused[len(accepted) + len(refused)] = refusal

    if transactional:
        no_transaction = transactions.producer_refusal(node, context, request.transactional_id)
        if no_transaction is not None:
            accepted, refused = [], _refused_as_a_whole(request, no_transaction)

    done = partial(_answer, context, acks, refused)  # may be kept for long: it must not refer to the request's records
    if accepted:
        node.appends.append(
            accepted,
            acks,
            request.timeout_ms,
            done,
            internal_topics_allowed=context.client_id == ADMIN_CLIENT,
            trust=context.connection.batch_trust or _new_trust(node, context),  # type: ignore[arg-type]
        )
    else:
        done([])
    return ANSWERS_LATER


def _new_trust(node: Node, context: RequestContext) -> HeaderTrust:
    """Creates the HeaderTrust of this connection, at its first produce request."""
    connection = context.connection
    software = connection.client_software
    connection.batch_trust = trust = node.appends.new_trust(
        f"client {context.client_id!r} ({software.name} {software.version}) at {connection.peer_host}"
    )
    return trust


def _is_transactional(records: memoryview | object | None) -> bool:
    return (
        isinstance(records, memoryview)
        and len(records) >= _FIXED.size
        and records[16] == MAGIC
        and records[22] & TRANSACTIONAL_FLAG != 0
    )


def _check_id(node: Node, context: RequestContext, request: ProduceRequest) -> None:
    """Raises KafkaError for a large request with transactional batches; with acks=0 it closes the connection first."""
    no_transaction = transactions.producer_refusal(node, context, request.transactional_id)
    if no_transaction is None:
        return
    if request.acks == 0:
        context.drop_connection(f"produce with acks=0 failed: {no_transaction.code.name}")
    raise no_transaction


def _refused_as_a_whole(request: ProduceRequest, error: KafkaError) -> dict[int, AppendResult]:
    """One transactional batch that may not be written, and none of the request's is."""
    partitions = (
        TopicPartition(topic.name, data.index) for topic in request.topic_data for data in topic.partition_data
    )
    return {
        place: AppendResult(partition, error.code, error.message) for place, partition in enumerate(partitions)
    }


def _fault(records: memoryview | object | None, version: int) -> tuple[ErrorCode, str] | None:
    """Error of the records as a whole, by request version; None when there is none.

    From v3 on: exactly one whole batch, in format 2; zstd only from v7 on.
    """
    if version < _FIRST_WITH_FORMAT_2:
        return None
    size = 0 if records is None else len(records)  # type: ignore[arg-type]
    if size < _FIXED.size:
        return ErrorCode.INVALID_RECORD, f"Produce requests with version {version} must hold exactly one record batch"
    length, magic, attributes = _FIXED.unpack_from(records)  # type: ignore[arg-type]
    if length < _LEAST_LENGTH or not 0 <= magic <= 2:
        return ErrorCode.CORRUPT_MESSAGE, f"A record batch cannot have length {length} and format {magic}"
    end = length + _OVERHEAD
    if end > size:
        return ErrorCode.INVALID_RECORD, f"Produce requests with version {version} must hold exactly one record batch"
    if magic != 2:
        return ErrorCode.INVALID_RECORD, f"Produce requests with version {version} must use record format 2"
    if attributes & CODEC_MASK == _ZSTD and version < _FIRST_WITH_ZSTD:
        return (
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} cannot use zstd compression",
        )
    if size - end >= _FIXED.size:
        length, magic, _ = _FIXED.unpack_from(records, end)  # type: ignore[arg-type]
        if length < _LEAST_LENGTH or not 0 <= magic <= 2:
            return ErrorCode.CORRUPT_MESSAGE, "The bytes after the record batch are not a batch"
        if length + _OVERHEAD <= size - end:
            return (
                ErrorCode.INVALID_RECORD,
                f"Produce requests with version {version} must hold exactly one record batch",
            )
    return None


def _answer(
    context: RequestContext, acks: int, refused: dict[int, AppendResult], results: list[AppendResult]
) -> None:
    if acks == 0:
        _answer_nothing(context, results, refused)
        return
    if refused:
        results = _in_request_order(results, refused)
    responses: list[TopicProduceResponse] = []
    partitions: list[PartitionProduceResponse] = []
    last_topic = None
    for result in results:
        topic, partition = result.topic_partition
        if topic != last_topic:
            partitions = []
            responses.append(TopicProduceResponse(name=topic, partition_responses=partitions))
            last_topic = topic
        made = PartitionProduceResponse(
            index=partition,
            error_code=result.error,
            base_offset=result.base_offset,
            log_append_time_ms=result.log_append_time,
            log_start_offset=result.log_start_offset,
        )
        if result.error is not ErrorCode.NONE:
            context.metrics.count_error(result.error.name)
            made.error_code = _known_error(result.error, context.api_version)
            made.error_message = result.message
            if result.record_errors:
                context.has_short_answer = False  # a small batch may hold very many records
            made.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
                for index, message in result.record_errors
            ]
        partitions.append(made)
    context.answer(ProduceResponse(responses=responses))


def _known_error(error: ErrorCode, version: int) -> ErrorCode:
    """The error for a request version: clients before v2 do not know UNSUPPORTED_FOR_MESSAGE_FORMAT."""
    if error is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT and version < _FIRST_WITH_FORMAT_ERROR:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return error


def _answer_nothing(
    context: RequestContext, results: list[AppendResult], refused: dict[int, AppendResult]
) -> None:
    """acks=0: the producer reads no response, so its connection is closed to report a failure."""
    failed = [result for result in (*results, *refused.values()) if result.error is not ErrorCode.NONE]
    if failed:
        first = failed[0]
        context.drop_connection(f"produce with acks=0 failed for {first.topic_partition}: {first.error.name}")
    else:
        context.answer(None)


def _in_request_order(results: list[AppendResult], refused: dict[int, AppendResult]) -> list[AppendResult]:
    """Accepted and rejected partitions in the order of the request; a partition may occur twice."""
    appended = iter(results)
    return [
        refused[place] if place in refused else next(appended) for place in range(len(results) + len(refused))
    ]

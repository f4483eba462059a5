"""WriteTxnMarkers: the coordinator of transactions has their ends written to partitions led here.

A partition is answered when every in-sync replica has its marker: the coordinator forgets the transaction then. In
`__consumer_offsets` a marker also decides what becomes of the offsets that were committed in the transaction.
Source: KIP-98; KafkaApis; docs/reference/groups.md, section 13.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.observe.metrics import ApiMetrics
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER
from kafka_py.broker.requests.transactions import FIRST_PROTOCOL
from kafka_py.coordinator.groups.metadata_store import TOPIC as OFFSETS_TOPIC
from kafka_py.coordinator.groups.offsets import TxnEnd
from kafka_py.log.model.answers import Origin
from kafka_py.records.batch import MAGIC
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

AT_ONCE = 32
"""Markers that are appended in one go; each takes some 60 microseconds."""

_log = logging.getLogger(__name__)


class MarkersContext(Protocol):
    """What is needed of a request's context: a RequestContext, or that of the broker's own coordinator."""

    metrics: ApiMetrics

    def answer(self, response: WriteTxnMarkersResponse, /) -> None: ...


def handle(node: Node, context: MarkersContext, request: WriteTxnMarkersRequest) -> object:
    """Appends each marker with acks=all; answers when all are replicated, or have failed.

    Raises KafkaError(UNSUPPORTED_VERSION) under an inter-broker protocol without transactions.
    """
    if not node.config.inter_broker_version().at_least(FIRST_PROTOCOL):
        needed = f"WriteTxnMarkers needs inter.broker.protocol.version {FIRST_PROTOCOL} or later"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, needed)
    work = _MarkerAppends(node, context)
    pieces = [(marker, piece) for marker in request.markers for piece in _pieces(marker)]
    if sum(len(piece) for _, piece in pieces) > AT_ONCE:
        return _in_turns(node, work, pieces)
    for marker, piece in pieces:
        work.append(marker, piece)
    work.no_more()
    return ANSWERS_LATER


async def _in_turns(
    node: Node, work: _MarkerAppends, pieces: list[tuple[WritableTxnMarker, list[TopicPartition]]]
) -> object:
    turn = Turn(node.clock)
    for marker, piece in pieces:
        work.append(marker, piece)
        await turn.maybe_yield()
    work.no_more()
    return ANSWERS_LATER


def _pieces(marker: WritableTxnMarker) -> list[list[TopicPartition]]:
    """The marker's partitions, each once, at most AT_ONCE together."""
    every = list(
        dict.fromkeys(TopicPartition(topic.name, index) for topic in marker.topics for index in topic.partition_indexes)
    )
    return [every[first : first + AT_ONCE] for first in range(0, len(every), AT_ONCE)]


class _MarkerAppends:
    """The appends of one request, whose last one answers it."""

    def __init__(self, node: Node, context: MarkersContext) -> None:
        self._node = node
        self._context = context
        self._errors: dict[int, dict[TopicPartition, ErrorCode]] = {}  # by producer id
        self._missing = 1  # for the appends that have not begun yet

    def append(self, marker: WritableTxnMarker, topic_partitions: list[TopicPartition]) -> None:
        """Appends a marker to these partitions."""
        node = self._node
        errors = self._errors.setdefault(marker.producer_id, {})
        batch = _batch(marker, node.clock.wall_ms())
        records = []
        for topic_partition in topic_partitions:
            refusal = errors[topic_partition] = _refusal(node, topic_partition)  # also keeps the request's order
            if refusal is ErrorCode.NONE:
                records.append((topic_partition, memoryview(bytearray(batch))))
        if records:
            self._missing += 1
            node.appends.append(
                records,
                -1,
                node.config.request_timeout_ms,
                partial(self._appended, marker, errors),
                origin=Origin.COORDINATOR,
                internal_topics_allowed=True,
            )

    def _appended(
        self, marker: WritableTxnMarker, errors: dict[TopicPartition, ErrorCode], results: list[AppendResult]
    ) -> None:
        for result in results:
            errors[result.topic_partition] = result.error
            if result.error is ErrorCode.NONE and result.topic_partition.topic == OFFSETS_TOPIC:
                errors[result.topic_partition] = self._complete_offsets(marker, result)
        self.no_more()

    def _complete_offsets(self, marker: WritableTxnMarker, result: AppendResult) -> ErrorCode:
        """The offsets that were committed in the transaction count from now on, or are dropped."""
        try:
            end = TxnEnd(marker.producer_id, result.base_offset, marker.transaction_result)
            self._node.coordinators.groups.complete_txn(result.topic_partition.partition, end)
        except Exception as error:
            _log.error("%s: the offsets of a transaction were not decided", result.topic_partition, exc_info=error)
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.NONE

    def no_more(self) -> None:
        """One thing fewer that the answer waits for."""
        self._missing -= 1
        if not self._missing:
            for errors in self._errors.values():
                for error in errors.values():
                    if error is not ErrorCode.NONE:
                        self._context.metrics.count_error(error.name)
            self._context.answer(WriteTxnMarkersResponse(markers=[_result(*row) for row in self._errors.items()]))


def _refusal(node: Node, topic_partition: TopicPartition) -> ErrorCode:
    """Why no marker can be appended to the partition; NONE when its log may be tried."""
    partition = node.hosted.partitions.get(topic_partition)
    if partition is None or partition.log is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT if partition.log.config.magic < MAGIC else ErrorCode.NONE


def _batch(marker: WritableTxnMarker, now_ms: int) -> bytes:
    return end_txn_marker(
        ControlType.COMMIT if marker.transaction_result else ControlType.ABORT,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp=now_ms,
    )


def _result(producer_id: int, errors: dict[TopicPartition, ErrorCode]) -> WritableTxnMarkerResult:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for (name, partition), error in errors.items():
        topic = topics.setdefault(name, WritableTxnMarkerTopicResult(name=name, partitions=[]))
        topic.partitions.append(WritableTxnMarkerPartitionResult(partition_index=partition, error_code=int(error)))
    return WritableTxnMarkerResult(producer_id=producer_id, topics=list(topics.values()))

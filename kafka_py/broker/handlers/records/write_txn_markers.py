"""WriteTxnMarkers: the coordinator of a transaction, an Apache broker, has its end written to partitions led here.

Such transactions were begun while another broker led the partition: this one takes no transactional batches. Without
the marker the partition's last stable offset, and the coordinator, would wait for ever.
Source: KIP-98; KafkaApis; docs/reference/groups.md, section 13.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.coordinator.groups.metadata_store import TOPIC as OFFSETS_TOPIC
from kafka_py.coordinator.groups.offsets import TxnEnd
from kafka_py.log.model.answers import Origin
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


def handle(node: Node, context: RequestContext, request: WriteTxnMarkersRequest) -> object:
    """Appends each marker with acks=all; answers when all are replicated."""
    results: list[WritableTxnMarkerResult | None] = [None] * len(request.markers)
    missing = len(results)
    if not missing:
        return WriteTxnMarkersResponse(markers=[])

    def take(place: int, marker: WritableTxnMarker, appended: list[AppendResult]) -> None:
        nonlocal missing
        results[place] = _result(node, marker, appended)
        missing -= 1
        if not missing:
            context.answer(WriteTxnMarkersResponse(markers=[each for each in results if each is not None]))

    for place, marker in enumerate(request.markers):
        node.appends.append(
            _batches(node, marker),
            -1,
            node.config.request_timeout_ms,
            lambda appended, place=place, marker=marker: take(place, marker, appended),  # type: ignore[misc]
            origin=Origin.COORDINATOR,
            internal_topics_allowed=True,
        )
    return ANSWERS_LATER


def _batches(node: Node, marker: WritableTxnMarker) -> list[tuple[TopicPartition, memoryview]]:
    made = []
    for topic in marker.topics:
        for partition in topic.partition_indexes:
            batch = end_txn_marker(
                ControlType.COMMIT if marker.transaction_result else ControlType.ABORT,
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                coordinator_epoch=marker.coordinator_epoch,
                timestamp=node.clock.wall_ms(),
            )
            made.append((TopicPartition(topic.name, partition), memoryview(bytearray(batch))))
    return made


def _result(node: Node, marker: WritableTxnMarker, appended: list[AppendResult]) -> WritableTxnMarkerResult:
    """The answer for one marker; commits of offsets in the transaction hold from now on, or are dropped."""
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for result in appended:
        name, partition = result.topic_partition
        if result.error is ErrorCode.NONE and name == OFFSETS_TOPIC:
            end = TxnEnd(marker.producer_id, result.base_offset, marker.transaction_result)
            node.coordinators.groups.complete_txn(partition, end)
        topic = topics.setdefault(name, WritableTxnMarkerTopicResult(name=name, partitions=[]))
        topic.partitions.append(
            WritableTxnMarkerPartitionResult(partition_index=partition, error_code=int(result.error))
        )
    return WritableTxnMarkerResult(producer_id=marker.producer_id, topics=list(topics.values()))

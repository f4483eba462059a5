"""Markers in WriteTxnMarkers: many transactions in one request, an error for each partition in the response.

Source: KIP-98; WriteTxnMarkersRequest, WriteTxnMarkersResponse.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_py.base.errors import ErrorCode, error_code_of
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.marker_queues import Share
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def request_of(shares: Iterable[Share]) -> WriteTxnMarkersRequest:
    """One request for these markers."""
    return WriteTxnMarkersRequest(markers=[_marker(share) for share in shares])


def _marker(share: Share) -> WritableTxnMarker:
    markers = share.pending.markers
    topics: dict[str, list[int]] = {}
    for topic, partition in share.partitions:
        topics.setdefault(topic, []).append(partition)
    return WritableTxnMarker(
        producer_id=markers.producer_id,
        producer_epoch=markers.producer_epoch,
        transaction_result=markers.is_commit,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()],
        coordinator_epoch=markers.coordinator_epoch,
    )


def errors_of(response: WriteTxnMarkersResponse) -> dict[int, dict[TopicPartition, ErrorCode]]:
    """The error of each partition, by producer id; a code of a later release is UNKNOWN_SERVER_ERROR."""
    errors: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for result in response.markers:
        of_producer = errors.setdefault(result.producer_id, {})
        for topic in result.topics:
            for row in topic.partitions:
                code = error_code_of(row.error_code)
                of_producer[TopicPartition(topic.name, row.partition_index)] = code
    return errors

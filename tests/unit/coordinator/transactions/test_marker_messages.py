"""Markers as WriteTxnMarkers says them."""

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.marker_messages import errors_of, request_of
from kafka_py.coordinator.transactions.marker_queues import PendingMarkers, Share
from kafka_py.coordinator.transactions.markers import TransactionMarkers
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def test_a_request_has_one_marker_for_each_transaction():
    partitions = (TopicPartition("a", 0), TopicPartition("b", 2), TopicPartition("a", 5))
    pending = PendingMarkers(1, TransactionMarkers("tx", 40, 3, 9, False, partitions), lambda _: None)
    assert request_of([Share(pending, list(partitions))]) == WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=40, producer_epoch=3, transaction_result=False, coordinator_epoch=9,
                topics=[
                    WritableTxnMarkerTopic(name="a", partition_indexes=[0, 5]),
                    WritableTxnMarkerTopic(name="b", partition_indexes=[2]),
                ],
            )
        ]
    )  # fmt: skip


def result(producer_id, name, partition, code):
    row = WritableTxnMarkerPartitionResult(partition_index=partition, error_code=code)
    topic = WritableTxnMarkerTopicResult(name=name, partitions=[row])
    return WritableTxnMarkerResult(producer_id=producer_id, topics=[topic])


def test_errors_are_gathered_by_producer_and_unknown_codes_are_unforeseen():
    response = WriteTxnMarkersResponse(markers=[result(4, "a", 0, 6), result(5, "a", 0, 0), result(4, "b", 1, 9999)])
    assert errors_of(response) == {
        4: {
            TopicPartition("a", 0): ErrorCode.NOT_LEADER_OR_FOLLOWER,
            TopicPartition("b", 1): ErrorCode.UNKNOWN_SERVER_ERROR,
        },
        5: {TopicPartition("a", 0): ErrorCode.NONE},
    }

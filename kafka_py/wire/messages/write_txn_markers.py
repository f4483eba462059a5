"""WriteTxnMarkers (27): the transaction coordinator has leaders append commit or abort markers."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, Int64, String, request, response, struct


@struct
class WritableTxnMarkerTopic:
    name: String
    partition_indexes: list[Int32]


@struct
class WritableTxnMarker:
    producer_id: Int64
    producer_epoch: Int16
    transaction_result: Bool  # true: commit, false: abort
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: Int32


@request(api=ApiKey.WRITE_TXN_MARKERS, versions=(0, 1), flexible=1)
class WriteTxnMarkersRequest:
    """Markers for the partitions that the receiver leads (KIP-98)."""

    markers: list[WritableTxnMarker]


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: Int32
    error_code: Int16


@struct
class WritableTxnMarkerTopicResult:
    name: String
    partitions: list[WritableTxnMarkerPartitionResult]


@struct
class WritableTxnMarkerResult:
    producer_id: Int64
    topics: list[WritableTxnMarkerTopicResult]


@response(api=ApiKey.WRITE_TXN_MARKERS, versions=(0, 1), flexible=1)
class WriteTxnMarkersResponse:
    """An error for each marker and partition."""

    markers: list[WritableTxnMarkerResult]

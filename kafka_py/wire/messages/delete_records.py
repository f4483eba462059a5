"""DeleteRecords (21): drop everything before an offset."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, struct

UP_TO_HIGH_WATERMARK = -1
"""The offset that stands for the high watermark."""


@struct
class DeleteRecordsPartition:
    partition_index: Int32
    offset: Int64  # or UP_TO_HIGH_WATERMARK


@struct
class DeleteRecordsTopic:
    name: String
    partitions: list[DeleteRecordsPartition]


@request(api=ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2)
class DeleteRecordsRequest:
    """For each partition the new start of the log (KIP-107)."""

    topics: list[DeleteRecordsTopic]
    timeout_ms: Int32


@struct
class DeleteRecordsPartitionResult:
    partition_index: Int32
    low_watermark: Int64
    error_code: Int16


@struct
class DeleteRecordsTopicResult:
    name: String
    partitions: list[DeleteRecordsPartitionResult]


@response(api=ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2)
class DeleteRecordsResponse:
    """The low watermark that each partition has now: all replicas start there or later."""

    throttle_time_ms: Int32
    topics: list[DeleteRecordsTopicResult]

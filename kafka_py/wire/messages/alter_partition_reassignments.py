"""AlterPartitionReassignments (45): start, change or cancel moves of replicas (KIP-455)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, since, struct


@struct
class ReassignablePartition:
    partition_index: Int32
    replicas: list[Int32] | None = since(0, default=None)


@struct
class ReassignableTopic:
    name: String
    partitions: list[ReassignablePartition]


@request(api=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class AlterPartitionReassignmentsRequest:
    """For each partition its new replicas, or null to cancel the move under way."""

    timeout_ms: Int32 = since(0, default=60000)
    topics: list[ReassignableTopic]


@struct
class ReassignablePartitionResponse:
    partition_index: Int32
    error_code: Int16
    error_message: String | None


@struct
class ReassignableTopicResponse:
    name: String
    partitions: list[ReassignablePartitionResponse]


@response(api=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class AlterPartitionReassignmentsResponse:
    """An error for each partition, and one for the whole request."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    responses: list[ReassignableTopicResponse]

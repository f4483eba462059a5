"""CreatePartitions (37): add partitions to topics (KIP-195)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, String, request, response, since, struct


@struct
class CreatePartitionsAssignment:
    """Brokers for one new partition, preferred leader first."""

    broker_ids: list[Int32]


@struct
class CreatePartitionsTopic:
    name: String
    count: Int32
    assignments: list[CreatePartitionsAssignment] | None


@request(api=ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2)
class CreatePartitionsRequest:
    """New total counts, with or without an assignment for the new partitions. v3 may be throttled (KIP-599)."""

    topics: list[CreatePartitionsTopic]
    timeout_ms: Int32
    validate_only: Bool


@struct
class CreatePartitionsTopicResult:
    name: String
    error_code: Int16
    error_message: String | None = since(0, default=None)


@response(api=ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2)
class CreatePartitionsResponse:
    """An error for each topic."""

    throttle_time_ms: Int32
    results: list[CreatePartitionsTopicResult]

"""ListPartitionReassignments (46): moves of replicas under way (KIP-455)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, since, struct


@struct
class ListPartitionReassignmentsTopics:
    name: String
    partition_indexes: list[Int32]


@request(api=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsRequest:
    """Some partitions, or null for all."""

    timeout_ms: Int32 = since(0, default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = since(0, default=None)


@struct
class OngoingPartitionReassignment:
    partition_index: Int32
    replicas: list[Int32]
    adding_replicas: list[Int32]
    removing_replicas: list[Int32]


@struct
class OngoingTopicReassignment:
    name: String
    partitions: list[OngoingPartitionReassignment]


@response(api=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsResponse:
    """For each partition that moves: all replicas, those coming and those going."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    topics: list[OngoingTopicReassignment]

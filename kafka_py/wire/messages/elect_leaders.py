"""ElectLeaders (43): elect preferred leaders, or unclean ones (KIP-183, KIP-460)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, String, request, response, since, struct


@struct
class TopicPartitions:
    topic: String
    partition_id: list[Int32]


@request(api=ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2)
class ElectLeadersRequest:
    """Partitions, or null for all. v1 kind of election (KIP-460)."""

    election_type: Int8 = since(1)  # 0: preferred, 1: unclean
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: Int32 = since(0, default=60000)


@struct
class PartitionResult:
    partition_id: Int32
    error_code: Int16
    error_message: String | None


@struct
class ReplicaElectionResult:
    topic: String
    partition_result: list[PartitionResult]


@response(api=ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2)
class ElectLeadersResponse:
    """An error for each partition; when all were asked for, those that needed no election are left out."""

    throttle_time_ms: Int32
    error_code: Int16 = since(1)
    replica_election_results: list[ReplicaElectionResult]

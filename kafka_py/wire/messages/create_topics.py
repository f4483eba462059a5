"""CreateTopics (19): make topics, or only check that they could be made."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int8, Int16, Int32, String, Uuid, request, response, since, struct


@struct
class CreatableReplicaAssignment:
    """Brokers for one partition, preferred leader first."""

    partition_index: Int32
    broker_ids: list[Int32]


@struct
class CreateableTopicConfig:
    name: String
    value: String | None


@struct
class CreatableTopic:
    name: String
    num_partitions: Int32  # -1: the broker's default, or as assigned
    replication_factor: Int16  # -1: the broker's default, or as assigned
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreateableTopicConfig]


@request(api=ApiKey.CREATE_TOPICS, versions=(0, 7), flexible=5)
class CreateTopicsRequest:
    """Topics with partition count and replication factor, or an explicit assignment. v1 validate only, v4 broker
    defaults by -1 (KIP-464), v6 may be throttled (KIP-599).
    """

    topics: list[CreatableTopic]
    timeout_ms: Int32 = since(0, default=60000)
    validate_only: Bool = since(1)


@struct
class CreatableTopicConfigs:
    name: String
    value: String | None
    read_only: Bool
    config_source: Int8 = since(5, default=-1)
    is_sensitive: Bool


@struct
class CreatableTopicResult:
    name: String
    topic_id: Uuid = since(7, ignorable=True)
    error_code: Int16
    error_message: String | None = since(1, ignorable=True)
    topic_config_error_code: Int16 = since(5, tag=0, ignorable=True)  # why the settings are not shown
    num_partitions: Int32 = since(5, default=-1, ignorable=True)
    replication_factor: Int16 = since(5, default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = since(5, ignorable=True)


@response(api=ApiKey.CREATE_TOPICS, versions=(0, 7), flexible=5)
class CreateTopicsResponse:
    """An error for each topic. v5 what was made, settings included (KIP-525), v7 topic ids (KIP-516)."""

    throttle_time_ms: Int32 = since(2, ignorable=True)
    topics: list[CreatableTopicResult]

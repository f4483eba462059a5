"""Metadata (3): brokers, controller, topics and their partitions."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, String, Uuid, request, response, since, struct


@struct
class MetadataRequestTopic:
    topic_id: Uuid = since(10, ignorable=True)
    name: String | None = since(0, null_since=10)


@request(api=ApiKey.METADATA, versions=(0, 11), flexible=9)
class MetadataRequest:
    """Asks about some topics or all, and may have them made. v1 null means all topics, v4 auto-creation can be
    declined, v8 authorized operations (KIP-430), v10 topics by id (KIP-516).
    """

    topics: list[MetadataRequestTopic] | None = since(0, null_since=1)  # null: all; v0 means all by an empty list
    allow_auto_topic_creation: Bool = since(4, default=True)
    include_cluster_authorized_operations: Bool = since(8, until=10)
    include_topic_authorized_operations: Bool = since(8)


@struct
class MetadataResponseBroker:
    node_id: Int32
    host: String
    port: Int32
    rack: String | None = since(1, default=None, ignorable=True)


@struct
class MetadataResponsePartition:
    error_code: Int16
    partition_index: Int32
    leader_id: Int32  # -1: none
    leader_epoch: Int32 = since(7, default=-1, ignorable=True)
    replica_nodes: list[Int32]
    isr_nodes: list[Int32]
    offline_replicas: list[Int32] = since(5, ignorable=True)  # on a broker that is down or whose directory failed


@struct
class MetadataResponseTopic:
    error_code: Int16
    name: String
    topic_id: Uuid = since(10, ignorable=True)
    is_internal: Bool = since(1, ignorable=True)
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: Int32 = since(8, default=-0x80000000)  # a bit field; the default: not asked for


@response(api=ApiKey.METADATA, versions=(0, 11), flexible=9)
class MetadataResponse:
    """Live brokers, the controller, and leader and replicas of every partition asked for. v2 cluster id (KIP-78), v5
    offline replicas (KIP-112), v7 leader epochs (KIP-320), v8 authorized operations (KIP-430), v10 topic ids (KIP-516).
    """

    throttle_time_ms: Int32 = since(3, ignorable=True)
    brokers: list[MetadataResponseBroker]
    cluster_id: String | None = since(2, default=None, ignorable=True)
    controller_id: Int32 = since(1, default=-1, ignorable=True)  # -1: none
    topics: list[MetadataResponseTopic]
    # a bit field; the default: not asked for
    cluster_authorized_operations: Int32 = since(8, until=10, default=-0x80000000)

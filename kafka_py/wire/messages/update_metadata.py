"""UpdateMetadata (6): the controller tells every broker what the cluster looks like."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, Uuid, request, response, since, struct


@struct
class UpdateMetadataPartitionState:
    topic_name: String = since(0, until=4, ignorable=True)
    partition_index: Int32
    controller_epoch: Int32
    leader: Int32  # -1: none, -2: the topic is being deleted
    leader_epoch: Int32
    isr: list[Int32]
    zk_version: Int32
    replicas: list[Int32]
    offline_replicas: list[Int32] = since(4, ignorable=True)


@struct
class UpdateMetadataTopicState:
    topic_name: String
    topic_id: Uuid = since(7, ignorable=True)
    partition_states: list[UpdateMetadataPartitionState]


@struct
class UpdateMetadataEndpoint:
    """One listener of a broker."""

    port: Int32
    host: String
    listener: String = since(3, ignorable=True)
    security_protocol: Int16


@struct
class UpdateMetadataBroker:
    id: Int32
    v0_host: String = since(0, until=0, ignorable=True)
    v0_port: Int32 = since(0, until=0, ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = since(1, ignorable=True)
    rack: String | None = since(2, ignorable=True)


@request(api=ApiKey.UPDATE_METADATA, versions=(0, 7), flexible=6)
class UpdateMetadataRequest:
    """Partition states and live brokers, for the receiver's metadata cache. v5 broker epoch (KIP-380) and grouping by
    topic, v7 topic ids (KIP-516).
    """

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64 = since(5, default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = since(0, until=4)
    topic_states: list[UpdateMetadataTopicState] = since(5)
    live_brokers: list[UpdateMetadataBroker]


@response(api=ApiKey.UPDATE_METADATA, versions=(0, 7), flexible=6)
class UpdateMetadataResponse:
    """Taken over, or refused because controller or broker epoch is out of date."""

    error_code: Int16

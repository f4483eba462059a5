"""DescribeCluster (60): cluster id, controller and brokers (KIP-700)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, String, request, response, since, struct


@request(api=ApiKey.DESCRIBE_CLUSTER, versions=(0, 0), flexible=0)
class DescribeClusterRequest:
    """What Metadata tells of brokers, without topics."""

    include_cluster_authorized_operations: Bool


@struct
class DescribeClusterBroker:
    broker_id: Int32
    host: String
    port: Int32
    rack: String | None = since(0, default=None)


@response(api=ApiKey.DESCRIBE_CLUSTER, versions=(0, 0), flexible=0)
class DescribeClusterResponse:
    """Cluster id, controller and live brokers."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = since(0, default=None)
    cluster_id: String
    controller_id: Int32 = since(0, default=-1)
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: Int32 = since(0, default=-0x80000000)

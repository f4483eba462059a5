"""ControlledShutdown (7): a broker asks the controller to move its leaderships away."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@request(api=ApiKey.CONTROLLED_SHUTDOWN, versions=(0, 3), flexible=3)
class ControlledShutdownRequest:
    """Broker `broker_id` wants to stop. v0 has no client id in its header; v2 broker epoch (KIP-380)."""

    broker_id: Int32
    broker_epoch: Int64 = since(2, default=-1, ignorable=True)


@struct
class RemainingPartition:
    topic_name: String
    partition_index: Int32


@response(api=ApiKey.CONTROLLED_SHUTDOWN, versions=(0, 3), flexible=3)
class ControlledShutdownResponse:
    """The partitions that the broker still leads, because no other replica can."""

    error_code: Int16
    remaining_partitions: list[RemainingPartition]

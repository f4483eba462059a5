"""OffsetDelete (47): forget a group's offsets for some partitions (KIP-496)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: Int32


@struct
class OffsetDeleteRequestTopic:
    name: String
    partitions: list[OffsetDeleteRequestPartition]


@request(api=ApiKey.OFFSET_DELETE, versions=(0, 0), flexible=None)
class OffsetDeleteRequest:
    """Only topics that no member of the group subscribes to can be deleted."""

    group_id: String
    topics: list[OffsetDeleteRequestTopic]


@struct
class OffsetDeleteResponsePartition:
    partition_index: Int32
    error_code: Int16


@struct
class OffsetDeleteResponseTopic:
    name: String
    partitions: list[OffsetDeleteResponsePartition]


@response(api=ApiKey.OFFSET_DELETE, versions=(0, 0), flexible=None)
class OffsetDeleteResponse:
    """An error for each partition, and one for the whole request."""

    error_code: Int16
    throttle_time_ms: Int32
    topics: list[OffsetDeleteResponseTopic]

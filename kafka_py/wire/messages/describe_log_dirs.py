"""DescribeLogDirs (35): size of replicas per log directory (KIP-113).

Versions 3 and 4 are for clients, of brokers after 2.8.2: an error code for the whole (KIP-784), bytes of the disks
(KIP-827).
"""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, Int64, String, request, response, since, struct


@struct
class DescribableLogDirTopic:
    topic: String
    partition_index: list[Int32]


@request(api=ApiKey.DESCRIBE_LOG_DIRS, versions=(0, 4), flexible=2)
class DescribeLogDirsRequest:
    """Some replicas, or null for all."""

    topics: list[DescribableLogDirTopic] | None


@struct
class DescribeLogDirsPartition:
    partition_index: Int32
    partition_size: Int64
    offset_lag: Int64  # behind the high watermark; a future log: behind the present one
    is_future_key: Bool  # being moved to this directory


@struct
class DescribeLogDirsTopic:
    name: String
    partitions: list[DescribeLogDirsPartition]


@struct
class DescribeLogDirsResult:
    error_code: Int16
    log_dir: String
    topics: list[DescribeLogDirsTopic]
    total_bytes: Int64 = since(4, default=-1, ignorable=True)  # of the disk; -1: not known
    usable_bytes: Int64 = since(4, default=-1, ignorable=True)  # what is free for the broker; -1: not known


@response(api=ApiKey.DESCRIBE_LOG_DIRS, versions=(0, 4), flexible=2)
class DescribeLogDirsResponse:
    """For each log directory its state and replicas."""

    throttle_time_ms: Int32
    error_code: Int16 = since(3, default=0, ignorable=True)
    results: list[DescribeLogDirsResult]

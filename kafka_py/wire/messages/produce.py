"""Produce (0): append record batches to partitions."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, Records, String, request, response, since, struct


@struct
class PartitionProduceData:
    index: Int32
    records: Records | None


@struct
class TopicProduceData:
    name: String
    partition_data: list[PartitionProduceData]


@request(api=ApiKey.PRODUCE, versions=(0, 9), flexible=9)
class ProduceRequest:
    """Batches to append, per partition, and how many replicas must have them before the answer. v3 message format 2 and
    transactions (KIP-98), v7 zstd (KIP-110), v9 flexible.
    """

    transactional_id: String | None = since(3, default=None)
    acks: Int16  # 0: no answer, 1: the leader has it, -1: every in-sync replica has it
    timeout_ms: Int32
    topic_data: list[TopicProduceData]


@struct
class BatchIndexAndErrorMessage:
    """One record that made the batch be refused."""

    batch_index: Int32
    batch_index_error_message: String | None = since(8, default=None)


@struct
class PartitionProduceResponse:
    index: Int32
    error_code: Int16
    base_offset: Int64  # of the first record; -1 on errors
    log_append_time_ms: Int64 = since(2, default=-1, ignorable=True)  # -1 unless the topic uses append time
    log_start_offset: Int64 = since(5, default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = since(8, ignorable=True)
    error_message: String | None = since(8, default=None, ignorable=True)


@struct
class TopicProduceResponse:
    name: String
    partition_responses: list[PartitionProduceResponse]


@response(api=ApiKey.PRODUCE, versions=(0, 9), flexible=9)
class ProduceResponse:
    """Where each batch is stored, or why it was refused; none is sent for acks=0. v2 append time (KIP-32), v5 log start
    offset, v8 which records were bad (KIP-467).
    """

    responses: list[TopicProduceResponse]
    throttle_time_ms: Int32 = since(1, ignorable=True)

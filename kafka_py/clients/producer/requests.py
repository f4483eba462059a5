"""Builds Produce requests from batches, and reads the result of each batch from the response.

Pure: values in, values out; sender.py sends and decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.errors import error_code
from kafka_py.clients.producer.batches import ProducerBatch
from kafka_py.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)


def produce_request(
    batches: Iterable[ProducerBatch], acks: int, timeout_ms: int, transactional_id: str | None = None
) -> ProduceRequest:
    """One request for encoded batches, one per partition. timeout_ms: how long the leader may wait for replicas."""
    topics: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        data = PartitionProduceData(index=batch.lane.partition, records=batch.data)
        topics.setdefault(batch.lane.topic, []).append(data)
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=name, partition_data=data) for name, data in topics.items()],
    )


def answers_by_partition(response: ProduceResponse) -> dict[tuple[str, int], PartitionProduceResponse]:
    """The partition responses by (topic, partition number)."""
    return {
        (topic.name, partition.index): partition
        for topic in response.responses
        for partition in topic.partition_responses
    }


def error_of(batch: ProducerBatch, answer: PartitionProduceResponse | None) -> KafkaError:
    """The error in a partition response, with the rejected records. None: the response lacks the batch."""
    if answer is None:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the broker's response does not contain {batch.lane}")
    code = error_code(answer.error_code)
    detail = f"{batch.lane}: {answer.error_message or code.meaning}"
    for record in answer.record_errors:
        detail += f"; record {record.batch_index}: {record.batch_index_error_message or 'refused'}"
    return KafkaError(code, detail)


def timed_out(batch: ProducerBatch, now_ms: float, because: str = "") -> KafkaError:
    """The error of a batch whose delivery.timeout.ms has expired. because: appended to the message."""
    return KafkaError(
        ErrorCode.REQUEST_TIMED_OUT,
        f"{len(batch.details)} record(s) for {batch.lane} were not delivered within delivery.timeout.ms: their batch "
        f"was opened {now_ms - batch.created_ms:.0f} ms ago{because}",
    )

"""Batches as produce requests, and answers as errors of batches."""

from kafka_py.base.errors import ErrorCode
from kafka_py.clients.producer.batches import ProducerBatch
from kafka_py.clients.producer.lanes import Lane
from kafka_py.clients.producer.requests import answers_by_partition, error_of, produce_request, timed_out
from kafka_py.records.builder import BatchBuilder
from kafka_py.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)


def batch(topic: str, partition: int, data: bytes = b"") -> ProducerBatch:
    made = ProducerBatch(Lane(topic, partition), BatchBuilder(), 1000, 0, 100.0)
    made.data = data
    made.details = [(0, -1, 1), (0, -1, 1)]
    return made


def test_batches_of_a_topic_are_together_in_the_order_of_their_batches() -> None:
    request = produce_request([batch("b", 1, b"x"), batch("a", 0, b"y"), batch("b", 0, b"z")], -1, 500)
    assert (request.acks, request.timeout_ms) == (-1, 500)
    rows = [(topic.name, [(each.index, each.records) for each in topic.partition_data]) for topic in request.topic_data]
    assert rows == [("b", [(1, b"x"), (0, b"z")]), ("a", [(0, b"y")])]


def test_answers_are_found_by_topic_and_partition() -> None:
    answer = PartitionProduceResponse(index=3, error_code=0, base_offset=7)
    response = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[answer])])
    assert answers_by_partition(response) == {("t", 3): answer}


def test_an_error_names_the_records_at_fault() -> None:
    refused = BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key")
    answer = PartitionProduceResponse(
        index=0, error_code=ErrorCode.INVALID_RECORD, base_offset=-1, record_errors=[refused], error_message="refused"
    )
    error = error_of(batch("t", 0), answer)
    assert (error.code, error.detail) == (ErrorCode.INVALID_RECORD, "t-0: refused; record 1: no key")


def test_a_batch_that_the_answer_leaves_out_failed() -> None:
    assert error_of(batch("t", 0), None).code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_end_of_its_time_says_how_long_a_batch_waited() -> None:
    error = timed_out(batch("t", 2), 400.0, ", the broker is silent")
    assert error.code is ErrorCode.REQUEST_TIMED_OUT
    assert error.detail.startswith("2 record(s) for t-2 were not delivered")
    assert error.detail.endswith("300 ms ago, the broker is silent")

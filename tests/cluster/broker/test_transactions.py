"""Transactions, which this broker does not coordinate: refused for good."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests.transactions import NOT_OFFERED
from kafka_py.records.java_hash import partition_for_id
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

REFUSED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
TRANSACTIONAL = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}


@pytest.mark.parametrize("transactional_id", [None, "id"])
@pytest.mark.parametrize("version", [3, 8, 9])
def test_a_transactional_batch_refuses_the_whole_request(transactional_id: str | None, version: int) -> None:
    @on_broker()
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t", 2)
        rows = [
            PartitionProduceData(index=0, records=batch(b"a")),
            PartitionProduceData(index=1, records=batch(b"b", **TRANSACTIONAL)),
        ]
        request = ProduceRequest(
            transactional_id=transactional_id, acks=-1, timeout_ms=1000,
            topic_data=[TopicProduceData(name="t", partition_data=rows)],
        )  # fmt: skip
        answers = (await broker.ask(request, version)).responses[0].partition_responses
        assert [answer.error_code for answer in answers] == [REFUSED, REFUSED]
        rows.reverse()
        answers = (await broker.ask(request, version)).responses[0].partition_responses
        assert [answer.error_code for answer in answers] == [REFUSED, REFUSED]
        if version >= 8:
            assert answers[0].error_message == NOT_OFFERED
        for partition in broker.server.node.hosted.partitions.values():
            assert partition.log is not None
            assert (partition.log.log_end_offset, partition.log.last_stable_offset) == (0, 0)

    run()


@on_broker()
async def test_a_transactional_id_without_transactional_batches_needs_no_right_of_its_own(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(b"a"))])
    answer = await broker.ask(ProduceRequest(transactional_id="id", acks=1, timeout_ms=1000, topic_data=[data]), 8)
    assert answer.responses[0].partition_responses[0].error_code == 0


@on_broker()
async def test_requests_of_transactional_producers_are_refused_for_good(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    answer = await broker.ask(InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=1000), 4)
    assert answer.error_code == REFUSED
    topics = [AddPartitionsToTxnTopic(name="t", partitions=[0])]
    added = await broker.ask(
        AddPartitionsToTxnRequest(transactional_id="id", producer_id=7, producer_epoch=0, topics=topics), 3
    )
    assert added.results[0].results[0].error_code == REFUSED
    for request in (
        AddOffsetsToTxnRequest(transactional_id="id", producer_id=7, producer_epoch=0, group_id="g"),
        EndTxnRequest(transactional_id="id", producer_id=7, producer_epoch=0, committed=True),
    ):
        assert (await broker.ask(request, 3)).error_code == REFUSED


@on_broker()
async def test_an_id_that_this_broker_would_coordinate_is_refused_too(broker: LocalBroker) -> None:
    await broker.create_topic("__transaction_state", 3)
    answer = await broker.ask(FindCoordinatorRequest(key="id", key_type=1), 3)
    assert (answer.error_code, answer.error_message) == (REFUSED, NOT_OFFERED)


@on_broker()
async def test_an_id_of_another_coordinator_is_sent_there(broker: LocalBroker) -> None:
    await broker.create_topic("__transaction_state", 3)
    node = broker.server.node
    partition = TopicPartition("__transaction_state", partition_for_id("id", 3))
    info = node.metadata.partition(partition)
    assert info is not None
    node.metadata.partitions_of("__transaction_state")[partition.partition] = info._replace(leader=77)  # type: ignore[index]
    answer = await broker.ask(FindCoordinatorRequest(key="id", key_type=1), 3)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE  # a leader that is not alive
    init = await broker.ask(InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=1000), 4)
    assert init.error_code == ErrorCode.NOT_COORDINATOR

"""Transactional batches: who may write them, and what they open in a partition."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.security.acls.authorization import AllowAll, Asker
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

REFUSED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def of_producer(sequence: int = 0, *, epoch: int = 0, transactional: bool = True, **fields: Any) -> bytes:
    return batch(
        b"a", producer_id=7, producer_epoch=epoch, base_sequence=sequence, transactional=transactional, **fields
    )


async def produce(
    broker: LocalBroker, *batches: bytes, transactional_id: str | None = "tx", version: int = 8
) -> list[tuple[int, int]]:
    """(error, base offset) of each partition, one batch for each partition of topic t from 0 on."""
    rows = [PartitionProduceData(index=number, records=records) for number, records in enumerate(batches)]
    request = ProduceRequest(
        transactional_id=transactional_id, acks=-1, timeout_ms=1000,
        topic_data=[TopicProduceData(name="t", partition_data=rows)],
    )  # fmt: skip
    response = await broker.ask(request, version)
    return [(row.error_code, row.base_offset) for row in response.responses[0].partition_responses]


def log_of(broker: LocalBroker, number: int = 0) -> Any:
    return broker.server.node.hosted.partitions[TopicPartition("t", number)].log


class Denying(AllowAll):
    """Denies writing under one transactional id, and counts how often that is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, *_: object
    ) -> bool:
        if resource_type is not ResourceType.TRANSACTIONAL_ID:
            return True
        self.asked += 1
        return operation is not Operation.WRITE or name != "other's"


class NoTopics(AllowAll):
    """Denies all topics."""

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, *_: object
    ) -> bool:
        return resource_type is not ResourceType.TOPIC


@pytest.mark.parametrize("version", [3, 8, 9])
def test_a_transactional_batch_opens_a_transaction_where_it_begins(version: int) -> None:
    @on_broker()
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        assert (await broker.produce("t", batch(b"plain"))).error_code == 0
        assert await produce(broker, of_producer(), version=version) == [(0, 1)]
        assert await produce(broker, of_producer(1), version=version) == [(0, 2)]
        log = log_of(broker)
        assert (log.high_watermark, log.last_stable_offset) == (3, 1)
        assert log.producers.producers[7].txn_first_offset == 1

    run()


@on_broker()
async def test_without_a_transactional_id_the_whole_request_is_refused(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    assert await produce(broker, batch(b"a"), of_producer(), transactional_id=None) == [(REFUSED, -1)] * 2
    assert [log_of(broker, number).log_end_offset for number in (0, 1)] == [0, 0]
    assert await produce(broker, batch(b"a"), batch(b"b"), transactional_id=None) == [(0, 0)] * 2


@on_broker()
async def test_who_may_not_write_under_the_id_is_refused_as_a_whole(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    broker.server.node.authorizer = denying = Denying()
    assert await produce(broker, of_producer(), batch(b"a"), transactional_id="other's") == [(REFUSED, -1)] * 2
    assert denying.asked == 1
    assert await produce(broker, batch(b"a"), batch(b"b"), transactional_id="other's") == [(0, 0)] * 2
    assert denying.asked == 1
    assert await produce(broker, of_producer(), transactional_id="mine") == [(0, 1)]


@on_broker()
async def test_the_id_is_checked_before_topics_that_are_denied_or_unknown(broker: LocalBroker) -> None:
    """As Apache Kafka has it: so a producer that has lost both rights is not told to retry, or to abort only."""
    await broker.create_topic("t", 1)
    assert await produce(broker, batch(b"a"), of_producer(), transactional_id=None) == [(REFUSED, -1)] * 2
    assert log_of(broker).log_end_offset == 0
    broker.server.node.authorizer = NoTopics()
    assert await produce(broker, of_producer(), transactional_id=None) == [(REFUSED, -1)]


@pytest.mark.parametrize("count", [1, 300])
def test_with_acks_0_a_refused_id_ends_the_connection(count: int) -> None:
    @on_broker()
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t", count)
        rows = [PartitionProduceData(index=number, records=of_producer()) for number in range(count)]
        data = TopicProduceData(name="t", partition_data=rows)
        broker.client.send_and_forget(ProduceRequest(transactional_id=None, acks=0, timeout_ms=9, topic_data=[data]), 8)
        await broker.until(lambda: broker.client.closed)
        assert log_of(broker).log_end_offset == 0

    run()


@on_broker()
async def test_a_batch_outside_of_the_open_transaction_is_refused(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert await produce(broker, of_producer()) == [(0, 0)]
    assert await produce(broker, of_producer(1, transactional=False)) == [(ErrorCode.INVALID_TXN_STATE, -1)]
    assert await produce(broker, of_producer(1)) == [(0, 1)]


@on_broker()
async def test_repeated_batches_of_a_transaction_are_recognised(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert [await produce(broker, of_producer(sequence)) for sequence in (0, 1, 0)] == [[(0, 0)], [(0, 1)], [(0, 0)]]
    assert await produce(broker, of_producer(3)) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]
    assert log_of(broker).log_end_offset == 2


@on_broker()
async def test_an_epoch_that_is_past_is_fenced_and_a_new_one_begins_with_sequence_0(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert await produce(broker, of_producer(epoch=3)) == [(0, 0)]
    assert await produce(broker, of_producer(1, epoch=2)) == [(ErrorCode.INVALID_PRODUCER_EPOCH, -1)]
    assert await produce(broker, of_producer(1, epoch=4)) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]
    assert await produce(broker, of_producer(0, epoch=4)) == [(0, 1)]


@on_broker()
async def test_clients_write_no_markers(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert await produce(broker, of_producer(control=True)) == [(ErrorCode.INVALID_RECORD, -1)]


@on_broker()
async def test_a_large_transactional_request_is_refused_or_written_as_a_whole(broker: LocalBroker) -> None:
    count = 300
    await broker.create_topic("t", count)
    batches = [batch(b"a")] * (count - 1) + [of_producer()]
    assert await produce(broker, *batches, transactional_id=None) == [(REFUSED, -1)] * count
    assert await produce(broker, *batches) == [(0, 0)] * count

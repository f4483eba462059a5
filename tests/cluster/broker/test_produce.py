"""Produce against a whole broker: every acks setting and every error (docs/reference/replication.md, section 1)."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.records.batch import read_header
from kafka_py.replication.state.isr import CommittedIsr
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


def request_of(records: bytes, *, acks: int = 1, topic: str = "t") -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


@on_broker()
async def test_offsets_follow_each_other_whatever_the_acks(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for acks, offset in ((1, 0), (-1, 2)):
        answer = await broker.produce("t", batch(b"a", b"b"), acks=acks)
        assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (0, offset, -1)
        assert answer.log_start_offset == 0


@on_broker()
async def test_every_version_that_can_carry_format_2_is_served(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for version in range(3, 10):
        answer = await broker.produce("t", batch(), version=version)
        assert (answer.error_code, answer.base_offset) == (0, version - 3)


@on_broker()
async def test_acks_0_is_not_answered_and_its_records_are_there(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    broker.client.send_and_forget(request_of(batch(b"silent"), acks=0), 8)
    answer = await broker.produce("t", batch(b"loud"))
    assert answer.base_offset == 1


@on_broker()
async def test_acks_0_to_an_unknown_partition_ends_the_connection(broker: LocalBroker) -> None:
    other = await broker.connect()
    other.send_and_forget(request_of(batch(), acks=0, topic="none"), 8)
    await broker.until(lambda: other.closed)


@on_broker()
async def test_responses_come_in_request_order_though_later_requests_are_done_sooner(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    partition = next(iter(broker.server.node.hosted.partitions.values()))
    partition.replicas, partition.isr = (0, 9), CommittedIsr(frozenset({0, 9}))
    partition._reset_followers(0, 0, forget_offsets=True)
    waits = broker.client.send_nowait(request_of(batch(b"first"), acks=-1), 8)
    at_once = broker.client.send_nowait(request_of(batch(b"second"), acks=1), 8)
    await broker.until(lambda: partition.log is not None and partition.log.log_end_offset == 2)
    assert not waits.done() and not at_once.done()
    first, second = await asyncio.gather(waits, at_once)
    rows = [answer.responses[0].partition_responses[0] for answer in (first, second)]
    assert [row.error_code for row in rows] == [ErrorCode.REQUEST_TIMED_OUT, 0]
    assert rows[1].base_offset == 1


@on_broker()
async def test_errors_of_a_partition_do_not_touch_the_others_and_keep_the_requests_order(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    topics = [
        TopicProduceData(name="none", partition_data=[PartitionProduceData(index=0, records=batch())]),
        TopicProduceData(
            name="t",
            partition_data=[
                PartitionProduceData(index=7, records=batch()),
                PartitionProduceData(index=1, records=batch()),
                PartitionProduceData(index=0, records=batch() * 2),
            ],
        ),
    ]
    response = await broker.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 8)
    got = [(topic.name, row.index, row.error_code) for topic in response.responses for row in topic.partition_responses]
    assert got == [
        ("none", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 1, ErrorCode.NONE),
        ("t", 0, ErrorCode.INVALID_RECORD),
    ]


@on_broker()
async def test_a_partition_that_is_named_twice_takes_no_answer_of_another(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    rows = [
        PartitionProduceData(index=0, records=batch() * 2),
        PartitionProduceData(index=0, records=batch()),
        PartitionProduceData(index=1, records=batch()),
    ]
    topics = [TopicProduceData(name="t", partition_data=rows)]
    [topic] = (await broker.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 8)).responses
    got = [(row.index, row.error_code) for row in topic.partition_responses]
    assert got == [(0, ErrorCode.INVALID_RECORD), (0, ErrorCode.NONE), (1, ErrorCode.NONE)]


@on_broker()
async def test_wrong_acks_are_refused(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    answer = await broker.produce("t", batch(), acks=2)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)


@on_broker(message_max_bytes=200)
async def test_a_batch_above_message_max_bytes_is_too_large_as_compressed(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    answer = await broker.produce("t", batch(b"x" * 500))
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    from kafka_py.records.compression import Codec

    assert (await broker.produce("t", batch(b"x" * 500, codec=Codec.GZIP))).error_code == 0


@on_broker()
async def test_a_flipped_bit_is_a_corrupt_message_and_the_connection_lives(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    broken = bytearray(batch())
    broken[-1] ^= 1
    answer = await broker.produce("t", bytes(broken))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert (await broker.produce("t", batch())).base_offset == 0


@on_broker()
async def test_a_compacted_topic_names_the_records_without_key(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"cleanup.policy": "compact"})
    answer = await broker.produce("t", batch(b"keyless"))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [0]
    assert (await broker.produce("t", batch(b"v", key=b"k"))).error_code == 0


@on_broker()
async def test_append_time_topics_tell_the_brokers_time(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"message.timestamp.type": "LogAppendTime"})
    answer = await broker.produce("t", batch(timestamp=5))
    assert answer.log_append_time_ms > 1_500_000_000_000
    stored = await broker.fetch("t", 0)
    assert read_header(stored.record_set).max_timestamp == answer.log_append_time_ms


@on_broker()
async def test_too_few_in_sync_replicas_refuse_acks_all_before_the_append(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"min.insync.replicas": "2"})
    answer = await broker.produce("t", batch(), acks=-1)
    assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert (await broker.produce("t", batch(), acks=1)).base_offset == 0


@on_broker()
async def test_internal_topics_are_refused_to_all_but_the_admin_client(broker: LocalBroker) -> None:
    await broker.create_topic("__consumer_offsets")
    record = batch(b"v", key=b"k")
    assert (await broker.produce("__consumer_offsets", record)).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    admin = await broker.connect("__admin_client")
    response = await admin.send(request_of(record, topic="__consumer_offsets"), 8)
    assert response.responses[0].partition_responses[0].error_code == 0
    admin.close()


def idempotent(producer_id: int, sequence: int, *values: bytes) -> bytes:
    return batch(*values, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


@on_broker()
async def test_a_repeated_idempotent_batch_is_answered_with_its_first_offsets(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    got = await broker.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 2)
    assert (got.error_code, got.producer_epoch) == (0, 0)
    first = await broker.produce("t", idempotent(got.producer_id, 0, b"a", b"b"))
    again = await broker.produce("t", idempotent(got.producer_id, 0, b"a", b"b"))
    assert (first.base_offset, again.base_offset, again.error_code) == (0, 0, 0)
    gap = await broker.produce("t", idempotent(got.producer_id, 5, b"c"))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (await broker.produce("t", idempotent(got.producer_id, 2, b"c"))).base_offset == 2


@on_broker()
async def test_producer_ids_are_never_handed_out_twice(broker: LocalBroker) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    ids = [(await broker.ask(request, 4)).producer_id for _ in range(3)]
    assert ids == [0, 1, 2]
    await broker.stop()
    await broker.start()
    assert (await broker.ask(request, 4)).producer_id == 1000


@on_broker()
async def test_connection_lost_is_what_a_client_sees_of_garbage(broker: LocalBroker) -> None:
    other = await broker.connect()
    future = other.send_nowait(request_of(batch()), 8)
    other.put_frame(b"\x00\x00\x00\x0a" + b"\xff" * 10)
    with pytest.raises(ConnectionLost):
        await other.send(request_of(batch()), 8)
    assert future.done()
    await broker.create_topic("still-served")

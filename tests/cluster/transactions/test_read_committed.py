"""Readers with read_committed: up to the last stable offset, with the aborted transactions in it (KIP-98)."""

import asyncio
import time
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.records.batch import iter_headers, iter_records
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_py.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

UNCOMMITTED, COMMITTED = 0, 1
LATEST, EARLIEST = -1, -2


class Producer:
    """A transactional producer of partitions of topic t."""

    def __init__(self, broker: LocalBroker, producer_id: int = 7) -> None:
        self.broker = broker
        self.producer_id = producer_id
        self.sequences: dict[int, int] = {}

    async def write(self, *values: bytes, partition: int = 0) -> None:
        """One batch for each value."""
        for value in values:
            sequence = self.sequences.get(partition, 0)
            self.sequences[partition] = sequence + 1
            records = batch(
                value, timestamp=int(time.time() * 1000), producer_id=self.producer_id, producer_epoch=0,
                base_sequence=sequence, transactional=True,
            )  # fmt: skip
            data = TopicProduceData(
                name="t", partition_data=[PartitionProduceData(index=partition, records=records)]
            )
            request = ProduceRequest(transactional_id="tx", acks=-1, timeout_ms=1000, topic_data=[data])
            answer = await self.broker.ask(request, 8)
            assert answer.responses[0].partition_responses[0].error_code == 0

    async def end(self, *partitions: int, commit: bool) -> None:
        topics = [WritableTxnMarkerTopic(name="t", partition_indexes=list(partitions or (0,)))]
        marker = WritableTxnMarker(
            producer_id=self.producer_id, producer_epoch=0, transaction_result=commit, topics=topics,
            coordinator_epoch=0,
        )  # fmt: skip
        await self.broker.ask(WriteTxnMarkersRequest(markers=[marker]), 1)


def visible(row: Any, *, committed: bool) -> list[bytes]:
    """The values that a consumer hands out of what it got, as KIP-98 has it leave out aborted batches."""
    aborted = sorted((one.first_offset, one.producer_id) for one in row.aborted_transactions or ())
    leaving: set[int] = set()
    values: list[bytes] = []
    for position, header in iter_headers(row.record_set or b""):
        while committed and aborted and aborted[0][0] <= header.last_offset:
            leaving.add(aborted.pop(0)[1])
        records = list(iter_records(row.record_set, position))
        if header.is_control:
            if (records[0].key or b"")[2:4] == b"\0\0":
                leaving.discard(header.producer_id)
        elif not (committed and header.is_transactional and header.producer_id in leaving):
            values += [record.value or b"" for record in records]
    return values


async def seen(broker: LocalBroker, isolation: int, offset: int = 0) -> list[bytes]:
    row = await broker.fetch("t", offset, isolation_level=isolation)
    assert row.error_code == 0
    return visible(row, committed=isolation == COMMITTED)


async def listed(broker: LocalBroker, timestamp: int, isolation: int) -> int:
    topics = [ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])]
    answer = await broker.ask(ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics), 5)
    return int(answer.topics[0].partitions[0].offset)


MESSAGES = [b"msg1", b"msg2", b"msg3"]


@pytest.mark.parametrize(("commit", "after"), [(True, MESSAGES), (False, [])])
def test_s3_120_w7_24_messages_of_an_open_transaction_are_not_seen_and_then_all_or_none(
    commit: bool, after: list[bytes]
) -> None:
    @on_broker()
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        producer = Producer(broker)
        await producer.write(*MESSAGES)
        assert await seen(broker, COMMITTED) == []
        assert await seen(broker, UNCOMMITTED) == MESSAGES
        await producer.end(commit=commit)
        assert await seen(broker, COMMITTED) == after
        assert await seen(broker, UNCOMMITTED) == MESSAGES

    run()


@on_broker()
async def test_what_follows_an_open_transaction_waits_for_its_end(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    first, second = Producer(broker, 7), Producer(broker, 8)
    await broker.produce("t", batch(b"before", timestamp=int(time.time() * 1000)))
    await first.write(b"a")
    await second.write(b"b")
    await second.end(commit=True)
    await broker.produce("t", batch(b"plain", timestamp=int(time.time() * 1000)))
    row = await broker.fetch("t", 0, isolation_level=COMMITTED)
    assert (row.high_watermark, row.last_stable_offset, row.aborted_transactions) == (5, 1, [])
    assert visible(row, committed=True) == [b"before"]
    await first.end(commit=False)
    row = await broker.fetch("t", 0, isolation_level=COMMITTED)
    assert (row.high_watermark, row.last_stable_offset) == (6, 6)
    assert [(one.producer_id, one.first_offset) for one in row.aborted_transactions] == [(7, 1)]
    assert visible(row, committed=True) == [b"before", b"b", b"plain"]
    row = await broker.fetch("t", 0, isolation_level=UNCOMMITTED)
    assert (row.last_stable_offset, row.aborted_transactions) == (6, None)


@on_broker()
async def test_the_latest_offset_is_the_last_stable_one_for_those_who_read_committed(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    producer = Producer(broker)
    await broker.produce("t", batch(b"before", timestamp=5))
    await producer.write(b"a", b"b")
    assert [await listed(broker, LATEST, isolation) for isolation in (UNCOMMITTED, COMMITTED)] == [3, 1]
    assert [await listed(broker, EARLIEST, isolation) for isolation in (UNCOMMITTED, COMMITTED)] == [0, 0]
    assert [await listed(broker, 6, isolation) for isolation in (UNCOMMITTED, COMMITTED)] == [1, -1]
    epoch = OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)
    asked = OffsetForLeaderEpochRequest(replica_id=-1, topics=[OffsetForLeaderTopic(topic="t", partitions=[epoch])])
    answer = await broker.ask(asked, 3)
    assert answer.topics[0].partitions[0].end_offset == 3
    await producer.end(commit=True)
    assert [await listed(broker, LATEST, isolation) for isolation in (UNCOMMITTED, COMMITTED)] == [4, 4]
    assert [await listed(broker, 6, isolation) for isolation in (UNCOMMITTED, COMMITTED)] == [1, 1]


@pytest.mark.parametrize("commit", [True, False])
def test_a_long_poll_ends_when_the_last_stable_offset_moves(commit: bool) -> None:
    @on_broker()
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        producer, reader = Producer(broker), await broker.connect()
        await producer.write(b"a")
        request = broker.fetch_request(
            {TopicPartition("t", 0): 0}, isolation_level=COMMITTED, max_wait_ms=20_000, min_bytes=1
        )
        polled = asyncio.ensure_future(reader.send(request, 11))
        await broker.until(lambda: broker.server.node.replicas.parked.fetch.watched)
        await producer.write(b"b")
        await asyncio.sleep(0)
        assert not polled.done()
        await producer.end(commit=commit)
        async with asyncio.timeout(10):
            row = (await polled).responses[0].partition_responses[0]
        assert visible(row, committed=True) == ([b"a", b"b"] if commit else [])
        assert row.last_stable_offset == 3
        reader.close()

    run()


@on_broker()
async def test_a_corrupt_transaction_index_costs_its_partition_and_is_rebuilt_with_a_restart(
    broker: LocalBroker,
) -> None:
    await broker.create_topic("t", 2)
    producer = Producer(broker)
    for partition in (0, 1):
        await producer.write(b"a", partition=partition)
    await producer.end(0, 1, commit=False)
    log = broker.server.node.hosted.partitions[TopicPartition("t", 0)].log
    assert log is not None
    [index] = [segment.txn_index for segment in log.segments if segment.txn_index.entries]
    index.close()
    index.opened(34)
    broker.files.open(index.path).write(b"\0\1", 0)
    request = broker.fetch_request(
        {TopicPartition("t", number): 0 for number in (0, 1)}, isolation_level=COMMITTED
    )
    bad, good = (await broker.ask(request, 11)).responses[0].partition_responses
    assert (bad.error_code, good.error_code) == (ErrorCode.UNKNOWN_SERVER_ERROR, 0)
    assert [(one.producer_id, one.first_offset) for one in good.aborted_transactions] == [(7, 0)]
    assert await seen(broker, UNCOMMITTED) == [b"a"]
    await broker.stop()
    await broker.start()
    await broker.until(lambda: broker.server.node.hosted.partitions.get(TopicPartition("t", 0)))
    assert await seen(broker, COMMITTED) == []

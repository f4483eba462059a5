"""ListOffsets and OffsetForLeaderEpoch against a whole broker (docs/reference/replication.md, sections 6 and 12)."""

from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.records.compression import Codec
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_py.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

LATEST, EARLIEST = -1, -2


async def list_offset(
    broker: LocalBroker, timestamp: int, *, partition: int = 0, version: int = 6, replica_id: int = -1, **fields: Any
) -> Any:
    asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, **fields)
    request = ListOffsetsRequest(replica_id=replica_id, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    return (await broker.ask(request, version)).topics[0].partitions[0]


@on_broker()
async def test_earliest_and_latest_carry_the_epoch_from_v4_on(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for version in range(1, 7):
        await broker.produce("t", batch(b"a"))
        latest = await list_offset(broker, LATEST, version=version)
        earliest = await list_offset(broker, EARLIEST, version=version)
        assert (latest.error_code, latest.offset, latest.timestamp) == (0, version, -1)
        assert (earliest.error_code, earliest.offset, earliest.timestamp) == (0, 0, -1)
        expected = 0 if version >= 4 else -1
        assert (latest.leader_epoch, earliest.leader_epoch) == (expected, expected)


@on_broker()
async def test_an_empty_log_has_both_at_zero_and_nothing_at_any_time(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert (await list_offset(broker, LATEST)).offset == 0
    assert (await list_offset(broker, EARLIEST)).offset == 0
    none = await list_offset(broker, 5)
    assert (none.error_code, none.offset, none.timestamp) == (0, -1, -1)


@on_broker()
async def test_a_time_finds_the_first_record_at_or_after_it_also_inside_compressed_batches(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 1: ListOffsets by timestamp."""
    from kafka_py.records.builder import BatchBuilder

    await broker.create_topic("t")
    for codec in (Codec.NONE, Codec.GZIP):
        builder = BatchBuilder(codec)
        start = 0 if codec is Codec.NONE else 300
        for step in range(3):
            builder.append(start + step * 100 + 100, None, b"v")
        await broker.produce("t", builder.build())
    for timestamp, found in ((1, (0, 100)), (100, (0, 100)), (101, (1, 200)), (350, (3, 400)), (600, (5, 600))):
        got = await list_offset(broker, timestamp)
        assert (got.offset, got.timestamp) == found
    assert (await list_offset(broker, 601)).offset == -1


@on_broker()
async def test_v0_lists_segment_starts(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"segment.bytes": "150"})
    for _ in range(4):
        await broker.produce("t", batch(b"x" * 60))
    latest = await list_offset(broker, LATEST, version=0, max_num_offsets=10)
    assert latest.old_style_offsets[0] == 4
    assert latest.old_style_offsets == sorted(latest.old_style_offsets, reverse=True)
    assert (await list_offset(broker, EARLIEST, version=0)).old_style_offsets == [0]
    assert (await list_offset(broker, LATEST, version=0, max_num_offsets=1)).old_style_offsets == [4]


@on_broker()
async def test_errors_are_per_partition(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    unknown = await list_offset(broker, LATEST, partition=9)
    assert (unknown.error_code, unknown.offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    newer = await list_offset(broker, LATEST, current_leader_epoch=5)
    assert newer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    twice = [ListOffsetsPartition(partition_index=0, timestamp=LATEST)] * 2
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=twice)])
    rows = (await broker.ask(request, 6)).topics[0].partitions
    assert [row.error_code for row in rows] == [ErrorCode.INVALID_REQUEST] * 2


async def end_of_epoch(broker: LocalBroker, epoch: int, version: int = 4, partition: int = 0, current: int = -1) -> Any:
    asked = OffsetForLeaderPartition(partition=partition, leader_epoch=epoch)
    if version >= 2:
        asked.current_leader_epoch = current
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])])
    return (await broker.ask(request, version)).topics[0].partitions[0]


@on_broker()
async def test_epochs_end_where_the_next_begins(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a", b"b"))
    for version in range(5):
        row = await end_of_epoch(broker, 0, version)
        assert (row.error_code, row.end_offset) == (0, 2)
    unknown = await end_of_epoch(broker, 7)
    assert (unknown.error_code, unknown.leader_epoch, unknown.end_offset) == (0, -1, -1)
    assert (await end_of_epoch(broker, 0, current=3)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert (await end_of_epoch(broker, 0, partition=9)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

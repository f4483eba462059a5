"""DeleteRecords and DescribeProducers against a whole broker (KIP-107, KIP-664)."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kafka_py.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)


async def delete(broker: LocalBroker, offsets: dict[tuple[str, int], int], version: int = 2) -> list[Any]:
    """(topic, partition, error, low watermark) of each."""
    topics: dict[str, list[DeleteRecordsPartition]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, []).append(DeleteRecordsPartition(partition_index=partition, offset=offset))
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=name, partitions=rows) for name, rows in topics.items()], timeout_ms=1000
    )
    response = await broker.ask(request, version)
    return [
        (topic.name, row.partition_index, ErrorCode(row.error_code), row.low_watermark)
        for topic in response.topics
        for row in topic.partitions
    ]


async def earliest(broker: LocalBroker, topic: str) -> int:
    asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-2)])
    response = await broker.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), 5)
    return int(response.topics[0].partitions[0].offset)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_log_starts_where_it_was_asked_to(version: int) -> None:
    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        await broker.produce("t", batch(b"a", b"b", b"c"))
        assert await delete(broker, {("t", 0): 2}, version) == [("t", 0, ErrorCode.NONE, 2)]
        assert await earliest(broker, "t") == 2
        assert (await broker.fetch("t", 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        kept = await broker.fetch("t", 2)
        assert (kept.error_code, kept.log_start_offset) == (ErrorCode.NONE, 2)

    scenario()


@on_broker()
async def test_everything_goes_with_minus_one_and_the_offsets_go_on(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a", b"b", b"c"))
    assert await delete(broker, {("t", 0): -1}) == [("t", 0, ErrorCode.NONE, 3)]
    assert (await broker.produce("t", batch(b"d"))).base_offset == 3
    assert (await broker.fetch("t", 3)).error_code == ErrorCode.NONE


@on_broker()
async def test_every_partition_has_its_own_error(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    await broker.create_topic("compacted", configs={"cleanup.policy": "compact"})
    await broker.produce("t", batch(b"a"))
    offsets = {("t", 0): 1, ("t", 1): 1, ("t", 7): 1, ("gone", 0): 1, ("compacted", 0): 0}
    assert sorted(await delete(broker, offsets)) == [
        ("compacted", 0, ErrorCode.POLICY_VIOLATION, -1),
        ("gone", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        ("t", 0, ErrorCode.NONE, 1),
        ("t", 1, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        ("t", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]


@on_broker()
async def test_the_new_start_survives_a_clean_restart(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a", b"b", b"c"))
    await delete(broker, {("t", 0): 2})
    await broker.stop()
    await broker.start()
    await broker.until(lambda: broker.server.node.hosted.count_led())
    assert await earliest(broker, "t") == 2


@on_broker()
async def test_producers_of_a_partition_are_described(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a", b"b", producer_id=7, producer_epoch=1, base_sequence=0, timestamp=5))
    partition = broker.server.node.hosted.partitions[TopicPartition("t", 0)]
    left_open = batch(b"c", producer_id=8, producer_epoch=0, base_sequence=0, transactional=True, timestamp=6)
    partition.append(memoryview(bytearray(left_open)), 1, 0)
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0, 3])])
    [topic] = (await broker.ask(request, 0)).topics
    known, unknown = topic.partitions
    assert [
        (each.producer_id, each.producer_epoch, each.last_sequence, each.last_timestamp, each.coordinator_epoch,
         each.current_txn_start_offset) for each in known.active_producers
    ] == [(7, 1, 1, 5, -1, -1), (8, 0, 0, 6, -1, 2)]  # fmt: skip
    assert (known.error_code, unknown.error_code) == (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@on_broker()
async def test_a_replica_that_does_not_lead_describes_its_producers_too(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a", producer_id=7, producer_epoch=1, base_sequence=0, timestamp=5))
    node = broker.server.node
    endpoints = [
        UpdateMetadataEndpoint(host="localhost", port=1, listener="PLAINTEXT", security_protocol=0)
    ]
    live = [UpdateMetadataBroker(id=each, endpoints=endpoints) for each in (0, 9)]
    update = UpdateMetadataRequest(
        controller_id=0, controller_epoch=node.controller.epoch, broker_epoch=node.broker_epoch, live_brokers=live
    )
    assert (await broker.ask(update, 6)).error_code == 0
    state = LeaderAndIsrPartitionState(
        partition_index=0, controller_epoch=1, leader=9, leader_epoch=10, isr=[9, 0], zk_version=1, replicas=[9, 0],
    )  # fmt: skip
    request = LeaderAndIsrRequest(
        controller_id=0, controller_epoch=node.controller.epoch,
        topic_states=[LeaderAndIsrTopicState(topic_name="t", partition_states=[state])],
        live_leaders=[LeaderAndIsrLiveLeader(broker_id=9, host_name="localhost", port=1)],
    )  # fmt: skip
    assert (await broker.ask(request, 4)).error_code == 0
    with pytest.raises(KafkaError, match="lead"):
        node.hosted.partitions[TopicPartition("t", 0)].leader_log()
    asked = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
    [topic] = (await broker.ask(asked, 0)).topics
    assert [each.producer_id for each in topic.partitions[0].active_producers] == [7]

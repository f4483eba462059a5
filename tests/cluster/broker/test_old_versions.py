"""Produce v0-2 and Fetch v0-3: clients from before message format 2, beside newer ones on the same topics."""

import asyncio
import json
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.records.batch import decode_records, iter_headers, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import read_records
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

NOW = 1_600_000_000_000
NONE = ErrorCode.NONE
MAGIC_BY_PRODUCE_VERSION = {0: 0, 1: 0, 2: 1, 3: 2}
MAGIC_BY_FETCH_VERSION = {0: 0, 1: 0, 2: 1, 3: 1, 4: 2, 11: 2}


def sent(magic: int, codec: Codec = Codec.NONE, count: int = 3, value: bytes = b"value") -> bytes:
    builder = BatchBuilder(codec) if magic == 2 else LegacyBuilder(magic, codec)
    for number in range(count):
        builder.append(NOW + number, b"k%d" % number, value)
    return builder.build()


def records_of(data: bytes | None) -> list[tuple[int, Any]]:
    """(format, record) of all that a reader finds."""
    found: list[tuple[int, Any]] = []
    for pos, header in iter_headers(data or b""):
        verify_crc(data or b"", pos, header)
        records = decode_records(data or b"", pos) if header.magic == 2 else read_records(data or b"", pos)
        found += [(header.magic, record) for record in records]
    return found


async def read_all(broker: LocalBroker, topic: str, version: int, end: int, **limits: Any) -> list[tuple[int, Any]]:
    """As a consumer of that version does it."""
    found: list[tuple[int, Any]] = []
    offset = 0
    while offset < end:
        answer = await broker.fetch(topic, offset, version=version, **limits)
        assert answer.error_code == NONE, answer
        new = [(magic, record) for magic, record in records_of(answer.record_set) if record.offset >= offset]
        assert new, f"nothing at offset {offset}"
        found += new
        offset = found[-1][1].offset + 1
    return found


async def check_all_read_what_all_wrote(broker: LocalBroker, stored: int, **configs: str) -> None:
    topic = f"format-{stored}"
    await broker.create_topic(topic, configs=configs)
    end = 0
    for version, magic in MAGIC_BY_PRODUCE_VERSION.items():
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            answer = await broker.produce(topic, sent(magic, codec), version=version, acks=-1 if codec else 1)
            assert (answer.error_code, answer.base_offset) == (NONE, end)
            end += 3
    for version, magic in MAGIC_BY_FETCH_VERSION.items():
        for limit in (1 << 20, 500):
            found = await read_all(broker, topic, version, end, partition_max_bytes=limit)
            assert [record.offset for _, record in found] == list(range(end))
            assert [record.key for _, record in found] == [b"k0", b"k1", b"k2"] * (end // 3)
            assert {read for read, _ in found} == {min(magic, stored)}
            for at, (read, record) in enumerate(found):
                lost = not read or not stored or at < 2 * 4 * 3  # format 0 was on the way
                assert record.timestamp == (-1 if lost else NOW + at % 3)


@on_broker(log_message_format_version="0.9.0")
async def test_all_versions_on_a_topic_in_format_0(broker: LocalBroker) -> None:
    await check_all_read_what_all_wrote(broker, 0)


@on_broker()
async def test_all_versions_on_a_topic_in_format_1(broker: LocalBroker) -> None:
    await check_all_read_what_all_wrote(broker, 1, **{"message.format.version": "0.10.2"})


@on_broker()
async def test_all_versions_on_a_topic_in_format_2(broker: LocalBroker) -> None:
    await check_all_read_what_all_wrote(broker, 2)


@on_broker(log_message_timestamp_type="LogAppendTime")
async def test_the_brokers_time_is_answered_and_read(broker: LocalBroker) -> None:
    for number, version in enumerate(("0.9.0", "0.10.2", "2.8")):
        topic = f"t{number}"
        await broker.create_topic(topic, configs={"message.format.version": version})
        answer = await broker.produce(topic, sent(1, Codec.GZIP), version=2)
        assert answer.log_append_time_ms > NOW
        for fetch_version in (2, 4):
            found = await read_all(broker, topic, fetch_version, 3)
            assert {record.timestamp for _, record in found} == {answer.log_append_time_ms if number else -1}


@on_broker()
async def test_down_conversion_can_be_switched_off(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"message.downconversion.enable": "false"})
    await broker.produce("t", batch())
    assert (await broker.fetch("t", 0, version=3)).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert (await broker.fetch("t", 0, version=4)).error_code == NONE
    await broker.create_topic(
        "old", configs={"message.downconversion.enable": "false", "message.format.version": "0.10.2"}
    )
    await broker.produce("old", sent(0), version=0)
    assert len(await read_all(broker, "old", 2, 3)) == 3
    assert (await broker.fetch("old", 0, version=1)).error_code == ErrorCode.UNSUPPORTED_VERSION


@on_broker()
async def test_followers_have_records_converted_where_consumers_do_not(broker: LocalBroker) -> None:
    """A follower of an old version would never be in sync otherwise."""
    znodes = broker.store.session
    configs = {"version": 1, "config": {"message.downconversion.enable": "false"}}
    await znodes.create("/config/topics/t", json.dumps(configs).encode())
    assigned = {"version": 1, "partitions": {"0": [0, 1]}}  # broker 1 is not there
    await znodes.create("/brokers/topics/t", json.dumps(assigned).encode())
    await broker.until(lambda: broker.server.node.metadata.partition(TopicPartition("t", 0)) is not None)
    await broker.produce("t", batch(), acks=1)
    assert (await broker.fetch("t", 0, version=3)).error_code == ErrorCode.UNSUPPORTED_VERSION
    copied = await broker.fetch("t", 0, version=3, replica_id=1)
    assert copied.error_code == NONE
    assert [magic for magic, _ in records_of(copied.record_set)] == [1]


@on_broker()
async def test_zstd_is_refused_to_old_readers(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", sent(2))
    await broker.produce("t", sent(2, Codec.ZSTD))
    assert len(await read_all(broker, "t", 3, 3)) == 3
    assert (await broker.fetch("t", 3, version=3)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@on_broker()
async def test_a_message_larger_than_the_limit_comes_whole_only_from_version_3_on(broker: LocalBroker) -> None:
    """KIP-74; before, its beginning shows the client that its limit is too small."""
    await broker.create_topic("t")
    await broker.produce("t", sent(2, count=1, value=bytes(10_000)))
    for version in (0, 1, 2):
        answer = await broker.fetch("t", 0, version=version, partition_max_bytes=5000)
        assert answer.error_code == NONE
        assert answer.record_set
        assert records_of(answer.record_set) == []
    answer = await broker.fetch("t", 0, version=3, partition_max_bytes=5000)
    assert len(records_of(answer.record_set)) == 1


@on_broker()
async def test_many_partitions_are_converted_in_one_fetch(broker: LocalBroker) -> None:
    await broker.create_topic("t", partitions=300)
    for partition in range(0, 300, 10):
        await broker.produce("t", sent(2), partition=partition)
    asked = {TopicPartition("t", partition): 0 for partition in range(300)}
    for version, magic in ((0, 0), (3, 1)):
        response = await broker.ask(broker.fetch_request(asked), version)
        rows = response.responses[0].partition_responses
        assert len(rows) == 300
        for row in rows:
            found = records_of(row.record_set)
            assert [read for read, _ in found] == ([] if row.partition % 10 else [magic] * 3)


@on_broker()
async def test_conversions_are_counted(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", sent(1), version=2)
    await broker.produce("t", sent(2), version=3)
    await read_all(broker, "t", 2, 6)
    await read_all(broker, "t", 4, 6)
    counted = broker.server.node.replicas.metrics.topic("t")
    assert (counted.produce_conversions, counted.fetch_conversions) == (3, 6)


@on_broker()
async def test_a_producer_with_an_id_is_refused_by_a_topic_in_an_old_format(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"message.format.version": "0.10.2"})
    builder = BatchBuilder(producer_id=5, producer_epoch=0, base_sequence=0)
    builder.append(NOW, b"k", b"v")
    answer = await broker.produce("t", builder.build())
    assert answer.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


@on_broker(log_message_format_version="0.10.2", offsets_topic_num_partitions=1, offsets_topic_replication_factor=1)
async def test_offsets_of_groups_are_stored_in_an_old_format_and_read_again(broker: LocalBroker) -> None:
    commit = OffsetCommitRequest(
        group_id="g", generation_id=-1, member_id="",
        topics=[OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(
            partition_index=0, committed_offset=42, committed_metadata="m"
        )])],
    )  # fmt: skip
    await broker.create_topic("t")
    await until_coordinated(broker)
    answer = await broker.ask(commit, 2)
    assert answer.topics[0].partitions[0].error_code == NONE
    stored = await broker.fetch("__consumer_offsets", 0)
    assert {magic for magic, _ in records_of(stored.record_set)} == {1}
    await broker.stop()
    await broker.start()
    await until_coordinated(broker)
    asked = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
    found = (await broker.ask(asked, 2)).topics[0].partitions[0]
    assert (found.committed_offset, found.metadata) == (42, "m")


async def until_coordinated(broker: LocalBroker) -> None:
    async with asyncio.timeout(20):
        while (await broker.ask(FindCoordinatorRequest(key="g"), 0)).error_code:  # noqa: ASYNC110  # no event
            await asyncio.sleep(0.02)
        asked = OffsetFetchRequest(group_id="g", topics=[])
        while (await broker.ask(asked, 2)).error_code:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

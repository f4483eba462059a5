"""Bad input: whatever one client sends, it gets the protocol's error or loses its connection, and others are served."""

import asyncio
import logging
import os
import random
import struct

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.apis import APIS
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)


async def send_raw(broker: LocalBroker, data: bytes) -> bytes:
    """What comes back until the broker closes, or falls silent for a moment."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(data)
    received = b""
    try:
        while True:
            async with asyncio.timeout(0.3):
                piece = await reader.read(65536)
            if not piece:
                break
            received += piece
        closed = b"closed:"
    except TimeoutError:
        closed = b"open:"
    except ConnectionError:
        closed = b"closed:"
    writer.close()
    return closed + received


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


async def still_serves(broker: LocalBroker) -> None:
    assert (await broker.ask(MetadataRequest(topics=None), 9)).brokers
    assert (await broker.produce("t", batch())).error_code == 0


@on_broker(socket_request_max_bytes=100_000)
async def test_sizes_that_lie_end_the_connection_and_allocate_nothing(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for size in (-1, -(1 << 31), 100_001, (1 << 31) - 1):
        assert await send_raw(broker, struct.pack(">i", size) + b"x" * 10) == b"closed:"
    await still_serves(broker)


@on_broker()
async def test_a_frame_that_never_comes_whole_waits_without_harm(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    produce = struct.pack(">hhih", 0, 8, 5, -1)
    assert await send_raw(broker, struct.pack(">i", 50_000_000) + produce + b"x" * 100) == b"open:"
    await still_serves(broker)


@on_broker()
async def test_a_frame_that_is_too_large_for_its_api_ends_the_connection_before_it_has_arrived(
    broker: LocalBroker,
) -> None:
    await broker.create_topic("t")
    metadata = struct.pack(">hhih", 3, 9, 5, -1)
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("kafka_py.net.connection")
    logger.addHandler(handler)
    try:
        assert await send_raw(broker, struct.pack(">i", 50_000_000) + metadata) == b"closed:"
    finally:
        logger.removeHandler(handler)
    [line] = lines
    assert "Metadata request of 50000000 bytes, at most 8388608 are allowed for this API" in line
    assert "127.0.0.1" in line
    await still_serves(broker)


@on_broker()
async def test_other_protocols_end_the_connection(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    http, tls = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40
    for greeting in (http, tls):
        assert await send_raw(broker, greeting) == b"closed:"
    await still_serves(broker)


@on_broker()
async def test_unknown_apis_and_versions_end_the_connection(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for key, version in ((-1, 0), (999, 0), (52, 0), (58, 0), (64, 0), (0, 10), (3, 12), (1, -1)):
        payload = struct.pack(">hhih", key, version, 5, -1)
        assert await send_raw(broker, framed(payload)) == b"closed:"
    await still_serves(broker)


@on_broker()
async def test_api_versions_of_a_later_release_is_answered_in_v0(broker: LocalBroker) -> None:
    payload = bytearray(encode_request(ApiVersionsRequest(), 3, 5, "c"))
    payload[6:8] = struct.pack(">h", 4)
    got = await send_raw(broker, bytes(payload))
    assert got == b"open:" + framed(struct.pack(">ihihhh", 5, ErrorCode.UNSUPPORTED_VERSION, 1, 18, 0, 3))


@on_broker()
async def test_random_bytes_as_bodies_of_every_api_and_version_never_stop_the_broker(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    chance = random.Random(2)
    connections = [
        framed(struct.pack(">hhih", api.key, version, 5, -1) + chance.randbytes(chance.randrange(60)))
        for api in APIS.values()
        for version in range(api.min_version, api.max_version + 1)
    ]
    for start in range(0, len(connections), 40):
        await asyncio.gather(*(send_raw(broker, data) for data in connections[start : start + 40]))
    await still_serves(broker)


@on_broker()
async def test_requests_cut_short_anywhere_never_stop_the_broker(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    whole = encode_request(MetadataRequest(topics=None), 9, 5, "c")[4:]
    got = await asyncio.gather(*(send_raw(broker, framed(whole[:end])) for end in range(len(whole))))
    assert all(answer == b"closed:" for answer in got)
    await still_serves(broker)


@on_broker(message_max_bytes=1 << 20)
async def test_batches_broken_in_every_byte_are_refused_and_nothing_of_them_is_stored(broker: LocalBroker) -> None:
    """Corrupt batches: CRC, magic, counts, lengths. Only the epoch, outside the CRC, is the broker's to write."""
    await broker.create_topic("t")
    whole = batch(b"first", b"second")
    stored = 0
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 0x41
        answer = await broker.produce("t", bytes(broken))
        if answer.error_code == 0:
            assert 12 <= position < 16, position
            stored += 2
        else:
            assert answer.error_code in (
                ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE,
            ), position  # fmt: skip
            assert answer.base_offset == -1
    row = await broker.fetch("t", 0)
    assert row.high_watermark == stored
    await still_serves(broker)


@on_broker()
async def test_counts_and_lengths_that_do_not_fit_the_records_are_refused(broker: LocalBroker) -> None:
    """The same with a CRC that is right: the producer itself is wrong."""
    from kafka_py.records.crc32c import crc32c

    await broker.create_topic("t")
    whole = batch(b"first", b"second")
    for place, code, value in (
        (57, ">i", 0), (57, ">i", -1), (57, ">i", 3), (57, ">i", 1 << 30), (23, ">i", 5), (23, ">i", -1),
        (21, ">h", 0x20), (21, ">h", 0x07),
    ):  # fmt: skip
        broken = bytearray(whole)
        struct.pack_into(code, broken, place, value)
        struct.pack_into(">I", broken, 17, crc32c(bytes(broken[21:])))
        answer = await broker.produce("t", bytes(broken))
        assert answer.error_code != 0, (place, value)
        assert answer.base_offset == -1
    assert (await broker.fetch("t", 0)).high_watermark == 0
    await still_serves(broker)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a/b", "ä", "a b"])
def test_bad_topic_names_are_refused(name: str) -> None:
    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        with pytest.raises(KafkaError) as error:
            await broker.create_topic(name)
        assert error.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
        answer = await broker.produce(name, batch())
        assert answer.error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION)

    scenario()


@on_broker(max_connections_per_ip=3)
async def test_too_many_connections_of_one_address_are_closed_and_the_first_ones_live(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    others = [await broker.connect() for _ in range(4)]
    await broker.until(lambda: sum(other.closed for other in others) >= 2)
    await still_serves(broker)
    for other in others:
        other.close()


# Memory: queued.max.request.bytes


LARGE = 1_500_000


def large_produce(correlation_id: int) -> bytes:
    data = TopicProduceData(
        name="t", partition_data=[PartitionProduceData(index=0, records=batch(random.randbytes(LARGE)))]
    )
    return encode_request(ProduceRequest(acks=1, timeout_ms=5000, topic_data=[data]), 8, correlation_id, "large")


@on_broker(queued_max_request_bytes=2_000_000, socket_request_max_bytes=2_000_000, message_max_bytes=4_000_000)
async def test_requests_beyond_queued_max_request_bytes_wait_their_turn_and_small_ones_do_not(
    broker: LocalBroker,
) -> None:
    """As in the classic the bound is passed by one request at most; those that wait are answered in the end."""
    await broker.create_topic("t")
    request = large_produce(1)
    assert broker.server._sockets is not None
    pool = broker.server._sockets.pool
    streams = [await asyncio.open_connection("127.0.0.1", broker.port) for _ in range(6)]
    for _, writer in streams:
        writer.write(request[: LARGE // 2])
    await broker.until(lambda: pool.available_bytes == 0)
    await still_serves(broker)
    assert pool.used_bytes <= 2_000_000 + len(request)
    for _, writer in streams:
        writer.write(request[LARGE // 2 :])
    async with asyncio.timeout(20):
        answers = [await reader.readexactly(8) for reader, _ in streams]
    assert all(struct.unpack(">ii", answer)[1] == 1 for answer in answers)
    assert pool.used_bytes == 0
    assert (await broker.fetch("t", 0)).high_watermark == 1 + len(streams)
    for _, writer in streams:
        writer.close()


@on_broker(queued_max_request_bytes=2_000_000, socket_request_max_bytes=2_000_000, message_max_bytes=4_000_000)
async def test_who_gives_up_a_half_sent_large_request_gives_its_room_back(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    request = large_produce(2)
    assert broker.server._sockets is not None
    pool = broker.server._sockets.pool
    streams = [await asyncio.open_connection("127.0.0.1", broker.port) for _ in range(4)]
    for _, writer in streams:
        writer.write(request[: LARGE // 2])
    await broker.until(lambda: pool.available_bytes == 0)
    for _, writer in streams:
        writer.close()
    await broker.until(lambda: pool.used_bytes == 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(request)
    async with asyncio.timeout(20):
        await reader.readexactly(8)
    writer.close()


# Topics that cannot be


@on_broker()
async def test_names_that_no_topic_can_have_are_unknown_to_deletion_and_growth(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for name in ("", ".", "..", "a/b", "t/partitions", "\u0000"):
        deleted = await broker.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=1000), 1)
        assert deleted.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name
        topics = [CreatePartitionsTopic(name=name, count=3, assignments=None)]
        grown = await broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=1000, validate_only=False), 1)
        assert grown.results[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name
    await still_serves(broker)


@on_broker()
async def test_more_partitions_than_can_be_are_refused_at_once(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for count in (0, -2, 1_000_000, (1 << 31) - 1):
        with pytest.raises(KafkaError) as error:
            await broker.create_topic("many", partitions=count)
        assert error.value.code is ErrorCode.INVALID_PARTITIONS
    topics = [CreatePartitionsTopic(name="t", count=(1 << 31) - 1, assignments=None)]
    grown = await broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=1000, validate_only=False), 1)
    assert grown.results[0].error_code == ErrorCode.INVALID_PARTITIONS
    await still_serves(broker)


@pytest.mark.parametrize(("topic", "partition"), [("../escaped", 0), ("a/b", 0), ("x" * 300, 0), ("t", -1), ("", 0)])
def test_roles_for_partitions_that_can_have_no_directory_are_refused(topic: str, partition: int) -> None:
    """Nothing is made outside of the log directory, and none goes offline for a name that is too long."""

    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        state = LeaderAndIsrPartitionState(
            partition_index=partition, controller_epoch=1, leader=0, leader_epoch=0, isr=[0], zk_version=0,
            replicas=[0], is_new=True,
        )  # fmt: skip
        request = LeaderAndIsrRequest(
            controller_id=0, controller_epoch=1, broker_epoch=-1, live_leaders=[],
            topic_states=[LeaderAndIsrTopicState(topic_name=topic, partition_states=[state])],
        )  # fmt: skip
        response = await broker.ask(request, 4)
        assert [row.error_code for row in response.partition_errors] == [ErrorCode.INVALID_TOPIC_EXCEPTION]
        assert broker.server.node.log_dirs.offline_directories == []
        assert "escaped-0" not in os.listdir(broker.folder)
        await still_serves(broker)

    scenario()


@on_broker()
async def test_a_security_protocol_that_does_not_exist_is_refused(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    live = UpdateMetadataBroker(
        id=0, endpoints=[UpdateMetadataEndpoint(port=1, host="h", listener="", security_protocol=77)]
    )
    request = UpdateMetadataRequest(controller_id=0, controller_epoch=1, live_brokers=[live])
    assert (await broker.ask(request, 1)).error_code == ErrorCode.INVALID_REQUEST
    await still_serves(broker)

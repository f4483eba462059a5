"""Bad input: whatever one client sends, it gets the protocol's error or loses its connection, and others are served."""

import asyncio
import random
import struct

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.apis import APIS
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.metadata import MetadataRequest


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
    assert await send_raw(broker, struct.pack(">i", 50_000_000) + b"x" * 100) == b"open:"
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


@on_broker(max_message_bytes=1 << 20)
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
        from kafka_py.base.errors import KafkaError

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

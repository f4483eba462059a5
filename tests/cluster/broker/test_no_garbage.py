"""Requests leave no cycles behind: what many elements of one were, the collector would free in one piece."""

import asyncio
import gc

import pytest

from benchmarks.hostile import OF_BROKERS, flood
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.schema import schema_of

ELEMENTS = 900
"""Of one request; each leaves at least one object if it leaves any."""
OF_THE_BROKER = 200
"""Objects of what else the broker does meanwhile, and of an error of the request as a whole."""
OF_CLIENTS = [
    key for key in APIS
    if key not in OF_BROKERS and any(field.is_array for field in schema_of(APIS[key].request).fields)
]  # fmt: skip


async def exchange(broker: LocalBroker, frame: bytes) -> None:
    """Sends a request over a connection of its own and takes what comes until its answer or the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(frame)
    try:
        async with asyncio.timeout(20):
            await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    except asyncio.IncompleteReadError:
        pass  # refused
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("same", [False, True], ids=["different", "same"])
def test_a_request_of_many_elements_leaves_no_garbage(same: bool) -> None:
    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        left: dict[ApiKey, int] = {}
        for key in OF_CLIENTS:
            frame = flood(key, min(ELEMENTS, APIS[key].elements // 4), same=same)
            await exchange(broker, frame)  # what is made once
            gc.collect()
            gc.disable()
            try:
                await exchange(broker, frame)
                left[key] = gc.collect()
            finally:
                gc.enable()
        assert len(left) > 20
        assert {key.name: count for key, count in left.items() if count > OF_THE_BROKER} == {}

    scenario()

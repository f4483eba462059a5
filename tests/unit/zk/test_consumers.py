from __future__ import annotations

import asyncio

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.store import ZkStore

P0 = TopicPartition("t", 0)


def test_an_old_consumers_offset_is_made_changed_and_read() -> None:
    async def scenario() -> None:
        session = FakeZookeeper().session()
        await session.connect()
        store = ZkStore(session)
        assert await store.old_consumers.offset("g", P0) is None
        await store.old_consumers.set_offset("g", P0, 7)
        await store.old_consumers.set_offset("g", P0, 8)
        assert (await session.get("/consumers/g/offsets/t/0"))[0] == b"8"
        assert await store.old_consumers.offset("g", P0) == 8
        await session.set("/consumers/g/offsets/t/0", b"no number")
        assert await store.old_consumers.offset("g", P0) is None

    asyncio.run(scenario())

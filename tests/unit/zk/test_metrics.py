"""What is counted about a session, under Kafka's names."""

import asyncio

from kafka_py.base.clock import SystemClock
from kafka_py.base.meters import MetricRegistry
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.metrics import STATE_NAMES, measure
from kafka_py.zk.session import SessionState


def test_a_sessions_life_is_counted():
    async def run():
        registry = MetricRegistry(SystemClock())
        session = FakeZookeeper().session()
        measure(session, registry)

        def beans():
            return {reading.mbean.rpartition("=")[2]: reading.attributes for reading in registry.read()}

        assert beans()["SessionState"] == {"Value": "CONNECTING"}
        await session.connect()
        await session.exists("/")
        await session.create("/a")
        session.cut()
        assert beans()["SessionState"] == {"Value": "CONNECTING"}
        session.mend()
        renewed = asyncio.Event()

        async def after():
            renewed.set()

        session.add_expiry_hooks(after=after)
        session.expire()
        await renewed.wait()
        found = beans()
        assert found["SessionState"] == {"Value": "CONNECTED"}
        assert {name: row["Count"] for name, row in found.items() if name != "SessionState"} == {
            "ZooKeeperSyncConnectsPerSec": 3,
            "ZooKeeperDisconnectsPerSec": 1,
            "ZooKeeperExpiresPerSec": 1,
            "ZooKeeperAuthFailuresPerSec": 0,
            "ZooKeeperReadOnlyConnectsPerSec": 0,
            "ZooKeeperSaslAuthenticationsPerSec": 0,
            "ZooKeeperRequestLatencyMs": 2,
        }

    asyncio.run(run())


def test_every_state_has_a_name():
    assert set(STATE_NAMES) == set(SessionState)

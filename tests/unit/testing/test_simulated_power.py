"""Power goes only where Apache's protocol loses nothing by it."""

import asyncio
import random

import pytest

from kafka_py.testing.simulation import power
from kafka_py.testing.simulation.cluster import LOG_DIR, SimulatedCluster
from kafka_py.testing.simulation.nodes import NodeLoop
from kafka_py.testing.simulation.run import is_in_sync
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment


def in_a_cluster(scenario):
    """Runs a coroutine function on three brokers that hold one partition in sync."""
    loop = NodeLoop()
    loop.set_exception_handler(lambda _loop, _context: None)

    async def run():
        cluster = SimulatedCluster(loop, random.Random(1), 3, {})
        try:
            await cluster.start_all()
            session = cluster.zookeeper.session()
            await session.connect()
            await ZkStore(session).topics.create("t", TopicAssignment.of({0: [1, 2, 3]}))
            await cluster.until(lambda: is_in_sync(cluster), 60, "in sync")
            await scenario(cluster)
        finally:
            cluster.close()

    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(run())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@pytest.fixture
def lost(monkeypatch):
    """The brokers whose disks have forgotten something."""
    names = []
    monkeypatch.setattr(power, "forget", lambda _cluster, broker, _rng: names.append(broker.name))
    return names


class NoNewDisk(random.Random):
    def random(self):
        return 0.4


def test_power_goes_when_the_dead_broker_is_out_of_the_in_sync_set(lost):
    async def scenario(cluster):
        leader = cluster.brokers[0]
        assert not power.is_dispensable(cluster, leader)
        assert await power.lose_power(cluster, leader, 0.1, NoNewDisk())
        assert power.is_dispensable(cluster, leader)
        assert not leader.is_running
        leader.start()
        await cluster.until(lambda: is_in_sync(cluster), 60, "in sync again")

    in_a_cluster(scenario)
    assert lost == ["broker1"]


def test_the_last_one_in_sync_keeps_what_it_wrote(lost):
    async def scenario(cluster):
        for broker in cluster.brokers[1:]:
            broker.kill()
        await asyncio.sleep(5)
        assert not await power.lose_power(cluster, cluster.brokers[0], 0.1, NoNewDisk())

    in_a_cluster(scenario)
    assert lost == []


def test_one_that_somebody_else_has_started_keeps_what_it_wrote(lost):
    async def scenario(cluster):
        losing = asyncio.ensure_future(power.lose_power(cluster, cluster.brokers[0], 3.0, NoNewDisk()))
        await asyncio.sleep(1)
        cluster.brokers[0].start()
        assert not await losing

    in_a_cluster(scenario)
    assert lost == []


def test_a_paused_leader_may_still_act_on_what_the_dead_one_asked(lost):
    async def scenario(cluster):
        cluster.brokers[2].kill()
        await asyncio.sleep(5)
        assert power.is_dispensable(cluster, cluster.brokers[2])
        cluster.brokers[0].pause()
        assert not power.is_dispensable(cluster, cluster.brokers[2])

    in_a_cluster(scenario)


def test_a_clean_stop_leaves_everything_synced():
    async def scenario(cluster):
        broker = cluster.brokers[0]
        await broker.stop()
        assert power.has_stopped_clean(broker)
        power.forget(cluster, broker, NoNewDisk())
        assert power.has_stopped_clean(broker)
        assert broker.files.exists(f"{LOG_DIR}/t-0")
        broker.start()
        await cluster.until(lambda: is_in_sync(cluster), 60, "in sync again")
        assert not power.has_stopped_clean(broker)

    in_a_cluster(scenario)

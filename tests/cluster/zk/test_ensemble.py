"""An ensemble of three on this machine, and the death of its leader."""

import asyncio

import pytest

from kafka_py.testing.processes import ensemble
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.session import SessionState
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment

WAIT_S = 60


@pytest.fixture
def three(tmp_path):
    servers = ensemble(tmp_path)
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.kill()


def test_the_store_survives_the_death_of_the_ensembles_leader(three):
    """No acknowledged write is lost, ephemerals and watches live on, waiting requests are carried out."""
    assert sorted(server.wait_serving() for server in three) == ["follower", "follower", "leader"]
    connect = ",".join(server.connect for server in three) + "/kafka"

    async def scenario():
        sessions = [KazooSession(connect, session_timeout_ms=20_000, create_chroot=True) for _ in range(3)]
        for session in sessions:
            await session.connect()
        stores = [ZkStore(session) for session in sessions]
        await stores[0].brokers.ensure_top_level_paths()
        seat = await stores[0].election.elect(1, 0)
        for number in range(20):
            await stores[number % 3].topics.create(f"before-{number}", TopicAssignment.of({0: [1]}))
        for store in stores:
            await store.session.sync("/")
        new_topics = [asyncio.Event() for _ in stores]
        for store, event in zip(stores, new_topics, strict=True):
            await store.topics.names(lambda _, event=event: event.set())

        (leader,) = [server for server in three if server.mode() == "leader"]
        leader.kill()
        await asyncio.gather(
            *(stores[number % 3].topics.create(f"after-{number}", TopicAssignment.of({0: [1]})) for number in range(20))
        )
        await asyncio.gather(*(event.wait() for event in new_topics))
        for store in stores:
            await store.session.sync("/")
            assert len(await store.topics.names()) == 40
            assert await store.election.controller_id() == 1
            assert store.session.state is SessionState.CONNECTED
        await stores[0].topics.set_assignment(
            "after-0", TopicAssignment.of({0: [2]}), epoch_zk_version=seat.epoch_zk_version
        )
        for session in sessions:
            await session.close()

    async def in_time():
        async with asyncio.timeout(WAIT_S):
            await scenario()

    asyncio.run(in_time())
    assert sorted(filter(None, (server.mode() for server in three))) == ["follower", "leader"]

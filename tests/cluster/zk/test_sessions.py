"""The store over a real ZooKeeper: expiry, outages, what comes back by itself. One real server, or one of its own."""

import asyncio
import signal
import time

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode
from kafka_py.testing.peers.tcp_proxy import TcpProxy
from kafka_py.testing.processes import ZookeeperServer, free_port
from kafka_py.testing.zookeeper import expire_real_session
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.configs import ConnectString, ZkOptions
from kafka_py.zk.kazoo_bridge import FIRST_ANSWER_S
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.session import ConnectionLoss, ConnectTimeout, NodeExists, NoNode, SessionState
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode

WAIT_S = 40
REGISTRATION = BrokerIdZNode.of(
    [BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)], jmx_port=-1, timestamp_ms=1
)


def in_time(scenario):
    """Runs a coroutine that must not hang."""

    async def run():
        async with asyncio.timeout(WAIT_S):
            await scenario

    asyncio.run(run())


async def connected(connect, **settings):
    session = KazooSession(connect, **{"session_timeout_ms": 6000, "create_chroot": True, **settings})
    await session.connect()
    return session


def test_an_expired_broker_registers_again_and_another_controller_was_elected(zk_chroot):
    """Re-register, re-elect: and what the former controller still sends is refused."""

    async def scenario():
        one, two = await connected(zk_chroot), await connected(zk_chroot)
        first, second = ZkStore(one), ZkStore(two)
        await first.brokers.ensure_top_level_paths()
        first_epoch = await first.brokers.register(1, REGISTRATION)
        seat = await first.election.elect(1, 0)
        await first.topics.create("t", TopicAssignment.of({0: [1]}))
        vacated = asyncio.Event()
        assert await second.election.controller_id(lambda event: vacated.set()) == 1
        story = []
        renewed = asyncio.get_running_loop().create_future()

        async def before():
            story.append(one.state)

        async def after():
            renewed.set_result(await first.brokers.register(1, REGISTRATION))

        one.add_expiry_hooks(before=before, after=after)
        await expire_real_session(one, zk_chroot)
        await vacated.wait()
        assert await second.election.elect(2, 0) == (seat.epoch + 1, seat.epoch_zk_version + 1)
        assert await renewed > first_epoch
        assert story == [SessionState.EXPIRED]
        with pytest.raises(ControllerMoved) as moved:
            await first.topics.set_assignment("t", TopicAssignment.of({}), epoch_zk_version=seat.epoch_zk_version)
        assert moved.value.code is ErrorCode.STALE_CONTROLLER_EPOCH
        assert await second.topics.assignment("t") == TopicAssignment.of({0: [1]})
        await one.close()
        await two.close()

    in_time(scenario())


def test_a_broker_that_was_killed_blocks_its_id_until_its_session_expires(zk_chroot):
    async def scenario():
        old, new = await connected(zk_chroot), await connected(zk_chroot)
        await ZkStore(old).brokers.ensure_top_level_paths()
        await ZkStore(old).brokers.register(1, REGISTRATION)
        with pytest.raises(NodeExists, match="another session"):
            await ZkStore(new).brokers.register(1, REGISTRATION)
        await old.close()
        await ZkStore(new).brokers.register(1, REGISTRATION)
        await new.close()

    in_time(scenario())


def test_the_chroot_is_made_where_asked_for_and_missing_otherwise(zk_chroot):
    async def scenario():
        tool = await connected(f"{zk_chroot}/deep/er", create_chroot=False)
        with pytest.raises(NoNode):
            await tool.create("/a")
        broker = await connected(f"{zk_chroot}/deep/er")
        again = await connected(f"{zk_chroot}/deep/er")
        assert (await broker.create("/a"))[0] == "/a"
        assert await tool.children("/") == ["a"]
        root = await connected(zk_chroot)
        assert await root.children("/deep/er") == ["a"]
        for session in (tool, broker, again, root):
            await session.close()

    in_time(scenario())


def test_we1_8_two_clusters_in_two_chroots_do_not_see_each_other(zk_chroot):
    async def scenario():
        stores = [ZkStore(await connected(f"{zk_chroot}/{name}")) for name in ("one", "two")]
        seen = []
        for store in stores:
            await store.brokers.ensure_top_level_paths()
            await store.topics.names(seen.append)
        ids = {await store.brokers.cluster_id_or_create(Chance().new_uuid) for store in stores}
        assert len(ids) == 2
        await stores[0].election.elect(1, 0)
        await stores[0].topics.create("t", TopicAssignment.of({0: [1]}))
        await stores[1].session.sync("/")
        assert [await store.topics.names() for store in stores] == [{"t"}, set()]
        assert [await store.election.controller_id() for store in stores] == [1, None]
        assert [event.path for event in seen] == ["/brokers/topics"]
        for store in stores:
            await store.session.close()

    in_time(scenario())


def test_a_thousand_topics_are_read_in_a_moment(zk_chroot):
    """Well under a second for what a broker reads at its start, with ten requests in flight."""

    async def scenario():
        session = await connected(zk_chroot)
        store = ZkStore(session)
        await store.brokers.ensure_top_level_paths()
        names = [f"topic-{number}" for number in range(1000)]
        await asyncio.gather(*(store.topics.create(name, TopicAssignment.of({0: [1]})) for name in names))
        started = time.perf_counter()
        assert len(await store.topics.assignments(await store.topics.names())) == 1000
        seconds = time.perf_counter() - started
        assert seconds < 1.5, f"{seconds:.2f} s"
        await session.close()

    in_time(scenario())


def test_a_request_too_large_for_the_server_fails_and_is_not_sent_for_ever(zk_chroot):
    """The server hangs up on it; sent again and again it would keep the session from ever doing anything else."""

    async def scenario():
        session = await connected(zk_chroot)
        with pytest.raises(ConnectionLoss, match="larger than 1048575 bytes"):
            await session.create("/large", bytes(1 << 20))
        await session.create("/small", bytes(1 << 19))
        await session.close()

    in_time(scenario())


# ---- outages


def test_an_absent_zookeeper_is_one_clear_error(tmp_path):
    async def scenario():
        port = free_port()
        session = KazooSession(f"127.0.0.1:{port}/kafka", session_timeout_ms=18000, connection_timeout_ms=300)
        started = time.perf_counter()
        with pytest.raises(ConnectTimeout) as failed:
            await session.connect()
        assert time.perf_counter() - started < 3
        text = str(failed.value)
        assert f"zookeeper.connect=127.0.0.1:{port}/kafka" in text
        assert "300 ms (zookeeper.connection.timeout.ms)" in text
        assert session.state is SessionState.CLOSED

    in_time(scenario())


def test_a_server_that_does_not_answer_is_the_same_error():
    async def scenario():
        silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        session = KazooSession(f"127.0.0.1:{port}", session_timeout_ms=18000, connection_timeout_ms=300)
        started = time.perf_counter()
        with pytest.raises(ConnectTimeout):
            await session.connect()
        assert time.perf_counter() - started < 3
        silent.close()

    in_time(scenario())


def test_an_unknown_host_is_the_same_error():
    async def scenario():
        session = KazooSession("no-such-host.invalid:2181", connection_timeout_ms=300)
        with pytest.raises(ConnectTimeout, match=r"no-such-host\.invalid:2181"):
            await session.connect()

    in_time(scenario())


def test_a_zookeeper_that_comes_later_is_waited_for(tmp_path):
    async def scenario():
        with_port = ZookeeperServer(tmp_path)
        session = KazooSession(with_port.connect, session_timeout_ms=20_000)
        connecting = asyncio.ensure_future(session.connect())
        early = asyncio.ensure_future(session.exists("/zookeeper"))
        await asyncio.sleep(0)
        try:
            with_port.start()
            await connecting
            assert (await early) is not None
            await session.close()
        finally:
            with_port.kill()

    in_time(scenario())


def test_a_restarted_zookeeper_is_found_again_within_the_same_session(tmp_path):
    """Requests wait, ephemerals live on, watches see what happens afterwards."""

    async def scenario():
        server = ZookeeperServer(tmp_path)
        with server:
            session = await connected(server.connect, session_timeout_ms=20_000)
            other = await connected(server.connect, session_timeout_ms=20_000)
            await session.create("/e", ephemeral=True)
            await session.create("/a")
            changed = asyncio.Event()
            await session.get("/a", lambda event: changed.set())
            session_id = session.session_id
            suspended = asyncio.Event()
            session.add_listener(lambda state: suspended.set() if state is SessionState.SUSPENDED else None)

            server.kill()
            await suspended.wait()
            waiting = asyncio.ensure_future(session.create("/b"))
            server.start()
            await waiting
            assert session.session_id == session_id
            assert (await session.exists("/e")).ephemeral_owner == session_id
            assert not changed.is_set()
            await other.set("/a", b"")
            await changed.wait()
            await session.close()
            await other.close()

    in_time(scenario())


def test_a_session_that_times_out_while_the_link_is_down_is_known_to_be_lost_only_afterwards(tmp_path):
    """The client never decides by itself that its session has expired: only the server can say so."""

    async def scenario():
        with ZookeeperServer(tmp_path, tick_ms=100) as server:
            async with TcpProxy("127.0.0.1", server.port) as link:
                session = await connected(f"127.0.0.1:{link.port}", session_timeout_ms=1500)
                witness = await connected(server.connect)
                await session.create("/e", ephemeral=True)
                gone, expired = asyncio.Event(), asyncio.Event()
                await witness.exists("/e", lambda event: gone.set())

                async def after():
                    expired.set()

                session.add_expiry_hooks(after=after)
                link.cut()
                await gone.wait()
                assert session.state is SessionState.SUSPENDED
                link.mend()
                await expired.wait()
                assert await session.exists("/e") is None
                await session.close()
                await witness.close()

    in_time(scenario())


def test_a_frozen_server_does_not_keep_the_process_from_ending(tmp_path):
    async def scenario():
        with ZookeeperServer(tmp_path) as server:
            session = await connected(server.connect, session_timeout_ms=2000)
            server.signal(signal.SIGSTOP)
            started = time.perf_counter()
            await session.close()
            assert time.perf_counter() - started < 7
            server.signal(signal.SIGCONT)

    in_time(scenario())


def test_a_connection_that_is_never_answered_is_tried_again_in_time(zk_chroot):
    """ZooKeeper may accept a connection just after binding its port and never answer it."""

    async def scenario():
        (address,) = ConnectString.parse(zk_chroot).servers
        async with TcpProxy(*address) as link:
            link.ignore_next()
            began_s = time.monotonic()
            session = await connected(f"127.0.0.1:{link.port}", connection_timeout_ms=18_000, create_chroot=False)
            took_s = time.monotonic() - began_s
            assert await session.exists("/zookeeper") is not None
            assert link.connections == 2
            assert took_s < FIRST_ANSWER_S + 5
            await session.close()

    in_time(scenario())


async def opened_while_starting(server):
    """Starts ZooKeeper and, at once, a broker's session with the default timeouts; how long that took, in s."""
    await asyncio.to_thread(server.start)
    began_s = time.monotonic()
    session = KazooSession.of(ZkOptions.parse({"zookeeper.connect": server.connect}))
    try:
        await session.connect()
        await ZkStore(session).brokers.ensure_top_level_paths()
        await session.close()
    finally:
        await asyncio.to_thread(server.kill)
    return time.monotonic() - began_s


@pytest.mark.parametrize(
    ("starts", "at_once"), [(4, 2), pytest.param(100, 6, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_brokers_that_start_together_with_zookeeper_find_it(tmp_path, starts, at_once):
    async def scenario():
        room = asyncio.Semaphore(at_once)

        async def one(number):
            async with room:
                return await opened_while_starting(ZookeeperServer(tmp_path / str(number)))

        outcomes = await asyncio.gather(*(one(number) for number in range(starts)), return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert not failures, failures
        print("slowest starts in s:", [round(took_s, 1) for took_s in sorted(outcomes)[-5:]])

    asyncio.run(scenario())

"""Logins at a real ZooKeeper: identities, refusals, and a login that is refused only later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.meters import MetricRegistry
from kafka_py.testing.secured_zookeeper import SecuredZookeeper
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.metrics import measure
from kafka_py.zk.secured.access_lists import OPEN, Access, AccessEntry
from kafka_py.zk.secured.digest_md5 import DigestMd5
from kafka_py.zk.secured.protection import SessionProtection
from kafka_py.zk.session import AuthFailed, ConnectTimeout, InvalidAcl, NoAuth, SessionState

pytestmark = pytest.mark.timeout(180)

USERS = {"broker": "broker-secret", "bröker": "päss wörd\u20ac"}
WAIT_S = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SecuredZookeeper]:
    with SecuredZookeeper(tmp_path, USERS) as running:
        yield running


def session_of(server: SecuredZookeeper, login: DigestMd5 | None, *, protects: bool = True) -> KazooSession:
    protection = SessionProtection(login=login, login_origin="the login file", protects=protects)
    return KazooSession(f"{server.connect}/kafka", session_timeout_ms=20_000, create_chroot=True, protection=protection)


def test_znodes_belong_to_whom_the_session_has_logged_in_as(server: SecuredZookeeper) -> None:
    async def run() -> None:
        own = session_of(server, DigestMd5("broker", USERS["broker"]))
        other = session_of(server, None, protects=False)
        async with asyncio.timeout(WAIT_S):
            await own.connect()
            registry = MetricRegistry(SystemClock())
            measure(own, registry)
            await own.create("/config")
            await own.create("/config/users", b"secret")
            creator = AccessEntry(Access.ALL, "sasl", "broker")
            assert (await own.access("/config/users"))[0] == (creator,)
            assert (await own.access("/config"))[0] == (creator, AccessEntry(Access.READ, "world", "anyone"))
            assert (await own.access("/"))[0] == (await own.access("/config"))[0]
            await other.connect()
            assert await other.children("/") == ["config"]
            for refused in (other.get("/config/users"), other.set("/config", b""), other.create("/config/x")):
                with pytest.raises(NoAuth):
                    await refused
            with pytest.raises(InvalidAcl):
                nobody = session_of(server, None)
                await nobody.connect()
                await nobody.create("/config/y")
            own.drop_connection()
            assert (await own.get("/config/users"))[0] == b"secret"  # logged in again on the new connection
            logins = {row.mbean.rpartition("=")[2]: row.attributes for row in registry.read()}
            assert logins["ZooKeeperSaslAuthenticationsPerSec"]["Count"] == 1
            for session in (own, other, nobody):
                await session.close()

    asyncio.run(run())


@pytest.mark.parametrize("username", USERS)
def test_names_and_passwords_may_have_any_characters(server: SecuredZookeeper, username: str) -> None:
    async def run() -> None:
        session = session_of(server, DigestMd5(username, USERS[username]))
        async with asyncio.timeout(WAIT_S):
            await session.connect()
            assert (await session.access("/"))[0][0] == AccessEntry(Access.ALL, "sasl", username)
        await session.close()

    asyncio.run(run())


def test_a_chroot_may_be_below_znodes_of_others(server: SecuredZookeeper) -> None:
    async def run() -> None:
        login = DigestMd5("bröker", USERS["bröker"])
        admin = KazooSession(server.connect, protection=SessionProtection(login=login))
        owner = (AccessEntry(Access.ALL, "auth", ""), AccessEntry(Access.READ, "world", "anyone"))
        protection = SessionProtection(login=DigestMd5("broker", USERS["broker"]), protects=True)
        broker = KazooSession(f"{server.connect}/top/kafka/one", create_chroot=True, protection=protection)
        async with asyncio.timeout(WAIT_S):
            await admin.connect()
            await admin.create("/top", access=owner)
            await admin.create("/top/kafka", access=OPEN)
            await broker.connect()
            assert (await admin.access("/top/kafka/one"))[0][0].id == "broker"
            await broker.close()
            await admin.close()

    asyncio.run(run())


@pytest.mark.parametrize(("username", "password"), [("broker", "hush-wrong"), ("nobody", "hush-unknown")])
def test_a_refused_login_is_said_once_and_without_the_password(
    server: SecuredZookeeper, username: str, password: str
) -> None:
    async def run() -> None:
        session = session_of(server, DigestMd5(username, password))
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(AuthFailed) as refused:
                await session.connect()
        assert "the login file, at 127.0.0.1: the server refuses the login" in str(refused.value)
        assert "hush" not in str(refused.value)
        assert session.state is SessionState.CLOSED

    asyncio.run(run())


def test_a_server_that_hangs_up_during_the_login_is_named_with_it(server: SecuredZookeeper) -> None:
    async def run() -> None:
        protection = SessionProtection(login=DigestMd5("", "hush"), login_origin="the login file")
        session = KazooSession(server.connect, connection_timeout_ms=1000, protection=protection)
        with pytest.raises(ConnectTimeout, match=r"the login file, at 127\.0\.0\.1: no login: ") as failed:
            await session.connect()
        assert "hush" not in str(failed.value)

    asyncio.run(run())


def test_a_session_whose_login_is_refused_later_is_replaced_when_it_is_accepted_again(
    server: SecuredZookeeper,
) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        session = session_of(server, DigestMd5("broker", USERS["broker"]))
        states: list[SessionState] = []
        reached: dict[SessionState, asyncio.Event] = {state: asyncio.Event() for state in SessionState}

        def listen(state: SessionState) -> None:
            states.append(state)
            reached[state].set()

        hooks: list[str] = []
        async with asyncio.timeout(2 * WAIT_S):
            await session.connect()
            session.add_listener(listen)

            async def before() -> None:
                hooks.append("before")

            async def after() -> None:
                hooks.append("after")

            session.add_expiry_hooks(before=before, after=after)
            await loop.run_in_executor(None, restart, server, {"broker": "another"})
            await reached[SessionState.AUTH_FAILED].wait()
            with pytest.raises(AuthFailed):
                await session.exists("/")
            reached[SessionState.CONNECTED].clear()
            await loop.run_in_executor(None, restart, server, USERS)
            await reached[SessionState.CONNECTED].wait()
            await session.create("/again")
        assert (await session.access("/again"))[0][0] == AccessEntry(Access.ALL, "sasl", "broker")
        assert hooks == ["before", "after"]
        assert states[:2] == [SessionState.SUSPENDED, SessionState.AUTH_FAILED]
        await session.close()

    asyncio.run(run())


def restart(server: SecuredZookeeper, users: dict[str, str]) -> None:
    server.stop()
    server.set_users(users)
    server.start()
    server.wait_serving()


def test_a_server_without_logins_refuses_one(tmp_path: Path) -> None:
    async def run(server: SecuredZookeeper) -> None:
        session = session_of(server, DigestMd5("broker", USERS["broker"]))
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(AuthFailed, match="the login file"):
                await session.connect()

    server = SecuredZookeeper(tmp_path, {})
    server.environment["KAFKA_OPTS"] = server.environment["KAFKA_OPTS"].partition(" -Djava.security")[0]
    with server:
        asyncio.run(run(server))

"""Logins at a whole broker, and of brokers among themselves, on an in-memory ZooKeeper."""

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.errors import ConfigError, ErrorCode
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import AuthenticationFailed, ConnectionLost
from kafka_py.net.secured.client_security import ConnectionSecurity
from kafka_py.security.sasl.client_settings import Secrets, client_login
from kafka_py.security.sasl.jaas import LoginModule
from kafka_py.security.sasl.scram_credentials import credential_of, salted_password
from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest
from kafka_py.zk.store import ZkStore

PREFIX = "listener.name.sasl_plaintext."
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    f"{PREFIX}plain.sasl.jaas.config": f'{MODULES["PLAIN"]} required username="b" password="bs" '
    'user_b="bs" user_a="as";',
    f"{PREFIX}scram-sha-256.sasl.jaas.config": f'{MODULES["SCRAM-SHA-256"]} required;',
    f"{PREFIX}scram-sha-512.sasl.jaas.config": f'{MODULES["SCRAM-SHA-512"]} required;',
    f"{PREFIX}oauthbearer.sasl.jaas.config": f'{MODULES["OAUTHBEARER"]} required;',
    "connection.failed.authentication.delay.ms": "10",
}


@contextlib.asynccontextmanager
async def running(**changes: str) -> AsyncIterator[LocalBroker]:
    with tempfile.TemporaryDirectory() as folder:
        broker = LocalBroker(folder, FakeZookeeper(), {**SETTINGS, **changes})
        await broker.start()
        try:
            yield broker
        finally:
            await broker.stop()


def on_sasl_broker(**changes: str) -> Callable[[Callable[[LocalBroker], Awaitable[None]]], Callable[[], None]]:
    def decorate(test: Callable[[LocalBroker], Awaitable[None]]) -> Callable[[], None]:
        async def run() -> None:
            async with running(**changes) as broker:
                await test(broker)

        return lambda: asyncio.run(run())

    return decorate


def security(mechanism: str, **options: str) -> ConnectionSecurity:
    entry = LoginModule(MODULES[mechanism], "required", options)
    return ConnectionSecurity(log_in=client_login(mechanism, entry, Secrets(Chance(), SYSTEM_CLOCK)))


async def connected(broker: LocalBroker, how: ConnectionSecurity) -> BrokerConnection:
    return await BrokerConnection.connect("127.0.0.1", broker.server.ports["SASL_PLAINTEXT"], security=how)


async def may_ask(broker: LocalBroker, how: ConnectionSecurity) -> str:
    """The principal of a connection that was served."""
    wire = await connected(broker, how)
    try:
        await wire.send(MetadataRequest(topics=[]), 1)
        sockets = broker.server._sockets
        assert sockets is not None
        return str(next(each.principal for each in sockets.connections.values()
                        if each.listener_name == "SASL_PLAINTEXT"))  # fmt: skip
    finally:
        wire.close()


async def refused(broker: LocalBroker, how: ConnectionSecurity) -> str:
    with pytest.raises(AuthenticationFailed) as failed:
        await connected(broker, how)
    return str(failed.value)


@on_sasl_broker()
async def test_plain(broker: LocalBroker) -> None:
    assert await may_ask(broker, security("PLAIN", username="a", password="as")) == "User:a"
    text = await refused(broker, security("PLAIN", username="a", password="no"))
    assert "Authentication failed: Invalid username or password" in text


@on_sasl_broker()
async def test_oauthbearer(broker: LocalBroker) -> None:
    how = security("OAUTHBEARER", unsecuredLoginStringClaim_sub="alice")
    assert await may_ask(broker, how) == "User:alice"
    how = security("OAUTHBEARER", unsecuredLoginStringClaim_sub="alice", unsecuredLoginLifetimeSeconds="0")
    assert '{"status":"invalid_token"}' in await refused(broker, how)


async def set_password(broker: LocalBroker, user: str, mechanism: str, password: str | None) -> None:
    from kafka_py.clients.admin.client import AsyncAdminClient
    from kafka_py.clients.admin.credentials import ScramPassword

    change = None if password is None else ScramPassword(password, 8192)
    async with AsyncAdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"}) as admin:
        (await admin.alter_user_scram_credentials({user: {mechanism: change}})).all()


@on_sasl_broker()
async def test_scram_follows_the_credentials(broker: LocalBroker) -> None:
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        right, wrong = (security(mechanism, username="käthe=", password=each) for each in ("pässword", "no"))
        generic = f"due to invalid credentials with SASL mechanism {mechanism}"
        name = security(mechanism, username="eve", password="pässword")
        assert generic in await refused(broker, name)
        await set_password(broker, "eve", mechanism, "pässword")
        assert await may_ask(broker, name) == "User:eve"
        assert generic in await refused(broker, security(mechanism, username="eve", password="no"))
        await set_password(broker, "eve", mechanism, "other")
        assert generic in await refused(broker, name)
        await set_password(broker, "eve", mechanism, None)
        assert generic in await refused(broker, security(mechanism, username="eve", password="other"))
        assert generic in await refused(broker, right)
        assert generic in await refused(broker, wrong)


@on_sasl_broker(**{"sasl.enabled.mechanisms": "PLAIN"})
async def test_a_mechanism_that_is_not_enabled_is_refused_with_the_list(broker: LocalBroker) -> None:
    text = await refused(broker, security("SCRAM-SHA-256", username="a", password="as"))
    assert "Client SASL mechanism 'SCRAM-SHA-256' not enabled in the server, enabled mechanisms are [PLAIN]" in text


@on_sasl_broker()
async def test_nothing_is_served_before_a_login(broker: LocalBroker) -> None:
    wire = await connected(broker, ConnectionSecurity())
    with pytest.raises(ConnectionLost):
        await wire.send(MetadataRequest(topics=None), 1)
    wire = await connected(broker, ConnectionSecurity())
    await wire.negotiate()
    wire.put_frame(b"\0\x09\0\0")  # announces more bytes than a request before a login may have
    await broker.until(lambda: wire.closed)


@on_sasl_broker()
async def test_after_a_login_there_is_no_other(broker: LocalBroker) -> None:
    wire = await connected(broker, security("PLAIN", username="a", password="as"))
    response = await wire.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert (response.error_code, response.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    wire.close()


@on_sasl_broker(**{"connections.max.reauth.ms": "2500"})
async def test_a_session_is_renewed_while_requests_go_on(broker: LocalBroker) -> None:
    wire = await connected(broker, security("PLAIN", username="a", password="as"))
    sockets = broker.server._sockets
    assert sockets is not None
    traffic = sockets._served["SASL_PLAINTEXT"].traffic
    async with asyncio.timeout(20):
        while traffic.successful_reauthentications < 2:
            await wire.send(MetadataRequest(topics=[]), 1)
            await asyncio.sleep(0.01)
    assert (traffic.successful_authentications, traffic.expired_connections) == (1, 0)
    wire.close()


@on_sasl_broker(**{"connections.max.reauth.ms": "50"})
async def test_a_session_that_is_not_renewed_ends(broker: LocalBroker) -> None:
    login = security("PLAIN", username="a", password="as").log_in
    assert login is not None

    async def once(wire: BrokerConnection) -> None:
        await login(wire)

    wire = await connected(broker, ConnectionSecurity(log_in=once))
    with pytest.raises(ConnectionLost):
        async with asyncio.timeout(20):
            while True:
                await wire.send(MetadataRequest(topics=[]), 1)
                await asyncio.sleep(0.01)
    sockets = broker.server._sockets
    assert sockets is not None
    assert sockets._served["SASL_PLAINTEXT"].traffic.expired_connections == 1
    assert sockets.expired_connections == 1


@on_sasl_broker()
async def test_failures_are_counted_and_secrets_are_not_logged(broker: LocalBroker) -> None:
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("kafka_py")]
    levels = [each.level for each in loggers]
    logging.root.addHandler(handler)
    for each in loggers:
        each.setLevel(logging.DEBUG)
    try:
        for _ in range(5):
            await refused(broker, security("PLAIN", username="a", password="planted-secret"))
    finally:
        logging.root.removeHandler(handler)
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
    sockets = broker.server._sockets
    assert sockets is not None
    assert sockets._served["SASL_PLAINTEXT"].traffic.failed_authentications == 5
    assert any("Failed authentication with 127.0.0.1" in each for each in records)
    assert not any("planted-secret" in each for each in records)


def check_password(username: str, password: str) -> bool:
    """A callback of a user."""
    if username == "broken":
        raise OSError("no connection to the directory")
    return password == username[::-1]


def test_a_callback_of_the_user_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    module = types.ModuleType("own_callbacks")
    module.check_password = check_password  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_callbacks", module)

    async def run() -> None:
        setting = {f"{PREFIX}plain.sasl.server.callback.handler.class": "own_callbacks:check_password"}
        async with running(**setting) as broker:
            assert await may_ask(broker, security("PLAIN", username="abc", password="cba")) == "User:abc"
            assert "Invalid username" in await refused(broker, security("PLAIN", username="abc", password="abc"))
            text = await refused(broker, security("PLAIN", username="broken", password="x"))
            assert "credentials for user could not be verified" in text

    asyncio.run(run())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "has no login for GSSAPI"),
        ({"sasl.enabled.mechanisms": "PLAIN,OWN"}, "OWN is not available"),
        ({f"{PREFIX}plain.sasl.jaas.config": "M required;"}, "has no module org.apache.kafka.common.security.plain"),
        ({f"{PREFIX}plain.sasl.jaas.config": "M"}, f"{PREFIX}plain.sasl.jaas.config"),
        ({f"{PREFIX}plain.sasl.server.callback.handler.class": "com.Own"}, "a Python function is expected"),
        ({"inter.broker.listener.name": "SASL_PLAINTEXT"}, "sasl.mechanism.inter.broker.protocol must be included"),
    ],
)
def test_settings_that_cannot_be_used_stop_the_start(changes: dict[str, str], says: str) -> None:
    async def run() -> None:
        async with running(**changes):
            pass

    with pytest.raises(ConfigError) as failed:
        asyncio.run(run())
    assert says in failed.value.message


def test_brokers_log_in_at_each_other() -> None:
    """A topic with two replicas, over a listener with logins."""

    async def run() -> None:
        zookeeper = FakeZookeeper()
        between = {
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
            "inter.broker.listener.name": "SASL_PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "connections.max.reauth.ms": "3000",
        }
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            brokers = [LocalBroker(first, zookeeper, SETTINGS), LocalBroker(second, zookeeper, SETTINGS)]
            monitored = []
            try:
                for number, broker in enumerate(brokers):
                    await start_between(broker, {**between, "broker.id": str(number)})
                    monitored.append(broker)
                await brokers[0].until(lambda: brokers[0].server.node.metadata.is_live(1))
                await make_replicated(brokers[0])
                await brokers[0].until(lambda: in_sync(brokers[0]) == 2)
                await brokers[0].until(lambda: principals(brokers[0]) == {"User:b"})
            finally:
                for broker in monitored:
                    await broker.stop()

    asyncio.run(run())


def principals(broker: LocalBroker) -> set[str]:
    """Of the connections between brokers; one that is still logging in is nobody's yet."""
    sockets = broker.server._sockets
    assert sockets is not None
    found = [each for each in sockets.connections.values() if each.listener_name == "SASL_PLAINTEXT"]
    return {str(each.principal) for each in found}


async def start_between(broker: LocalBroker, settings: dict[str, str]) -> None:
    broker.settings.update(settings)
    plain = broker.connect

    async def connect(client_id: str = "test") -> BrokerConnection:
        return await BrokerConnection.connect("127.0.0.1", broker.server.ports["PLAINTEXT"], client_id=client_id)

    assert plain is not None
    setattr(broker, "connect", connect)  # noqa: B010  # it is a method
    await broker.start()


async def make_replicated(broker: LocalBroker) -> Any:
    from kafka_py.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=2, assignments=[], configs=[])
    controllers = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
    response = await broker.client.send(controllers, 5)
    assert [each.error_code for each in response.topics] == [0]


def in_sync(broker: LocalBroker) -> int:
    from kafka_py.base.ids import TopicPartition

    info = broker.server.node.metadata.partition(TopicPartition("t", 0))
    return len(info.isr) if info is not None else 0


@on_sasl_broker()
async def test_credentials_that_were_deleted_while_changes_were_missed_are_of_no_use(broker: LocalBroker) -> None:
    mechanism = "SCRAM-SHA-256"
    salted = salted_password(mechanism, "as", b"salt", 4096)
    text = credential_of(mechanism, salted, b"salt", 4096).text()
    await broker.store.configs.change("users/alice", {mechanism: text})
    users = broker.server._logins.users
    await broker.until(lambda: users.find(mechanism, "alice", False))
    broker.session.cut()
    other = broker.zookeeper.session()
    await other.connect()
    configs = ZkStore(other).configs
    await configs.change("users/alice", {})
    await configs.announce_change("topics/another")
    missed = sorted(await other.children("/config/changes"))[-2]
    await other.delete(f"/config/changes/{missed}")
    broker.session.mend()
    await broker.until(lambda: users.find(mechanism, "alice", False) is None)
    await other.close()

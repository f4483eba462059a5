"""Logins with Kerberos tickets at whole brokers, and of brokers among themselves; the KDC is a real one."""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.errors import ConfigError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import AuthenticationFailed
from kafka_py.net.secured.client_security import ConnectionSecurity
from kafka_py.security.sasl.client_settings import Secrets, client_login
from kafka_py.security.sasl.jaas import LoginModule
from kafka_py.security.sasl.kerberos_library import KerberosLibrary
from kafka_py.security.sasl.kerberos_settings import KERBEROS_MODULE, KerberosEntry, KerberosRules, kerberos_entry
from kafka_py.security.sasl.kerberos_tickets import CachedTickets, KeytabTickets
from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.peers.kerberos import KerberosRealm, krb5_entry, missing
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.metadata import MetadataRequest

BROKER = "kafka/localhost"


@pytest.fixture(scope="module")
def realm(kerberos_realm: KerberosRealm) -> KerberosRealm:
    kerberos_realm.add(BROKER, "alice", "ann/admin")
    return kerberos_realm


def settings(realm: KerberosRealm, **changes: str) -> dict[str, str]:
    return {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "listener.name.sasl_plaintext.gssapi.sasl.jaas.config": krb5_entry(realm.by_keytab(BROKER)),
        "connection.failed.authentication.delay.ms": "10",
        **changes,
    }


class KerberosBroker(LocalBroker):
    """One whose own connection in the test logs in as well."""

    login: ConnectionSecurity

    async def connect(self, client_id: str = "test") -> BrokerConnection:
        return await BrokerConnection.connect("127.0.0.1", self.port, client_id=client_id, security=self.login)


@contextlib.asynccontextmanager
async def running(
    realm: KerberosRealm, zookeeper: FakeZookeeper | None = None, /, **changes: str
) -> AsyncIterator[KerberosBroker]:
    with tempfile.TemporaryDirectory() as folder:
        broker = KerberosBroker(folder, zookeeper or FakeZookeeper(), settings(realm, **changes))
        broker.login = with_entry(realm.by_keytab(BROKER))
        await broker.start()
        try:
            yield broker
        finally:
            await broker.stop()


def with_entry(options: dict[str, str], service: str = "kafka") -> ConnectionSecurity:
    entry = LoginModule(KERBEROS_MODULE, "required", options)
    secrets = Secrets(Chance(), SYSTEM_CLOCK)
    return ConnectionSecurity(log_in=client_login("GSSAPI", entry, secrets, kerberos=KerberosRules(service)))


def principals(broker: LocalBroker) -> list[str]:
    sockets = broker.server._sockets
    assert sockets is not None
    return [str(each.principal) for each in sockets.connections.values()]


async def principal_of(broker: LocalBroker, how: ConnectionSecurity) -> str:
    """Of a connection that was served."""
    wire = await BrokerConnection.connect("127.0.0.1", broker.port, security=how)
    try:
        await wire.send(MetadataRequest(topics=[]), 1)
        return principals(broker)[-1]
    finally:
        wire.close()


async def refused(broker: LocalBroker, how: ConnectionSecurity) -> str:
    with pytest.raises(AuthenticationFailed) as failed:
        await BrokerConnection.connect("127.0.0.1", broker.port, security=how)
    return str(failed.value)


def test_a_keytab_or_a_cached_ticket_logs_in(realm: KerberosRealm, tmp_path: Path) -> None:
    realm.kinit("alice", tmp_path / "tickets")

    async def run() -> None:
        async with running(realm) as broker:
            assert await principal_of(broker, with_entry(realm.by_keytab("alice"))) == "User:alice"
            assert await principal_of(broker, with_entry(realm.by_keytab("ann/admin"))) == "User:ann"
            cached = {"useTicketCache": "true", "ticketCache": str(tmp_path / "tickets")}
            assert await principal_of(broker, with_entry(cached)) == "User:alice"

    asyncio.run(run())


def test_rules_make_short_names(realm: KerberosRealm) -> None:
    rules = "RULE:[2:$1@$0](ann@EXAMPLE.COM)s/@.*/-the-admin/,RULE:[2:$1](kafka)"

    async def run() -> None:
        async with running(realm, **{"sasl.kerberos.principal.to.local.rules": rules}) as broker:
            assert await principal_of(broker, with_entry(realm.by_keytab("ann/admin"))) == "User:ann-the-admin"
            says = await refused(broker, with_entry(realm.by_keytab("alice")))
            assert "No rules apply to a principal of the realm EXAMPLE.COM" in says

    asyncio.run(run())


def test_without_a_right_ticket_there_is_no_login(realm: KerberosRealm, tmp_path: Path) -> None:
    realm.add("mallory")
    realm.change_keys("mallory")

    async def run() -> None:
        async with running(realm) as broker:
            no_tickets = {"useTicketCache": "true", "ticketCache": str(tmp_path / "none")}
            assert "GSSAPI: No credentials cache found" in await refused(broker, with_entry(no_tickets))
            old_keys = with_entry(realm.by_keytab("mallory"))
            assert "GSSAPI: " in await refused(broker, old_keys)
            other = with_entry(realm.by_keytab("alice"), service="other")
            assert "Server other/localhost@EXAMPLE.COM not found" in await refused(broker, other)
            plain = ConnectionSecurity(log_in=client_login(
                "PLAIN", LoginModule(MODULES["PLAIN"], "required", {"username": "a", "password": "b"}),
                Secrets(Chance(), SYSTEM_CLOCK),
            ))  # fmt: skip
            assert "enabled mechanisms are [GSSAPI]" in await refused(broker, plain)
            assert await principal_of(broker, with_entry(realm.by_keytab("alice"))) == "User:alice"

    asyncio.run(run())


def test_a_ticket_for_old_keys_of_the_broker_is_refused(realm: KerberosRealm) -> None:
    """The broker's keytab no longer has the key that the KDC uses."""
    service = "moved/localhost"
    realm.add(service)
    realm.change_keys(service)

    async def run() -> None:
        changes = {"listener.name.sasl_plaintext.gssapi.sasl.jaas.config": krb5_entry(realm.by_keytab(service))}
        with tempfile.TemporaryDirectory() as folder:
            plain = {"listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
                     "inter.broker.listener.name": "PLAINTEXT", "sasl.kerberos.service.name": "moved"}  # fmt: skip
            broker = LocalBroker(folder, FakeZookeeper(), settings(realm, **plain, **changes))
            await broker.start()
            try:
                login, port = with_entry(realm.by_keytab("alice"), "moved"), broker.server.ports["SASL_PLAINTEXT"]
                with pytest.raises(AuthenticationFailed, match="due to invalid credentials with SASL mechanism GSSAPI"):
                    await BrokerConnection.connect("127.0.0.1", port, security=login)
            finally:
                await broker.stop()

    asyncio.run(run())


def test_a_login_inside_tls(realm: KerberosRealm, tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path)
    entry = krb5_entry(realm.by_keytab(BROKER))
    given = settings(realm, **{
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0", "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.sasl_ssl.gssapi.sasl.jaas.config": entry, **files.broker(),
    })  # fmt: skip

    async def run() -> None:
        broker = LocalBroker(str(tmp_path / "data"), FakeZookeeper(), given)
        await broker.start()
        client = {
            "bootstrap.servers": f"localhost:{broker.server.ports['SASL_SSL']}", **files.trust(),
            "security.protocol": "SASL_SSL", "sasl.kerberos.service.name": "kafka",
            "sasl.jaas.config": krb5_entry(realm.by_keytab("alice")),
        }  # fmt: skip
        try:
            async with AsyncAdminClient(client) as admin:
                await admin.list_topics()
                assert "User:alice" in principals(broker)
        finally:
            await broker.stop()

    asyncio.run(run())


def test_a_session_is_renewed_with_another_ticket(realm: KerberosRealm) -> None:
    async def run() -> None:
        async with running(realm, **{"connections.max.reauth.ms": "2500"}) as broker:
            wire = await BrokerConnection.connect(
                "127.0.0.1", broker.port, security=with_entry(realm.by_keytab("alice"))
            )
            sockets = broker.server._sockets
            assert sockets is not None
            traffic = sockets._served["SASL_PLAINTEXT"].traffic
            async with asyncio.timeout(30):
                while traffic.successful_reauthentications < 2:
                    await wire.send(MetadataRequest(topics=[]), 1)
                    await asyncio.sleep(0.01)
            assert traffic.expired_connections == 0
            wire.close()

    asyncio.run(run())


@pytest.mark.slow
def test_tickets_are_replaced_before_they_end(tmp_path: Path) -> None:
    """Those of a keytab by new ones, those in a cache by kinit -R; each is good for a login."""
    why = missing()
    if why is not None:
        pytest.skip(why)
    rules = KerberosRules("kafka", window_factor=0.5, least_period_ms=0.0)
    rng = Chance().generator()

    async def run(realm: KerberosRealm) -> None:
        library, obtained, cached = KerberosLibrary("test"), set(), set()
        keys = kerberos_entry(realm.by_keytab("alice"))
        by_keytab = KeytabTickets(library, keys, rules, "test-of-renewals", SYSTEM_CLOCK, rng)
        in_cache = CachedTickets(library, KerberosEntry(None, None, str(realm.tickets)), rules, rng)
        async with asyncio.timeout(60):
            while len(obtained) < 4 or len(cached) < 4:
                for ticket in (by_keytab.current(), in_cache.current()):
                    library.begin_initiating(ticket, "kafka", "localhost").step(None)
                obtained.add(by_keytab.current())
                cached.add(realm.tickets.stat().st_mtime_ns)
                in_cache.renew_in_time()
                await asyncio.sleep(0.05)

    with pytest.MonkeyPatch.context() as patch, KerberosRealm(tmp_path, life="4s") as realm:
        for name, value in realm.kerberos.items():
            patch.setenv(name, value)
        realm.add(BROKER, "alice")
        realm.kinit("alice", realm.tickets, "-r", "1d")
        asyncio.run(run(realm))


def test_brokers_log_in_at_each_other(realm: KerberosRealm) -> None:
    async def run() -> None:
        zookeeper = FakeZookeeper()
        async with running(realm, zookeeper) as first, running(realm, zookeeper, **{"broker.id": "1"}):
            await first.until(lambda: first.server.node.metadata.is_live(1))
            await first.create_topic("t", replication_factor=2)
            await first.until(lambda: in_sync(first) == 2)
            await first.until(lambda: set(principals(first)) == {"User:kafka"})  # others are still logging in

    asyncio.run(run())


def in_sync(broker: LocalBroker) -> int:
    info = broker.server.node.metadata.partition(TopicPartition("t", 0))
    return len(info.isr) if info is not None else 0


ENTRY = "listener.name.sasl_plaintext.gssapi.sasl.jaas.config"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sasl.kerberos.service.name": ""}, "GSSAPI needs sasl.kerberos.service.name"),
        ({ENTRY: krb5_entry({"useTicketCache": "true"})}, "needs useKeyTab=true, keyTab and principal"),
        ({ENTRY: krb5_entry({"useKeyTab": "true", "keyTab": "/none", "principal": "k/h"})}, "keys of k/h can be read"),
        ({"sasl.kerberos.principal.to.local.rules": "RULE"}, "the rule 'RULE' cannot be parsed"),
    ],
)
def test_settings_that_cannot_be_used_stop_the_start(
    realm: KerberosRealm, changes: dict[str, str], says: str
) -> None:
    async def run() -> None:
        async with running(realm, **changes):
            pass

    with pytest.raises(ConfigError) as failed:
        asyncio.run(run())
    assert says in failed.value.message
    assert "\n" not in failed.value.message


def test_without_the_package_a_broker_says_which_extra_has_it(
    realm: KerberosRealm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)

    async def run() -> None:
        async with running(realm):
            pass

    with pytest.raises(ConfigError, match=r"pip install 'kafka_py\[kerberos\]'"):
        asyncio.run(run())

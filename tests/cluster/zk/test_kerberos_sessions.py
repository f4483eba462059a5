"""Logins with Kerberos tickets at a real ZooKeeper; the KDC is a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.jaas import parse_login_file
from kafka_py.security.zookeeper.client_section import login_of, origin
from kafka_py.testing.peers.kerberos import REALM, KerberosRealm, krb5_entry
from kafka_py.testing.secured_zookeeper import SecuredZookeeper
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.secured.access_lists import Access, AccessEntry
from kafka_py.zk.secured.protection import SessionProtection
from kafka_py.zk.session import AuthFailed

pytestmark = pytest.mark.timeout(180)

SERVER = "zookeeper/localhost"
WAIT_S = 60


@pytest.fixture(scope="module")
def realm(kerberos_realm: KerberosRealm) -> KerberosRealm:
    kerberos_realm.add(SERVER, "other/localhost", "broker", "stranger")
    return kerberos_realm


@pytest.fixture(scope="module")
def server(realm: KerberosRealm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredZookeeper]:
    made = SecuredZookeeper(tmp_path_factory.mktemp("zookeeper"), {})
    made.set_login(krb5_entry({**realm.by_keytab(SERVER), "useTicketCache": "false"}))
    made.environment["KAFKA_OPTS"] += f" {realm.java_option}"
    with made:
        yield made


def session_of(
    server: SecuredZookeeper, options: Mapping[str, object], host: str = "localhost", **java: str
) -> KazooSession:
    properties = {name.replace("_", "."): value for name, value in java.items()}
    login = login_of(parse_login_file(f"Client {{ {krb5_entry(options)} }};"), properties, Chance())
    protection = SessionProtection(login=login, login_origin=origin(properties), protects=True)
    return KazooSession(f"{host}:{server.port}/kafka", create_chroot=True, protection=protection)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_znodes_belong_to_the_principal_of_the_ticket(
    realm: KerberosRealm, server: SecuredZookeeper, host: str
) -> None:
    async def run() -> None:
        session = session_of(server, realm.by_keytab("broker"), host)
        async with asyncio.timeout(WAIT_S):
            await session.connect()
            session.drop_connection()
            entries, _ = await session.access("/")  # logged in again
            await session.close()
        assert entries[0] == AccessEntry(Access.ALL, "sasl", f"broker@{REALM}")

    asyncio.run(run())


def test_a_ticket_may_be_in_a_cache(realm: KerberosRealm, server: SecuredZookeeper, tmp_path: Path) -> None:
    cache = tmp_path / "tickets"
    options = {"useTicketCache": "true", "ticketCache": str(cache)}

    async def run() -> None:
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(AuthFailed, match=r"section Client of the login file .*: GSSAPI: "):
                await session_of(server, options).connect()
            realm.kinit("broker", cache)
            session = session_of(server, options)
            await session.connect()
            await session.close()

    asyncio.run(run())


def test_servers_of_another_name_are_refused_by_the_client(realm: KerberosRealm, server: SecuredZookeeper) -> None:
    async def run() -> None:
        session = session_of(server, realm.by_keytab("broker"), zookeeper_sasl_client_username="other")
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(AuthFailed, match="the server refuses the login"):
                await session.connect()

    asyncio.run(run())


def test_keys_that_are_not_there_end_the_start(realm: KerberosRealm, server: SecuredZookeeper) -> None:
    options = {**realm.by_keytab("broker"), "principal": f"stranger@{REALM}"}
    with pytest.raises(ConfigError, match=r"stranger@.*broker\.keytab"):
        session_of(server, options)

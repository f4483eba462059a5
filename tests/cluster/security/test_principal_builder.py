"""`principal.builder.class` at a whole broker, on listeners with and without logins and certificates."""

import asyncio
import sys
import types
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.errors import AuthenticationError
from kafka_py.security.principal_builder import Authenticated
from kafka_py.security.tls.der import certificate_fields
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.zookeeper import FakeZookeeper

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS = {
    "principal.builder.class": "own_principals.Own",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{LOGIN} user_alice="a" user_mallory="m";',
}


@pytest.fixture(autouse=True)
def own_principals(monkeypatch: pytest.MonkeyPatch) -> list[Authenticated]:
    seen: list[Authenticated] = []

    class Own:
        def build(self, authenticated: Authenticated) -> str:
            seen.append(authenticated)
            login = authenticated.login
            if login is not None and login.name == "mallory":
                raise ValueError("mallory is not welcome")
            return f"User:{login.name if login is not None else authenticated.host}@{authenticated.listener}"

    module = types.ModuleType("own_principals")
    module.Own = Own  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_principals", module)
    return seen


async def principals(broker: LocalBroker, listener: str, client: Mapping[str, str]) -> set[str]:
    """Of the connections of a client while it is there."""
    settings = {"bootstrap.servers": f"localhost:{broker.server.ports[listener]}", "request.timeout.ms": "5000"}
    async with AsyncAdminClient({**settings, **client}) as admin:
        await admin.list_topics()
        sockets = broker.server._sockets
        assert sockets is not None
        return {str(each.principal) for each in sockets.connections.values() if each.listener_name == listener}


def log_in(name: str, password: str) -> dict[str, str]:
    entry = f'{LOGIN} username="{name}" password="{password}";'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": entry}


def test_the_class_names_the_clients_of_every_listener(tmp_path: Path, own_principals: list[Authenticated]) -> None:
    files = CertificateFiles(tmp_path / "certificates")
    listeners = "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    settings = {**SETTINGS, **files.broker(), "listeners": listeners, "ssl.client.auth": "required"}

    async def run() -> None:
        broker = LocalBroker(str(tmp_path), FakeZookeeper(), settings)
        await broker.start()
        try:
            assert await principals(broker, "PLAINTEXT", {}) == {"User:127.0.0.1@PLAINTEXT"}
            assert await principals(broker, "SSL", files.client("alice")) == {"User:127.0.0.1@SSL"}
            assert await principals(broker, "SASL_PLAINTEXT", log_in("alice", "a")) == {"User:alice@SASL_PLAINTEXT"}
            with pytest.raises((AuthenticationError, KafkaError), match="mallory is not welcome"):
                await principals(broker, "SASL_PLAINTEXT", log_in("mallory", "m"))
        finally:
            await broker.stop()

    asyncio.run(run())
    by_protocol = {each.security_protocol: each for each in own_principals}
    certificate = by_protocol["SSL"].certificate
    assert certificate is not None and certificate_fields(certificate)
    assert by_protocol["PLAINTEXT"].certificate is None
    login = by_protocol["SASL_PLAINTEXT"].login
    assert login is not None and login.name in ("alice", "mallory")


def test_a_plain_connection_that_the_class_refuses_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Nobody:
        def build(self, authenticated: Authenticated) -> str:
            raise ValueError("nobody is welcome")

    monkeypatch.setattr(sys.modules["own_principals"], "Own", Nobody)
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0,OPEN://127.0.0.1:0", "inter.broker.listener.name": "OPEN",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OPEN:PLAINTEXT",
                "listener.name.plaintext.principal.builder.class": "own_principals.Own"}  # fmt: skip

    async def run() -> None:
        broker = LocalBroker(str(tmp_path), FakeZookeeper(), settings)
        await broker.start()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", broker.server.ports["PLAINTEXT"])
            async with asyncio.timeout(20):
                assert await reader.read() == b""
            writer.close()
            assert await principals(broker, "OPEN", {}) == {"User:ANONYMOUS"}
        finally:
            await broker.stop()

    with caplog.at_level("INFO"):
        asyncio.run(run())
    assert "nobody is welcome" in caplog.text

"""Connections that log in or fail to leave no cycles: the collector looks at old objects so seldom that a flood of
them would be a leak.
"""

import asyncio
import gc
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest

CONNECTIONS = 20
OF_THE_BROKER = 2 * CONNECTIONS
"""Objects of what else the broker does meanwhile; a connection that leaves any leaves more than two."""


def framed(request: object, version: int) -> bytes:
    return bytes(encode_request(request, version, 1, "c"))


def login(token: bytes, mechanism: str = "PLAIN") -> list[bytes]:
    return [framed(SaslHandshakeRequest(mechanism=mechanism), 1), framed(SaslAuthenticateRequest(auth_bytes=token), 1)]


METADATA = framed(MetadataRequest(topics=[]), 1)
WAYS: dict[str, tuple[str, list[bytes]]] = {
    "plain": ("PLAINTEXT", [METADATA]),
    "cut off": ("SASL_PLAINTEXT", [login(b"")[0]]),
    "right password": ("SASL_PLAINTEXT", [*login(b"\0alice\0secret"), METADATA]),
    "wrong password": ("SASL_PLAINTEXT", login(b"\0alice\0wrong")),
    "right password in a session that ends": ("SASL_SSL", [*login(b"\0alice\0secret"), METADATA]),
    "unknown user of SCRAM": ("SASL_PLAINTEXT", login(b"n,,n=nobody,r=abc", "SCRAM-SHA-256")),
    "unusable token": ("SASL_PLAINTEXT", login(b"n,,\x01auth=Bearer x\x01\x01", "OAUTHBEARER")),
    "no login": ("SASL_PLAINTEXT", [METADATA]),
    "TLS": ("SSL", [METADATA]),
    "TLS and a wrong password": ("SASL_SSL", login(b"\0alice\0wrong")),
}


def converse(port: int, sent: list[bytes], context: ssl.SSLContext | None) -> None:
    """Sends each request when the last one is answered, until the end of either."""
    plain = socket.create_connection(("127.0.0.1", port))
    connection = plain if context is None else context.wrap_socket(plain, server_hostname="localhost")
    with plain, connection:
        for each in sent:
            connection.sendall(each)
            if not connection.recv(65536):
                return


def speak_plainly(port: int, _sent: list[bytes], _context: ssl.SSLContext | None) -> None:
    with socket.create_connection(("127.0.0.1", port)) as plain:
        plain.sendall(METADATA)
        plain.recv(1000)


async def garbage_of(broker: LocalBroker, client: Callable[[], None]) -> int:
    """How many objects are left for the collector."""
    sockets = broker.server._sockets
    assert sockets is not None
    before = set(sockets.connections)

    async def run() -> None:
        await asyncio.to_thread(client)
        await broker.until(lambda: not set(sockets.connections) - before)

    await run()
    gc.collect()
    gc.disable()
    try:
        for _ in range(CONNECTIONS):
            await run()
        return gc.collect()
    finally:
        gc.enable()


def settings(files: CertificateFiles) -> dict[str, str]:
    found = {
        **files.broker(),
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        "connection.failed.authentication.delay.ms": "1",
        "listener.name.sasl_ssl.plain.connections.max.reauth.ms": "60000",
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        for mechanism, module in MODULES.items():
            given = 'user_alice="secret"' if mechanism == "PLAIN" else ""
            found[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = f"{module} required {given};"
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return CertificateFiles(tmp_path_factory.mktemp("certificates"))


@pytest.mark.parametrize("way", [*WAYS, "plain bytes to TLS"])
def test_connections_leave_no_garbage(way: str, files: CertificateFiles, tmp_path: Path) -> None:
    listener, sent = WAYS.get(way, ("SSL", []))
    context = ssl.create_default_context(cafile=str(files.authority_pem)) if way in WAYS and "SSL" in listener else None
    speak = converse if way in WAYS else speak_plainly

    async def scenario() -> int:
        broker = LocalBroker(str(tmp_path), FakeZookeeper(), settings(files))
        await broker.start()
        try:
            port = broker.server.ports[listener]
            return await garbage_of(broker, lambda: speak(port, sent, context))
        finally:
            await broker.stop()

    assert asyncio.run(scenario()) <= OF_THE_BROKER

"""A login over a blocking socket: what is sent, and how refusals end."""

import socket
import threading
from collections.abc import Sequence

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode
from kafka_py.cli.local_cluster.broker_view import receive
from kafka_py.cli.local_cluster.secured_socket import SecuredConnections, log_in
from kafka_py.cli.local_cluster.security import OAUTHBEARER, PLAIN, login_entry, token_options
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.wire.frames import encode_response
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeResponse

AGREED = SaslHandshakeResponse(error_code=0, mechanisms=[PLAIN])


def options(mechanism: str = PLAIN, entry: str | None = None) -> AdminOptions:
    given = entry or login_entry(PLAIN, {"username": "alice", "password": "alice-secret"})
    return AdminOptions.parse({"bootstrap.servers": "h:1", "security.protocol": "SASL_PLAINTEXT",
                               "sasl.mechanism": mechanism, "sasl.jaas.config": given})  # fmt: skip


def logged_in(answers: Sequence[object], how: AdminOptions) -> list[bytes]:
    """The requests of a login at a broker that answers so, and then closes the connection."""
    ours, theirs = socket.socketpair()
    received: list[bytes] = []

    def broker() -> None:
        with theirs:
            for number, answer in enumerate(answers, 1):
                received.append(bytes(receive(theirs, int.from_bytes(receive(theirs, 4), "big"))))
                for part in encode_response(answer, 1, number):
                    assert isinstance(part, bytes)
                    theirs.sendall(part)

    thread = threading.Thread(target=broker)
    thread.start()
    try:
        with ours:
            log_in(ours, how)
    finally:
        thread.join(10)
    return received


def test_user_and_password_are_sent_once_the_mechanism_is_agreed() -> None:
    done = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"", session_lifetime_ms=0)
    handshake, login = logged_in([AGREED, done], options())
    assert handshake.endswith(b"\0\5PLAIN")
    assert login.endswith(b"\0alice\0alice-secret")


def test_a_refusal_has_the_brokers_reason() -> None:
    refused = SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="wrong", auth_bytes=b"", session_lifetime_ms=0
    )
    with pytest.raises(ConnectionError, match="wrong"):
        logged_in([AGREED, refused], options())
    other = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=["SCRAM-SHA-256"])
    with pytest.raises(ConnectionError, match="does not take PLAIN, but SCRAM-SHA-256"):
        logged_in([other], options())
    with pytest.raises(ConnectionError):
        logged_in([AGREED], options())


def test_what_cannot_be_done_without_a_client_is_said() -> None:
    with pytest.raises(ConfigError, match="OAUTHBEARER needs a client"):
        logged_in([AGREED], options(OAUTHBEARER, login_entry(OAUTHBEARER, token_options("alice"))))
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location"):
        SecuredConnections({"security.protocol": "SSL", "ssl.truststore.location": "/no/such/file"})

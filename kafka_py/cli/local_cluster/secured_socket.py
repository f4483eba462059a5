"""Blocking connections to brokers, secured as a client's settings say: for single questions, without an event loop.

Source: KIP-43, KIP-152; SaslClientAuthenticator.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.cli.local_cluster.broker_view import exchange, plain_connection
from kafka_py.cli.local_cluster.security import OAUTHBEARER, PLAIN

if TYPE_CHECKING:
    from kafka_py.clients.admin.configs import AdminOptions
    from kafka_py.security.sasl.mechanisms import ClientMechanism


class SecuredConnections:
    """Connections by a client's settings (security.protocol, ssl.*, sasl.*). Raises ConfigError."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        from kafka_py.clients.admin.configs import AdminOptions
        from kafka_py.clients.security import tls_settings
        from kafka_py.security.tls.contexts import client_context
        from kafka_py.security.tls.stores import load_stores

        options = AdminOptions.parse({"bootstrap.servers": "localhost:9092", **settings})
        self._context = None
        if options.security_protocol.endswith("SSL"):
            tls = tls_settings(options)
            self._context = client_context(tls, load_stores(tls))
        self._login = options if options.security_protocol.startswith("SASL_") else None

    def __call__(self, host: str, port: int, timeout_s: float) -> socket.socket:
        connection = plain_connection(host, port, timeout_s)
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_hostname=host)
            if self._login is not None:
                log_in(connection, self._login)
        except BaseException:
            connection.close()
            raise
        return connection


def log_in(connection: socket.socket, options: AdminOptions) -> None:
    """Logs a connection in. Raises ConnectionError with the broker's reason, ConfigError."""
    from kafka_py.base.errors import KafkaError
    from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
    from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

    ids = itertools.count(1)
    answer = _ask(connection, SaslHandshakeRequest(mechanism=options.sasl_mechanism), SaslHandshakeResponse, next(ids))
    if answer.error_code:
        enabled = ", ".join(answer.mechanisms)
        raise ConnectionError(f"The broker does not take {options.sasl_mechanism}, but {enabled}")
    mechanism = _mechanism(options)
    token: bytes | None = mechanism.first()
    while token is not None:
        answer = _ask(connection, SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, next(ids))
        if answer.error_code:
            raise ConnectionError(answer.error_message or "The login was refused")
        try:
            token = mechanism.step(bytes(answer.auth_bytes))
        except KafkaError as error:
            raise ConnectionError(error.message) from None


def _mechanism(options: AdminOptions) -> ClientMechanism:
    from kafka_py.base.chance import Chance
    from kafka_py.base.errors import ConfigError
    from kafka_py.security.sasl.jaas import client_module
    from kafka_py.security.sasl.plain import PlainClient
    from kafka_py.security.sasl.scram import ScramClient
    from kafka_py.security.sasl.scram_credentials import random_text

    entry = client_module(options.sasl_jaas_config, {}).options
    name = options.sasl_mechanism
    if name == OAUTHBEARER:
        raise ConfigError("sasl.mechanism: a login with OAUTHBEARER needs a client with an event loop")
    username, password = entry.get("username", ""), entry.get("password", "")
    return PlainClient(username, password) if name == PLAIN else ScramClient(name, username, password,
                                                                             random_text(Chance()))  # fmt: skip


def _ask(connection: socket.socket, request: object, kind: type, correlation_id: int) -> Any:
    from kafka_py.wire.frames import decode_response, encode_request

    return decode_response(kind, 1, exchange(connection, encode_request(request, 1, correlation_id, "kafka-py")))[1]

"""Logging a connection in at a broker, and again before its session ends (I/O).

Source: KIP-43, KIP-152, KIP-368; SaslClientAuthenticator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import kafka_py
from kafka_py.base.chance import Random
from kafka_py.base.errors import ErrorCode, KafkaError, error_code_of
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import AuthenticationFailed
from kafka_py.security.sasl.mechanisms import ClientMechanism
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest

_log = logging.getLogger(__name__)

EARLIEST, LATEST = 0.85, 0.95
"""The share of a session after which it is renewed, drawn between the two."""


class MakeMechanism(Protocol):
    """(host of the broker) -> the mechanism for a new exchange; a coroutine function may get a new token first."""

    def __call__(self, host: str) -> Awaitable[ClientMechanism]: ...


class ClientLogin:
    """Logs in with one mechanism. rng: spreads renewals."""

    def __init__(self, mechanism: str, make: MakeMechanism, rng: Random) -> None:
        self.mechanism = mechanism
        self._make = make
        self._rng = rng

    async def __call__(self, wire: BrokerConnection) -> float | None:
        """Logs the connection in; in how many ms to do so again, None: never.

        Raises AuthenticationFailed, ConnectionLost.
        """
        try:
            return await self._log_in(wire)
        except KafkaError as error:
            raise AuthenticationFailed(error.message) from error

    async def _log_in(self, wire: BrokerConnection) -> float | None:
        """Raises KafkaError, ConnectionLost."""
        mechanism = await self._make(wire.host)
        if not wire.versions:
            await wire.negotiate(kafka_py.__version__)
        await self._handshake(wire)
        version = _version(wire, ApiKey.SASL_AUTHENTICATE)
        token: bytes | None = mechanism.first()
        lifetime_ms = 0
        while token is not None:
            response = await wire.send(SaslAuthenticateRequest(auth_bytes=token), version)
            if response.error_code:
                raise KafkaError(error_code_of(response.error_code), response.error_message or "")
            lifetime_ms = response.session_lifetime_ms
            token = await _step(mechanism, bytes(response.auth_bytes))
        return lifetime_ms * self._rng.uniform(EARLIEST, LATEST) if lifetime_ms > 0 else None

    async def _handshake(self, wire: BrokerConnection) -> None:
        request = SaslHandshakeRequest(mechanism=self.mechanism)
        version = _version(wire, ApiKey.SASL_HANDSHAKE)
        if version < 1:
            text = f"{wire!r} is too old: it takes the tokens of a login as bare frames only"
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)
        response = await wire.send(request, version)
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_SASL_MECHANISM,
                f"Client SASL mechanism '{self.mechanism}' not enabled in the server, enabled mechanisms are "
                f"[{', '.join(response.mechanisms)}]",
            )
        if response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            text = "the listener takes no logins: security.protocol has to be PLAINTEXT or SSL, or the port another one"
            raise KafkaError(ErrorCode.ILLEGAL_SASL_STATE, text)
        if response.error_code:
            code = error_code_of(response.error_code)
            raise KafkaError(code, f"the broker does not accept a handshake now: {code.name}")


async def _step(mechanism: ClientMechanism, token: bytes) -> bytes | None:
    if mechanism.is_slow:
        return await asyncio.get_running_loop().run_in_executor(None, mechanism.step, token)
    return mechanism.step(token)


def _version(wire: BrokerConnection, key: ApiKey) -> int:
    """The newest version of both sides. Raises KafkaError(UNSUPPORTED_VERSION)."""
    lowest, highest = wire.versions.get(key, (0, -1))
    version = min(highest, APIS[key].max_version)
    if version < lowest:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{wire!r} does not offer {APIS[key].name}")
    return version


def always(make: Callable[[], Any]) -> MakeMechanism:
    """For a mechanism that is made without waiting."""

    async def made(host: str) -> ClientMechanism:
        mechanism: ClientMechanism = make()
        return mechanism

    return made

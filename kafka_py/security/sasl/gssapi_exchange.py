"""GSSAPI: logins with Kerberos tickets (RFC 4752).

First the tokens of a security context cross until both sides have established it; then the broker offers security
layers, and the client takes one. Kafka offers none: TLS is what protects a connection.
Source: RFC 4752; SaslServerAuthenticator, SaslClientAuthenticator, KerberosError, SaslServerCallbackHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import NoReturn, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.security.sasl.kerberos_names import NoMatchingRule
from kafka_py.security.sasl.mechanisms import (
    GSSAPI,
    AuthenticationRefused,
    Challenge,
    ExchangeBroken,
    Identity,
    InvalidCredentials,
    ServerStep,
    Success,
    Work,
)

_log = logging.getLogger(__name__)

NO_LAYER = 1
"""Bit of the offer, and the choice: no security layer."""
_LAYER_BYTES = 4
_NO_LAYER_AND_NO_SIZE = bytes([NO_LAYER, 0, 0, 0])

PRINCIPAL_PROPERTY = "GSSAPI.principal"
"""The client's whole principal, among the properties of an identity."""

TRANSIENT = frozenset({21, 33, 34})
"""Errors of Kerberos with which a second try may succeed: not valid yet (client, ticket), replayed."""


class KerberosFailed(Exception):
    """The Kerberos library refused. code: of RFC 4120; None when it is none of those."""

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code


class SecurityContext(Protocol):
    """One side of a security context; the calls may block, and raise KerberosFailed."""

    @property
    def is_established(self) -> bool: ...

    def step(self, token: bytes | None) -> bytes | None:
        """Takes a token of the other side; the client's first step takes None."""
        ...

    def sign(self, data: bytes) -> bytes: ...

    def verified(self, data: bytes) -> bytes:
        """What the other side signed."""
        ...

    def peer(self) -> str:
        """The principal of the other side, with its realm."""
        ...


class _Expected(Enum):
    """What the broker takes next."""

    CONTEXT = "a token of the security context"
    NOTHING = "an empty token, after the broker's last one of the context"
    CHOICE = "the client's security layer"


class GssapiServer:
    """The broker's side. short_name: the local name of a principal; raises NoMatchingRule or ValueError."""

    name = GSSAPI

    def __init__(self, context: SecurityContext, short_name: Callable[[str], str]) -> None:
        self._context = context
        self._short_name = short_name
        self._expected = _Expected.CONTEXT

    def step(self, token: bytes) -> ServerStep:
        return Work(lambda: self._taken(token), _result, _unforeseen)

    def _taken(self, token: bytes) -> ServerStep | Exception:
        """Runs in a thread. A refusal is returned: it is the client's affair, not a failure of the broker."""
        try:
            return self._take(token)
        except KerberosFailed as failed:
            _log.debug("A login by GSSAPI failed: %r", str(failed))
            return ExchangeBroken(str(failed)) if failed.code in TRANSIENT else InvalidCredentials(str(failed))
        except (InvalidCredentials, AuthenticationRefused) as refused:
            return refused

    def _take(self, token: bytes) -> ServerStep:
        if self._expected is _Expected.CONTEXT:
            answer = self._context.step(token)
            if not self._context.is_established:
                return Challenge(answer or b"")
            if answer:
                self._expected = _Expected.NOTHING
                return Challenge(answer)
            return self._offer()
        if self._expected is _Expected.NOTHING:
            if token:
                raise InvalidCredentials("a token after the security context was established")
            return self._offer()
        return self._chosen(self._context.verified(token))

    def _offer(self) -> Challenge:
        self._expected = _Expected.CHOICE
        return Challenge(self._context.sign(_NO_LAYER_AND_NO_SIZE))

    def _chosen(self, choice: bytes) -> Success:
        """What follows the layer in the choice is an authorization id, which Kafka does not look at."""
        if len(choice) < _LAYER_BYTES or choice[0] != NO_LAYER:
            raise InvalidCredentials("the client chose a security layer that was not offered")
        principal = self._context.peer()
        try:
            name = self._short_name(principal)
        except (NoMatchingRule, ValueError) as error:
            raise AuthenticationRefused(f"Authentication failed: {error}") from error
        return Success(Identity(name, properties={PRINCIPAL_PROPERTY: principal}))


def _result(made: ServerStep | Exception) -> ServerStep:
    if isinstance(made, Exception):
        raise made
    return made


def _unforeseen(error: Exception) -> Exception:
    return InvalidCredentials(type(error).__name__)


class GssapiClient:
    """The client's side. begun: the first token, which the context has made already."""

    name = GSSAPI
    is_slow = True

    def __init__(self, context: SecurityContext, begun: bytes) -> None:
        self._context = context
        self._begun = begun
        self._has_chosen = False

    def first(self) -> bytes:
        return self._begun

    def step(self, token: bytes) -> bytes | None:
        """Raises KafkaError(SASL_AUTHENTICATION_FAILED); ConnectionLost where another try may succeed."""
        try:
            return self._answer(token)
        except KerberosFailed as failed:
            client_failure(failed)

    def _answer(self, token: bytes) -> bytes | None:
        if not self._context.is_established:
            return self._context.step(token) or b""
        if self._has_chosen:
            return None
        offer = self._context.verified(token)
        if len(offer) != _LAYER_BYTES or not offer[0] & NO_LAYER:
            raise KerberosFailed("the broker insists on a security layer of GSSAPI, which Kafka does not have")
        self._has_chosen = True
        return self._context.sign(_NO_LAYER_AND_NO_SIZE)


def client_failure(failed: KerberosFailed) -> NoReturn:
    """Raises what a login at a broker ends with."""
    if failed.code in TRANSIENT:
        raise ConnectionLost(f"GSSAPI: {failed}") from failed
    raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"GSSAPI: {failed}") from failed

"""The interfaces of SASL mechanisms: tokens in, tokens out, and how an exchange ends.

A mechanism is a state machine for one exchange; it neither waits nor sends. What takes long, such as a user's own
callback, it returns as Work for its caller to do.
Source: KIP-43, KIP-152; SaslServerAuthenticator, SaslClientAuthenticator.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

PLAIN = "PLAIN"
SCRAM_SHA_256 = "SCRAM-SHA-256"
SCRAM_SHA_512 = "SCRAM-SHA-512"
OAUTHBEARER = "OAUTHBEARER"
GSSAPI = "GSSAPI"

SUPPORTED = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER, GSSAPI)
"""The mechanisms of this package."""


class AuthenticationRefused(Exception):
    """The login fails; the text is sent to the client."""


class InvalidCredentials(Exception):
    """The login fails with the text that all mechanisms share; the reason given here stays in the broker."""


class ExchangeBroken(Exception):
    """The exchange cannot continue at all: the connection is closed at once, without an answer."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who has logged in.

    name: of the principal. expires_ms: when the credential ends, wall clock; None: never.
    is_token: the login was made with a delegation token. properties: what the mechanism negotiated besides, for a
    principal builder; may be secret.
    """

    name: str
    expires_ms: float | None = None
    is_token: bool = False
    properties: Mapping[str, Any] = field(default_factory=dict, repr=False)


class Challenge(NamedTuple):
    """The exchange continues with this token."""

    token: bytes

    def __repr__(self) -> str:
        return f"Challenge({len(self.token)} bytes)"


class Success(NamedTuple):
    """The exchange is over. token: the last one; None when the mechanism has none."""

    identity: Identity
    token: bytes | None = None

    def __repr__(self) -> str:
        return f"Success({self.identity.name})"


class Work(NamedTuple):
    """What has to be done before the exchange continues.

    call: may block, and runs in a thread; a coroutine function is awaited instead. then: takes the result, or raises.
    failed: takes an exception of `call`, and raises another.
    """

    call: Callable[[], Any] | Callable[[], Awaitable[Any]]
    then: Callable[[Any], ServerStep]
    failed: Callable[[Exception], Exception]


ServerStep = Challenge | Success | Work


class ServerMechanism(Protocol):
    """The broker's side of one exchange."""

    name: str

    def step(self, token: bytes) -> ServerStep:
        """Takes the client's next token. Raises AuthenticationRefused, InvalidCredentials, ExchangeBroken."""
        ...


class ClientMechanism(Protocol):
    """The client's side of one exchange. is_slow: a step may take milliseconds, so it is made in a thread."""

    name: str
    is_slow: bool

    def first(self) -> bytes:
        """The first token. Raises KafkaError(SASL_AUTHENTICATION_FAILED) as `step` does."""
        ...

    def step(self, token: bytes) -> bytes | None:
        """The answer to a token of the broker; None when the exchange is complete."""
        ...

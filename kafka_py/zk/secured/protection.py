"""How a session is secured, as one value: TLS, a login, and whether what it creates is protected."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class LoginExchange(Protocol):
    """One login in a mechanism of SASL."""

    is_complete: bool

    def first(self) -> bytes:
        """The token that begins it. Raises LoginFailed."""
        ...

    def respond(self, challenge: bytes | None) -> bytes:
        """The next token; it is sent unless the exchange is complete. Raises LoginFailed."""
        ...


class Login(Protocol):
    """Whom a session logs in as."""

    def exchange(self, host: str) -> LoginExchange:
        """A new exchange, for one connection with a host."""
        ...


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class SessionProtection:
    """tls: None for plain connections. login: None for none. login_origin: where the login is configured, for errors.

    protects: new znodes get the lists of access_lists.py (zookeeper.set.acl), which takes a certificate or a login.
    named: a failure's text with the names by which its settings were given.
    """

    tls: ssl.SSLContext | None = None
    login: Login | None = None
    login_origin: str = "the login"
    protects: bool = False
    named: Callable[[str], str] = _as_it_is


UNSECURED = SessionProtection()

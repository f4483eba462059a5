"""PLAIN: user name and password in one token (RFC 4616).

Passwords are in the login entry of the listener (`user_alice="secret"`), or a user's own callback checks them.
Source: RFC 4616; PlainSaslServer, PlainServerCallbackHandler; KIP-86.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.security.sasl.mechanisms import PLAIN, AuthenticationRefused, Identity, ServerStep, Success, Work

USER_OPTION = "user_"
_PARTS = 3


class PasswordCheck(Protocol):
    """(user name, password) -> whether the password is right; may be a coroutine function, and may block."""

    def __call__(self, username: str, password: str) -> Any: ...


class StoredPasswords:
    """The users of a login entry."""

    __slots__ = ("_passwords",)

    def __init__(self, options: Mapping[str, str]) -> None:
        self._passwords = {
            name.removeprefix(USER_OPTION): password.encode()
            for name, password in options.items()
            if name.startswith(USER_OPTION)
        }

    def has(self, username: str, password: str) -> bool:
        """Whether that is the password of the user; takes as long for a user who does not exist."""
        expected = self._passwords.get(username)
        equal = hmac.compare_digest(password.encode(), b"" if expected is None else expected)
        return equal and expected is not None


class PlainServer:
    """The broker's side. stored: the users of the login entry. check: decides instead of them."""

    name = PLAIN

    def __init__(self, stored: StoredPasswords, check: PasswordCheck | None = None) -> None:
        self._stored = stored
        self._check = check

    def step(self, token: bytes) -> ServerStep:
        parts = token.decode("utf-8", "replace").split("\0", _PARTS)
        if len(parts) != _PARTS:
            raise AuthenticationRefused(
                f"Invalid SASL/PLAIN response: expected {_PARTS} tokens, got {len(parts)}"
            )
        authorization_id, username, password = parts
        for name, value in (("username", username), ("password", password)):
            if not value:
                raise AuthenticationRefused(f"Authentication failed: {name} not specified")

        def then(is_right: Any) -> ServerStep:
            return _judged(bool(is_right), authorization_id, username)

        check = self._check
        if check is None:
            return then(self._stored.has(username, password))
        return Work(_bound(check, username, password), then, _not_verified)


def _bound(check: PasswordCheck, username: str, password: str) -> Callable[[], Any]:
    return lambda: check(username, password)


def _judged(is_right: bool, authorization_id: str, username: str) -> Success:
    if not is_right:
        raise AuthenticationRefused("Authentication failed: Invalid username or password")
    if authorization_id and authorization_id != username:
        raise AuthenticationRefused(
            "Authentication failed: Client requested an authorization id that is different from username"
        )
    return Success(Identity(username), b"")


def _not_verified(error: Exception) -> Exception:
    return AuthenticationRefused("Authentication failed: credentials for user could not be verified")


class PlainClient:
    """The client's side. Raises KafkaError(SASL_AUTHENTICATION_FAILED) for a name or password that cannot be sent."""

    name = PLAIN
    is_slow = False

    def __init__(self, username: str, password: str) -> None:
        if "\0" in username or "\0" in password:
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "PLAIN cannot send a zero byte in name or password")
        self._token = f"\0{username}\0{password}".encode()

    def first(self) -> bytes:
        return self._token

    def step(self, token: bytes) -> bytes | None:
        return None

"""OAUTHBEARER: the client sends a bearer token, and the broker checks it (RFC 7628).

Source: RFC 7628; KIP-255, KIP-342 (extensions).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.security.sasl.mechanisms import (
    OAUTHBEARER,
    AuthenticationRefused,
    Challenge,
    ExchangeBroken,
    Identity,
    InvalidCredentials,
    ServerStep,
    Success,
    Work,
)
from kafka_py.security.sasl.oauth_tokens import BearerToken, TokenRefused

TOKEN_PROPERTY = "OAUTHBEARER.token"
"""Under this name a principal builder finds the token among the negotiated properties."""

MOST_BYTES = 131_072
"""Of a client's first message."""
_MOST_PAIRS = 256
_MOST_NAME = 4096
"""Characters. With these bounds a message is parsed in about a millisecond, whatever it has; anyone may send one."""
_SEPARATOR = "\x01"
_NAME = rf"(?:[\x02-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D){{1,{_MOST_NAME}}}"
_VALUE = r"[\x21-\x7e \t\r\n]+"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+={_VALUE}\x01){{0,{_MOST_PAIRS}}})\x01"
)
_AUTH = re.compile(r"(?P<scheme>\S+) +(?P<token>[-_.a-zA-Z0-9]+)")
_KEY = re.compile(r"[A-Za-z]+")
_WHOLE_VALUE = re.compile(_VALUE)
_TOKEN = re.compile(r"[-_.a-zA-Z0-9]+")


@dataclass(frozen=True, slots=True)
class BearerFirst:
    """The first message of a client."""

    token: str = field(repr=False)
    authorization_id: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)


def parse_first(message: bytes) -> BearerFirst:
    """Raises InvalidCredentials, ExchangeBroken for another scheme than Bearer."""
    found = None if len(message) > MOST_BYTES else _FIRST.fullmatch(message.decode("utf-8", "replace"))
    if found is None:
        raise InvalidCredentials("not the first message of OAUTHBEARER")
    pairs = dict(pair.partition("=")[::2] for pair in found["pairs"].split(_SEPARATOR) if pair)
    auth = _AUTH.fullmatch(pairs.pop("auth", ""))
    if auth is None:
        raise InvalidCredentials("a first message without a token")
    if auth["scheme"].lower() != "bearer":
        raise ExchangeBroken("a token of another scheme than Bearer")
    authorization_id = (found["authzid"] or "").replace("=2C", ",").replace("=3D", "=")
    return BearerFirst(auth["token"], authorization_id, pairs)


def format_first(token: str, extensions: Mapping[str, str]) -> bytes:
    """The first message of a client. Raises ValueError for a token or extensions that it cannot carry."""
    if _TOKEN.fullmatch(token) is None:
        raise ValueError("the token has characters that cannot be sent")
    for key, value in extensions.items():
        if _KEY.fullmatch(key) is None or key == "auth" or _WHOLE_VALUE.fullmatch(value) is None:
            raise ValueError(f"the SASL extension {key!r} cannot be sent")
    more = "".join(f"{key}={value}{_SEPARATOR}" for key, value in extensions.items())
    return f"n,,{_SEPARATOR}auth=Bearer {token}{_SEPARATOR}{more}{_SEPARATOR}".encode()


class TokenCheck(Protocol):
    """Token -> what it says; may be a coroutine function, and may block.

    Raises TokenRefused; ExchangeBroken where it cannot tell, so that the client tries again.
    """

    def __call__(self, token: str) -> Any: ...


ExtensionCheck = Callable[[BearerToken, Mapping[str, str]], Mapping[str, str]]
"""The token and the extensions -> the reason for each extension that is refused."""


def _any_extension(token: BearerToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
    return {}


class OAuthBearerServer:
    """The broker's side. is_quick: whether `check` can be called at once, on the loop."""

    name = OAUTHBEARER

    def __init__(
        self, check: TokenCheck, check_extensions: ExtensionCheck = _any_extension, *, is_quick: bool = False
    ) -> None:
        self._check = check
        self._check_extensions = check_extensions
        self._is_quick = is_quick
        self._refusal: str | None = None

    def step(self, token: bytes) -> ServerStep:
        if self._refusal is not None:
            if token == _SEPARATOR.encode():
                raise AuthenticationRefused(self._refusal)
            raise InvalidCredentials("another token after the refusal")
        first, check = parse_first(token), self._check

        def then(found: Any) -> ServerStep:
            return self._accept(first, found)

        if not self._is_quick:
            return Work(lambda: _result_of(check, first.token), then, lambda error: error)
        try:
            return then(check(first.token))
        except TokenRefused as refused:
            return then(refused)

    def _accept(self, first: BearerFirst, found: BearerToken | TokenRefused | ExchangeBroken) -> ServerStep:
        if isinstance(found, ExchangeBroken):
            raise found
        if isinstance(found, TokenRefused):
            self._refusal = _as_json(found)
            return Challenge(self._refusal.encode())
        if first.authorization_id and first.authorization_id != found.principal:
            raise AuthenticationRefused(
                f"Authentication failed: Client requested an authorization id ({first.authorization_id}) that is "
                f"different from the token's principal name ({found.principal})"
            )
        refused = self._check_extensions(found, first.extensions)
        if refused:
            listed = "; ".join(f"{key}: {reason}" for key, reason in refused.items())
            raise AuthenticationRefused(
                f"Authentication failed: {len(refused)} extensions are invalid! They are: {listed}"
            )
        properties = {TOKEN_PROPERTY: found, **first.extensions}
        return Success(Identity(found.principal, found.lifetime_ms, properties=properties), b"")


def _result_of(check: TokenCheck, token: str) -> Any:
    """What the check found; its refusal is a result as well. Of a coroutine function the coroutine, guarded alike."""
    try:
        found = check(token)
    except (TokenRefused, ExchangeBroken) as refused:
        return refused
    return _awaited(found) if hasattr(found, "__await__") else found


async def _awaited(found: Any) -> Any:
    try:
        return await found
    except (TokenRefused, ExchangeBroken) as refused:
        return refused


def _as_json(refused: TokenRefused) -> str:
    if refused.scope is None:
        return json.dumps({"status": refused.status}, separators=(",", ":"))
    return f'{{"status":{json.dumps(refused.status)}, "scope":{json.dumps(refused.scope)}}}'


class OAuthBearerClient:
    """The client's side of one exchange."""

    name = OAUTHBEARER
    is_slow = False

    def __init__(self, token: str, extensions: Mapping[str, str]) -> None:
        self._token = token
        self._extensions = extensions

    def first(self) -> bytes:
        try:
            return format_first(self._token, self._extensions)
        except ValueError as error:
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)) from None

    def step(self, token: bytes) -> bytes | None:
        """A token of the broker is the reason of its refusal; the answer to it brings the error."""
        return _SEPARATOR.encode() if token else None

"""The client's side of a login: what is asked in which order, when it is repeated, and when a token is replaced."""

import asyncio
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.errors import ErrorCode
from kafka_py.net.connection_failures import AuthenticationFailed
from kafka_py.security.sasl.client_login import ClientLogin, always
from kafka_py.security.sasl.client_settings import RefreshRules, Secrets, TokenSource
from kafka_py.security.sasl.oauth_tokens import BearerToken
from kafka_py.security.sasl.plain import PlainClient
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeResponse

SECRETS = Secrets(Chance(1), SYSTEM_CLOCK)


class Wire:
    """A connection to a broker that accepts any login. versions: what it offers."""

    host = "h"

    def __init__(self, **answers: Any) -> None:
        self.versions = {key: (0, api.max_version) for key, api in APIS.items()}
        self.handshake_error = answers.get("handshake_error", 0)
        self.error = answers.get("error", 0)
        self.lifetime_ms = answers.get("lifetime_ms", 0)
        self.sent: list[Any] = []

    async def send(self, request: Any, version: int) -> Any:
        self.sent.append((request, version))
        if isinstance(request, SaslAuthenticateRequest):
            return SaslAuthenticateResponse(
                error_code=self.error, error_message="refused", auth_bytes=b"", session_lifetime_ms=self.lifetime_ms
            )
        return SaslHandshakeResponse(error_code=self.handshake_error, mechanisms=["SCRAM-SHA-512"])


def logged_in(wire: Wire) -> float | None:
    login = ClientLogin("PLAIN", always(lambda: PlainClient("alice", "secret")), Chance(1).generator())
    return asyncio.run(login(wire))  # type: ignore[arg-type]


def test_a_session_without_an_end_is_not_renewed() -> None:
    assert logged_in(Wire()) is None


def test_a_session_is_renewed_before_its_end() -> None:
    assert 85_000 <= (logged_in(Wire(lifetime_ms=100_000)) or 0) <= 95_000


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"error": int(ErrorCode.SASL_AUTHENTICATION_FAILED)}, "refused"),
        ({"handshake_error": int(ErrorCode.UNSUPPORTED_SASL_MECHANISM)}, r"enabled mechanisms are \[SCRAM-SHA-512\]"),
        ({"handshake_error": int(ErrorCode.ILLEGAL_SASL_STATE)}, "takes no logins: security.protocol"),
        ({"handshake_error": int(ErrorCode.UNKNOWN_SERVER_ERROR)}, "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_a_refusal_says_why(answers: dict[str, int], says: str) -> None:
    with pytest.raises(AuthenticationFailed, match=says):
        logged_in(Wire(**answers))


@pytest.mark.parametrize(
    ("key", "versions", "says"),
    [
        (ApiKey.SASL_HANDSHAKE, (0, 0), "too old"),
        (ApiKey.SASL_HANDSHAKE, None, "does not offer SaslHandshake"),
        (ApiKey.SASL_AUTHENTICATE, None, "does not offer SaslAuthenticate"),
        (ApiKey.SASL_AUTHENTICATE, (9, 9), "does not offer SaslAuthenticate"),
    ],
)
def test_no_password_is_sent_to_a_broker_that_is_too_old(key: ApiKey, versions: Any, says: str) -> None:
    wire = Wire()
    if versions is None:
        del wire.versions[key]
    else:
        wire.versions[key] = versions
    with pytest.raises(AuthenticationFailed, match=says):
        logged_in(wire)
    assert not any(isinstance(request, SaslAuthenticateRequest) for request, _ in wire.sent)


def token(lifetime_s: float, start_s: float | None = None) -> BearerToken:
    return BearerToken("t", "alice", lifetime_s * 1000, None if start_s is None else start_s * 1000)


@pytest.mark.parametrize(
    ("given", "drawn", "due_s"),
    [
        (token(3600), 0.0, 2880),  # a share of its life
        (token(3600), 1.0, 3060),  # and some of it by chance
        (token(3600, start_s=-3600), 0.0, 2160),  # its life began earlier
        (token(1000), 0.0, 700),  # so long before its end at the latest
        (token(1000, start_s=-9000), 0.0, 60),  # and not sooner than so
        (token(200), 0.0, 160),  # where both cannot be kept, the share again
    ],
)
def test_when_a_token_is_replaced(given: BearerToken, drawn: float, due_s: float) -> None:
    assert RefreshRules().due_ms(given, 0.0, drawn) == pytest.approx(due_s * 1000)


def test_connections_that_are_opened_at_once_use_one_token() -> None:
    async def run() -> None:
        calls: list[int] = []

        async def get() -> BearerToken:
            calls.append(1)
            await asyncio.sleep(0)
            return BearerToken("a.b.c", "alice", SECRETS.clock.wall_ms() + 3_600_000)

        source = TokenSource({}, SECRETS, get, RefreshRules())
        await asyncio.gather(*(source("h") for _ in range(5)))
        assert calls == [1]

    asyncio.run(run())

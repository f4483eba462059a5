"""A client's part of a login, request by request, and when a token of it is replaced."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.net.client import AuthenticationFailed
from kafka_py.security.sasl.client_login import EARLIEST, LATEST, ClientLogin, always
from kafka_py.security.sasl.client_settings import RefreshRules
from kafka_py.security.sasl.oauth_tokens import BearerToken
from kafka_py.security.sasl.plain import PlainClient
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest


class Wire:
    """A connection to a broker whose sessions last so long."""

    host = "h"

    def __init__(self, lifetime_ms: int, handshakes: tuple[int, int] = (0, 1)) -> None:
        self.versions = {ApiKey.SASL_HANDSHAKE: handshakes, ApiKey.SASL_AUTHENTICATE: (0, 2)}
        self._lifetime_ms = lifetime_ms

    async def send(self, request: Any, version: int) -> Any:
        if isinstance(request, SaslHandshakeRequest):
            return SimpleNamespace(error_code=0)
        return SimpleNamespace(error_code=0, auth_bytes=b"", session_lifetime_ms=self._lifetime_ms)


def log_in(wire: Any) -> float | None:
    login = ClientLogin("PLAIN", always(lambda: PlainClient("a", "b")), random.Random(1))
    return asyncio.run(login(wire))


def test_a_session_is_renewed_before_its_end_if_it_has_one() -> None:
    assert log_in(Wire(0)) is None
    renewal_ms = log_in(Wire(1000))
    assert renewal_ms is not None and EARLIEST * 1000 <= renewal_ms <= LATEST * 1000


def test_a_broker_that_takes_bare_tokens_only_is_refused() -> None:
    with pytest.raises(AuthenticationFailed, match="too old"):
        log_in(Wire(0, handshakes=(0, 0)))


@pytest.mark.parametrize(
    ("begins_s", "obtained_s", "ends_s", "due_s"),
    [
        (0, 0, 3600, 2880),  # at 80% of its life
        (0, 0, 1000, 700),  # the buffer of 300 s before its end
        (-3000, 0, 600, 60),  # in 60 s at the earliest
        (0, 0, 360, 60),
        (0, 0, 359, 287.2),  # both do not fit: at 80% of what is left
        (-1000, 0, 100, 80),
    ],
)
def test_when_a_token_is_replaced(begins_s: float, obtained_s: float, ends_s: float, due_s: float) -> None:
    token = BearerToken("t", "alice", ends_s * 1000, begins_s * 1000)
    assert RefreshRules().due_ms(token, obtained_s * 1000, 0.0) == pytest.approx(due_s * 1000)
    if begins_s == obtained_s:
        without = BearerToken("t", "alice", ends_s * 1000)
        assert RefreshRules().due_ms(without, obtained_s * 1000, 0.0) == pytest.approx(due_s * 1000)


def test_replacements_are_spread() -> None:
    token = BearerToken("t", "alice", 3_600_000, 0.0)
    assert RefreshRules().due_ms(token, 0.0, 1.0) == pytest.approx(0.85 * 3_600_000)

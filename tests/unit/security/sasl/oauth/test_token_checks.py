"""A listener's check of signed tokens: which settings it follows, and what it does without keys."""

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.mechanisms import Challenge, ExchangeBroken, ServerStep, Success, Work
from kafka_py.security.sasl.oauth.token_checks import SignedTokenChecks
from kafka_py.security.sasl.oauthbearer import OAuthBearerClient
from kafka_py.security.sasl.scram_users import ScramUsers
from kafka_py.security.sasl.server_settings import (
    MODULES,
    SIGNED_VALIDATORS,
    UNSECURED_VALIDATOR,
    ListenerSettings,
    LoginSources,
    login_rules,
)
from kafka_py.testing.peers.token_provider import AUDIENCE, ISSUER, TokenProvider, public

ENTRY = {"listener.name.one.oauthbearer.sasl.jaas.config": f"{MODULES['OAUTHBEARER']} required;"}
URL, HANDLER = "sasl.oauthbearer.jwks.endpoint.url", "sasl.server.callback.handler.class"


@pytest.fixture
def provider() -> Iterator[TokenProvider]:
    with TokenProvider() as one:
        yield one


def sources(signed: SignedTokenChecks | None = None) -> LoginSources:
    clock = SystemClock()
    return LoginSources(ScramUsers(), Chance(1), clock, signed or SignedTokenChecks(clock))


def answer(settings: Mapping[str, str], token: str, shared: LoginSources | None = None) -> ServerStep:
    """Of a listener to a client with that token."""
    given = {**ENTRY, "sasl.enabled.mechanisms": "OAUTHBEARER", **settings}
    rules = login_rules(ListenerSettings(given, "ONE"), shared or sources())

    async def run() -> ServerStep:
        work = rules.make["OAUTHBEARER"]().step(OAuthBearerClient(token, {}).first())
        if not isinstance(work, Work):
            return work
        return work.then(await work.call())  # type: ignore[misc]  # a coroutine function

    return asyncio.run(run())


@pytest.mark.parametrize("prefix", ["", "listener.name.one.", "listener.name.one.oauthbearer."])
def test_the_settings_of_a_listener_are_followed(provider: TokenProvider, prefix: str) -> None:
    more = {"sasl.oauthbearer.expected.issuer": ISSUER, "sasl.oauthbearer.sub.claim.name": "client"}
    settings = {f"{prefix}{name}": value for name, value in {URL: provider.keys_url, **more}.items()}
    settings |= {"sasl.oauthbearer.expected.audience": "other", f"{prefix}sasl.oauthbearer.expected.audience": AUDIENCE}
    made = answer(settings, provider.token(client="job"))
    assert isinstance(made, Success) and made.identity.name == "job"
    assert made.identity.expires_ms == pytest.approx((time.time() + 600) * 1000, abs=60_000)
    for wrong in ({"aud": "x"}, {"iss": "x"}, {"client": None}, {"exp": time.time() - 31, "iat": 1}):
        assert answer(settings, provider.token(**wrong)) == Challenge(b'{"status":"invalid_token"}')


def test_the_clock_skew_is_that_of_the_settings(provider: TokenProvider) -> None:
    settings = {URL: provider.keys_url, "sasl.oauthbearer.expected.audience": f"x, {AUDIENCE}"}
    late = provider.token(exp=time.time() - 60, iat=1)
    assert isinstance(answer(settings, late), Challenge)
    assert isinstance(answer({**settings, "sasl.oauthbearer.clock.skew.seconds": "90"}, late), Success)


def test_listeners_and_changes_of_settings_share_the_keys(provider: TokenProvider) -> None:
    shared = sources()
    for audience in (AUDIENCE, "other", AUDIENCE):
        settings = {URL: provider.keys_url, "sasl.oauthbearer.expected.audience": audience}
        made = answer(settings, provider.token(), shared)
        assert isinstance(made, Success) == (audience == AUDIENCE)
    assert provider.key_requests == 1


def test_without_keys_a_client_gets_no_answer_and_may_try_again(provider: TokenProvider) -> None:
    provider.is_down = True
    with pytest.raises(ExchangeBroken, match="HTTP status 503"):
        answer({URL: provider.keys_url}, provider.token())


def test_a_file_of_keys_is_read_at_the_start(provider: TokenProvider, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    settings = {URL: file.as_uri(), "sasl.oauthbearer.expected.audience": AUDIENCE}
    for content in (None, "{}"):
        if content is not None:
            file.write_text(content)
        with pytest.raises(ConfigError, match=rf"{URL}: the keys in {file} cannot be used"):
            answer(settings, "a.b.c")
    file.write_bytes(public(*provider.keys))
    shared = sources()
    assert isinstance(answer(settings, provider.token(), shared), Success)
    old = provider.token()
    provider.rotate("second")
    file.write_bytes(public(*provider.keys))
    assert isinstance(answer(settings, provider.token(), shared), Success)
    assert isinstance(answer(settings, old, shared), Challenge)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({HANDLER: UNSECURED_VALIDATOR, URL: "http://h/k"}, "takes unsigned tokens"),
        ({HANDLER: SIGNED_VALIDATORS[0]}, f"{URL} names no keys"),
        ({f"listener.name.one.oauthbearer.{HANDLER}": SIGNED_VALIDATORS[1], URL: " "}, f"{URL} names no keys"),
        ({f"oauthbearer.{HANDLER}": SIGNED_VALIDATORS[1]}, "listener.name.one. must precede it"),
        ({URL: "ftp://h/k"}, URL),
        ({URL: "http://h/k", "sasl.oauthbearer.clock.skew.seconds": "-1"}, "clock.skew.seconds"),
        ({URL: "http://h/k", "sasl.oauthbearer.jwks.endpoint.refresh.ms": "soon"}, "refresh.ms"),
    ],
)
def test_settings_that_do_not_fit_stop_the_start(settings: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        answer(settings, "a.b.c")


@pytest.mark.parametrize("handler", [{}, {HANDLER: SIGNED_VALIDATORS[0]}, {HANDLER: SIGNED_VALIDATORS[1]}])
def test_with_keys_an_unsigned_token_is_refused(provider: TokenProvider, handler: dict[str, str]) -> None:
    unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6NDAwMDAwMDAwMCwiaWF0IjoxfQ."
    assert isinstance(answer({}, unsigned), Success)
    assert isinstance(answer({URL: provider.keys_url, **handler}, unsigned), Challenge)


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("joserfc")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "kafka_py.security.sasl.oauth.signed_tokens", raising=False)
    monkeypatch.delattr("kafka_py.security.sasl.oauth.signed_tokens", raising=False)
    with pytest.raises(ConfigError, match=r"pip install 'kafka_py\[oauth\]'"):
        answer({URL: "http://h/k"}, "a.b.c")

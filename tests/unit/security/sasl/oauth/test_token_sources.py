"""Where a client's tokens come from, and what it does when there are none."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.security.sasl.client_settings import (
    SIGNED_LOGINS,
    UNSECURED_LOGIN,
    RefreshRules,
    Secrets,
    TokenSource,
    client_login,
)
from kafka_py.security.sasl.jaas import LoginModule
from kafka_py.security.sasl.oauth.options import OAuthOptions
from kafka_py.security.sasl.oauth.token_sources import signed_token_source, unverified
from kafka_py.security.sasl.oauth_tokens import BearerToken
from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.testing.peers.token_provider import TokenProvider

CLIENT = {"clientId": "job", "clientSecret": "s:ecret+", "scope": "read write"}
QUICK = {"sasl.login.retry.backoff.ms": "1", "sasl.login.retry.backoff.max.ms": "20"}
URL = "sasl.oauthbearer.token.endpoint.url"


@pytest.fixture
def provider() -> Iterator[TokenProvider]:
    with TokenProvider({"job": "s:ecret+"}) as one:
        yield one


def got(url: str, entry: Mapping[str, str] = CLIENT, settings: Mapping[str, str] = QUICK) -> BearerToken:
    options = OAuthOptions.parse({URL: url, **settings})
    return asyncio.run(_awaited(options, entry))


async def _awaited(options: OAuthOptions, entry: Mapping[str, str]) -> BearerToken:
    return await signed_token_source(URL, options, entry, SystemClock())()


def test_an_endpoint_gives_a_token_for_name_secret_and_scope(provider: TokenProvider) -> None:
    found = got(provider.token_url)
    assert (found.principal, found.scope) == ("job", ("read", "write"))
    assert found.value not in repr(found)


def test_a_file_has_the_token(provider: TokenProvider, tmp_path: Path) -> None:
    file = tmp_path / "a token"
    file.write_text(f"{provider.token()}\n")
    assert got(f"file://{tmp_path}/a%20token", {}).principal == "alice"
    file.write_text("not a token")
    with pytest.raises(KafkaError) as failed:
        got(file.as_uri(), {})
    assert failed.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_wrong_secret_is_not_tried_again_and_not_shown(provider: TokenProvider) -> None:
    with pytest.raises(KafkaError, match="HTTP status 401") as failed:
        got(provider.token_url, {**CLIENT, "clientSecret": "wrong-secret"})
    assert provider.token_requests == 1
    assert "wrong-secret" not in str(failed.value)


def test_an_endpoint_that_is_down_is_asked_again_for_a_while(provider: TokenProvider) -> None:
    provider.is_down = True
    with pytest.raises(ConnectionLost, match="HTTP status 503"):
        got(provider.token_url)
    with pytest.raises(ConnectionLost, match="refused"):
        got("http://127.0.0.1:1/token")


def test_a_redirect_is_not_followed(provider: TokenProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "answer", lambda *_: (302, b""))
    with pytest.raises((KafkaError, ConnectionLost)):
        got(provider.token_url)


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"access_token": 5}', b'{"access_token": "a.b.c"}', b"x" * 2_000_000])
def test_an_answer_without_a_token_is_an_error(
    provider: TokenProvider, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(provider, "answer", lambda *_: (200, answer))
    with pytest.raises((KafkaError, ConnectionLost)):
        got(provider.token_url)


def test_the_endpoint_takes_an_encoded_secret_where_it_is_set(
    provider: TokenProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "clients", {"job": "s%3Aecret%2B"})
    encoded = {"sasl.oauthbearer.header.urlencode": "true"}
    assert got(provider.token_url, settings=encoded).principal == "job"


@pytest.mark.parametrize(
    ("url", "entry", "names"),
    [
        ("ftp://x/y", CLIENT, URL), ("file://host/y", {}, URL), ("relative", {}, URL), ("https://", CLIENT, URL),
        ("http://[", CLIENT, URL), ("http://h/x", {"clientId": "a"}, "clientSecret"),
        ("https://h/x", {**CLIENT, "ssl.truststore.location": "/no/such"}, "ssl.truststore.location"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(url: str, entry: dict[str, str], names: str) -> None:
    with pytest.raises(ConfigError, match=names) as refused:
        got(url, entry)
    assert CLIENT["clientSecret"] not in str(refused.value)


def test_a_token_needs_an_end_and_a_principal(provider: TokenProvider) -> None:
    for text in (provider.token(exp=None), provider.token(sub=None), "a.b", "a.é.c"):
        with pytest.raises(KafkaError):
            unverified(text)


def test_the_handler_and_the_endpoint_have_to_fit() -> None:
    entry = LoginModule(MODULES["OAUTHBEARER"], "required", {"unsecuredLoginStringClaim_sub": "a", **CLIENT})
    secrets = Secrets(Chance(1), SystemClock())
    for handler, url in ((SIGNED_LOGINS[0], ""), (UNSECURED_LOGIN, "http://h/x")):
        with pytest.raises(ConfigError, match=URL):
            client_login("OAUTHBEARER", entry, secrets, ("sasl.login.callback.handler.class", handler),
                         tokens=OAuthOptions.parse({URL: url}))  # fmt: skip
    for handler, url in ((SIGNED_LOGINS[1], "http://h/x"), (UNSECURED_LOGIN, "")):
        client_login("OAUTHBEARER", entry, secrets, ("sasl.login.callback.handler.class", handler),
                     tokens=OAuthOptions.parse({URL: url}))  # fmt: skip


# ---- how long one is used


class MovedClock(SystemClock):
    now_ms = 1_000_000

    def wall_ms(self) -> int:
        return self.now_ms


def test_a_token_is_used_by_all_and_kept_when_it_cannot_be_replaced() -> None:
    clock, asked = MovedClock(), 0
    is_down = False

    async def get() -> BearerToken:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        if is_down:
            raise ConnectionLost("down")
        return BearerToken(f"t{asked}", "alice", clock.now_ms + 1_000_000, clock.now_ms)

    async def scene() -> None:
        nonlocal is_down
        source = TokenSource({"extension_trace": "1"}, Secrets(Chance(1), clock), get, RefreshRules())
        firsts = [made.first() for made in await asyncio.gather(*(source("h") for _ in range(20)))]
        assert set(firsts) == {b"n,,\x01auth=Bearer t1\x01trace=1\x01\x01"}
        is_down = True
        clock.now_ms += 900_000
        for _ in range(3):
            assert b"t1" in (await source("h")).first()
        assert asked == 2  # the next attempt is made later
        clock.now_ms += 10_000
        await source("h")
        assert asked == 3
        clock.now_ms += 90_000
        with pytest.raises(ConnectionLost):
            await source("h")
        is_down = False
        assert b"t5" in (await source("h")).first()

    asyncio.run(scene())

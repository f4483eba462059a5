"""What the manager takes from a provider, and what it keeps to: sizes, addresses, precedence, keys, sessions."""

from collections.abc import Callable

import httpx
import pytest

from kafka_py.manager.identity.oidc.provider import MOST_BYTES
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.peers.token_provider import rsa_key
from kafka_py.testing.web_manager import CalledManager

from .conftest import CodeProvider
from .played_logins import back, begun, logged_in

Played = Callable[..., None]
DISCOVERY, TOKEN, USERINFO, KEYS = "/.well-known/openid-configuration", "/token", "/userinfo", "/keys"
HOUR_MS = 3_600_000


async def answer_of(manager: CalledManager, provider: CodeProvider) -> httpx.Response:
    """The manager's answer to the first step of a login that does not lead to the provider or to a page."""
    away = await manager.get("/login/oidc")
    return away if away.status_code != 303 else await back(manager, provider.approve(away.headers["location"]))


def needs_userinfo(provider: CodeProvider) -> None:
    provider.id_claims = {"preferred_username": "ann"}
    provider.more = {"groups": ["kafka-admins"]}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (DISCOVERY, "its answer is longer than 1048576 bytes"), (TOKEN, "its answer is longer than 1048576 bytes"),
        (USERINFO, "its answer is longer than 1048576 bytes"), (KEYS, "more than 1048576 bytes"),
    ],
)  # fmt: skip
def test_no_answer_of_the_provider_is_longer_than_a_mebibyte(
    path: str, why: str, played: Played, provider: CodeProvider
) -> None:
    async def one_byte_too_long(manager: CalledManager) -> None:
        provider.sizes[path] = MOST_BYTES + 1
        refused = await answer_of(manager, provider)
        assert (refused.status_code, why in refused.text) == (503, True)
        assert (await manager.get("/api")).status_code == 401

    async def as_long_as_may_be(manager: CalledManager) -> None:
        provider.sizes[path] = MOST_BYTES
        assert (await answer_of(manager, provider)).status_code == 303
        assert (await manager.get("/api")).status_code == 200

    assert MOST_BYTES == 1_048_576
    needs_userinfo(provider)
    for scene in (one_byte_too_long, as_long_as_may_be):
        played(scene, clusters=(), oidc=provider.settings())


@pytest.mark.parametrize("path", [DISCOVERY, TOKEN, USERINFO, KEYS])
def test_no_redirect_of_the_provider_is_followed(path: str, played: Played, provider: CodeProvider) -> None:
    """It could lead to an address without TLS, or to one inside of the manager's network, with the client's secret."""

    async def scene(manager: CalledManager) -> None:
        with CodeProvider(provider.clock) as other:
            provider.redirects[path] = f"{other.url}{path}"
            refused = await answer_of(manager, provider)
            assert (refused.status_code, "307" in refused.text) == (503, True)
            assert other.paths == []
        assert (await manager.get("/api")).status_code == 401

    needs_userinfo(provider)
    played(scene, clusters=(), oidc=provider.settings())


def test_what_is_signed_has_precedence_over_userinfo(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        provider.id_claims = {"groups": ["kafka-users"], "email": "una@example.com", "email_verified": True}
        provider.more = {"groups": ["kafka-admins"], "email": "boss@example.com"}
        assert (await logged_in(manager, provider)).status_code == 303
        assert USERINFO in provider.paths
        assert "una@example.com (reader)" in (await manager.get("/")).text

    played(scene, clusters=(), oidc=provider.settings())


def test_keys_are_those_of_the_address_that_the_metadata_name_now(
    played: Played, provider: CodeProvider, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await logged_in(manager, provider)).status_code == 303
        old, provider.key = provider.keys[-1], rsa_key("first")  # under the same id, so that nothing else says so
        provider.shown_keys["/new-keys"] = [provider.key]
        provider.metadata["jwks_uri"] = f"{provider.url}/new-keys"
        manager_clock.advance(2_000)
        assert (await logged_in(manager, provider)).status_code == 303
        provider.key = old
        assert (await logged_in(manager, provider)).status_code == 502

    played(scene, clusters=(), oidc=provider.settings())


def test_a_login_ends_the_session_that_the_browser_had(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        await logged_in(manager, provider)
        before = httpx.Cookies(manager.client.cookies)
        await logged_in(manager, provider)
        after, manager.client.cookies = manager.client.cookies, before
        assert (await manager.get("/api")).status_code == 401
        manager.client.cookies = after
        assert (await manager.get("/api")).status_code == 200

    played(scene, clusters=(), oidc=provider.settings())


def test_a_refused_login_leaves_the_session_of_the_browser(played: Played, provider: CodeProvider) -> None:
    """Whoever sends a browser to the callback cannot log its user out."""

    async def scene(manager: CalledManager) -> None:
        await logged_in(manager, provider)
        answer = provider.approve(await begun(manager))
        assert (await back(manager, {**answer, "code": "another"})).status_code == 400
        assert (await manager.get("/api")).status_code == 200

    played(scene, clusters=(), oidc=provider.settings())


@pytest.mark.parametrize("minutes", [0, 61, 100_000])
def test_the_section_makes_no_session_longer_than_the_managers_own_bound(
    minutes: int, played: Played, provider: CodeProvider, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        await logged_in(manager, provider)
        manager_clock.advance(HOUR_MS)
        assert (await manager.get("/api")).status_code == 200
        manager_clock.advance(1)
        assert (await manager.get("/api")).status_code == 401

    oidc = provider.settings(session_longest_minutes=minutes)
    played(scene, clusters=(), oidc=oidc, session_longest_hours=1, session_idle_minutes=10_000)

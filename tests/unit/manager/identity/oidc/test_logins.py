"""Whole logins through the application, with a provider on a socket and a browser that is played."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.manager.identity.oidc.logins import MOST_LOGOUTS
from kafka_py.manager.identity.oidc.transactions import COOKIE_PREFIX, LIFETIME_MS
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile, new_user
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.peers.token_provider import rsa_key
from kafka_py.testing.web_manager import CalledManager

from .conftest import CodeProvider
from .played_logins import back, begun, entries, logged_in

PASSWORD = "a long password"
Played = Callable[..., None]


def test_a_login_ends_on_the_page_that_was_asked_for(played: Played, provider: CodeProvider, tmp_path: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await manager.get("/api/clusters/test/topics")).status_code == 401
        form = await manager.get("/login?next=%2Fclusters%2Fnew")
        assert 'href="http://localhost/login/oidc?next=%2Fclusters%2Fnew"' in form.text
        assert "Password" not in form.text  # there is no users file
        done = await logged_in(manager, provider, "/clusters/new?a=1")
        assert (done.status_code, done.headers["location"]) == (303, "/clusters/new?a=1")
        assert not [name for name in manager.client.cookies if name.startswith(COOKIE_PREFIX)]
        assert "ann (administrator)" in (await manager.get("/clusters/new")).text
        assert (await manager.get("/api")).status_code == 200
        assert (await manager.call("/clusters", name="x", bootstrap_servers="localhost:1")).json()["is_done"]

    played(scene, clusters=(), oidc=provider.settings())
    login, change = entries(tmp_path)
    for entry in (login, change):
        assert (entry["user"], entry["issuer"], entry["subject"]) == ("ann", provider.url, "1")
    assert (login["action"], login["outcome"], change["action"]) == ("login", "done", "POST /clusters")


def test_cookies_are_for_https_where_browsers_come_by_it(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        away = await manager.get("/login/oidc")
        assert all(word in away.headers["set-cookie"] for word in ("Secure", "HttpOnly", "SameSite=lax", "Max-Age=600"))
        answer = provider.approve(away.headers["location"])
        cookie = away.headers["set-cookie"].partition(";")[0]
        done = await manager.get("/login/oidc/callback", params=answer, headers={"cookie": cookie})
        assert "Secure" in done.headers["set-cookie"] and done.status_code == 303

    settings = provider.settings()

    played(scene, clusters=(), oidc=replace(settings, public_url="https://kafka.example"))


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [("//evil.example", "/"), ("https://evil.example", "/"), ("/\\evil.example", "/"), ("/login", "/"), ("/a", "/a")],
)
def test_no_login_ends_on_another_site(wanted: str, shown: str, played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await logged_in(manager, provider, wanted)).headers["location"] == shown

    played(scene, clusters=(), oidc=provider.settings())


def test_two_tabs_log_in_at_once(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        one, two = await begun(manager, "/1"), await begun(manager, "/2")
        assert (await back(manager, provider.approve(two))).headers["location"] == "/2"
        assert (await back(manager, provider.approve(one))).headers["location"] == "/1"

    played(scene, clusters=(), oidc=provider.settings())


def test_another_browser_cannot_finish_a_login(played: Played, provider: CodeProvider, tmp_path: Path) -> None:
    """Login CSRF: somebody begins a login, and has somebody else's browser finish it."""

    async def scene(manager: CalledManager) -> None:
        answer = provider.approve(await begun(manager))
        own, manager.client.cookies = manager.client.cookies, httpx.Cookies()
        refused = await back(manager, answer)
        assert (refused.status_code, "kafka_manager" in manager.client.cookies) == (400, False)
        assert "begun in another browser" in refused.text
        manager.client.cookies = own
        assert (await back(manager, answer)).status_code == 303

    played(scene, clusters=(), oidc=provider.settings())
    refused, done = entries(tmp_path)
    assert (refused["outcome"], refused["issuer"], done["outcome"]) == ("refused", provider.url, "done")


def test_states_that_are_mixed_up_are_refused(played: Played, provider: CodeProvider) -> None:
    """The answer to one login with the code of another one: the code is bound to its own verifier."""

    async def scene(manager: CalledManager) -> None:
        one, two = provider.approve(await begun(manager)), provider.approve(await begun(manager))
        crossed = await back(manager, {**one, "code": two["code"]})
        assert (crossed.status_code, "no longer accepts this login" in crossed.text) == (400, True)
        for state in ("", "0" * 64):
            assert (await back(manager, {**two, "state": state})).status_code == 400
        assert (await manager.get("/api")).status_code == 401

    played(scene, clusters=(), oidc=provider.settings())


def test_a_replayed_answer_is_refused(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        url = await begun(manager)
        kept = httpx.Cookies(manager.client.cookies)
        answer = provider.approve(url)
        assert (await back(manager, answer)).status_code == 303
        manager.client.cookies = kept
        replayed = await back(manager, answer)
        assert (replayed.status_code, "finished before" in replayed.text) == (400, True)
        again = dict(parse_qsl(urlsplit(await begun(manager)).query))
        replayed = await back(manager, {**answer, "state": again["state"]})
        assert (replayed.status_code, "no longer accepts this login" in replayed.text) == (400, True)

    played(scene, clusters=(), oidc=provider.settings())


def test_a_login_that_took_too_long_is_refused(
    played: Played, provider: CodeProvider, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        answer = provider.approve(await begun(manager))
        manager_clock.advance(LIFETIME_MS + 1)
        late = await back(manager, answer)
        assert (late.status_code, "took too long" in late.text) == (400, True)

    played(scene, clusters=(), oidc=provider.settings())


@pytest.mark.parametrize("issuer", ["https://evil.example", ""])
def test_an_answer_of_another_provider_is_refused(issuer: str, played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        refused = await back(manager, {**provider.approve(await begun(manager)), "iss": issuer})
        assert (refused.status_code, "of another provider" in refused.text) == (400, True)

    played(scene, clusters=(), oidc=provider.settings())


def test_what_the_provider_refuses_is_shown_as_text(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        state = provider.approve(await begun(manager))["state"]
        script = "<script>alert(1)</script>"
        answer = {"state": state, "iss": provider.url, "error": "access_denied", "error_description": script}
        refused = await back(manager, answer)
        assert refused.status_code == 403
        assert script not in refused.text and "access_denied: &lt;script&gt;" in refused.text

    played(scene, clusters=(), oidc=provider.settings())


@pytest.mark.parametrize(
    "changed",
    [{"nonce": "other"}, {"aud": "other"}, {"iss": "https://evil"}, {"exp": 1}, {"azp": "other"}, {"sub": None}],
)
def test_an_id_token_that_is_not_of_this_login_opens_no_session(
    changed: dict[str, Any], played: Played, provider: CodeProvider, tmp_path: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        provider.id_claims.update(changed)
        refused = await logged_in(manager, provider)
        assert (refused.status_code, "ID token is not accepted" in refused.text) == (502, True)
        assert (await manager.get("/api")).status_code == 401

    played(scene, clusters=(), oidc=provider.settings())
    assert entries(tmp_path)[0]["detail"].startswith("ID token: ")


def test_names_with_script_are_shown(played: Played, provider: CodeProvider, tmp_path: Path) -> None:
    script = "<img src=x onerror=alert(1)>"

    async def scene(manager: CalledManager) -> None:
        provider.id_claims["preferred_username"] = script
        await logged_in(manager, provider)
        page = await manager.get("/")
        assert script not in page.text and "&lt;img src=x onerror=alert(1)&gt; (administrator)" in page.text
        assert "script-src 'self'" in page.headers["content-security-policy"]

    played(scene, clusters=(), oidc=provider.settings())
    assert entries(tmp_path)[0]["user"] == script


def test_whoever_has_no_role_is_refused_by_name(played: Played, provider: CodeProvider, tmp_path: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        provider.id_claims["groups"] = ["others"]
        refused = await logged_in(manager, provider)
        assert (refused.status_code, "ann has no role here" in refused.text) == (403, True)

    played(scene, clusters=(), oidc=provider.settings())
    assert (entries(tmp_path)[0]["user"], entries(tmp_path)[0]["outcome"]) == ("ann", "refused")


def test_a_reader_may_not_change(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        provider.id_claims["groups"] = ["kafka-users"]
        await logged_in(manager, provider)
        assert "ann (reader)" in (await manager.get("/")).text
        assert (await manager.call("/clusters", name="x", bootstrap_servers="localhost:1")).status_code == 403

    played(scene, clusters=(), oidc=provider.settings())


def test_userinfo_has_what_the_id_token_lacks(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        provider.id_claims = {}
        provider.more = {"preferred_username": "una", "groups": ["kafka-users"]}
        assert (await logged_in(manager, provider)).status_code == 303
        assert "una (reader)" in (await manager.get("/")).text
        await manager.submit("/logout")
        provider.more["sub"] = "2"
        refused = await logged_in(manager, provider)
        assert (refused.status_code, "about another user" in refused.text) == (503, True)

    played(scene, clusters=(), oidc=provider.settings())


def test_new_keys_are_found(played: Played, provider: CodeProvider, manager_clock: ManualClock) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await logged_in(manager, provider)).status_code == 303
        provider.rotate("second")
        manager_clock.advance(2_000)
        assert (await logged_in(manager, provider)).status_code == 303
        assert provider.key_requests == 2
        provider.key = rsa_key("second")  # of somebody else, under the id of the provider's
        assert (await logged_in(manager, provider)).status_code == 502

    played(scene, clusters=(), oidc=provider.settings())


def test_a_session_ends_when_the_section_says(
    played: Played, provider: CodeProvider, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        await logged_in(manager, provider)
        for _ in range(3):
            assert (await manager.get("/api")).status_code == 200
            manager_clock.advance(10 * 60_000)
        assert (await manager.get("/api")).status_code == 200
        manager_clock.advance(1)
        assert (await manager.get("/api")).status_code == 401

    played(scene, clusters=(), oidc=provider.settings(session_longest_minutes=30))


def test_a_logout_ends_the_session_here_and_leads_to_the_providers(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        await logged_in(manager, provider)
        cookies = httpx.Cookies(manager.client.cookies)
        away = await manager.submit("/logout")
        page = await manager.get(away.headers["location"])
        assert f'content="0; url={provider.url}/end?id_token_hint=' in page.text
        assert "post_logout_redirect_uri=http%3A%2F%2Flocalhost%2Flogin" in page.text
        assert (await manager.get(away.headers["location"])).headers["location"] == "/login"  # it is shown once
        manager.client.cookies = cookies
        assert (await manager.get("/api")).status_code == 401

    played(scene, clusters=(), oidc=provider.settings())


def test_logouts_that_nobody_goes_on_with_are_forgotten(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        await logged_in(manager, provider)
        assert manager.services.oidc is not None
        numbers = [manager.services.oidc.begin_logout("token") for _ in range(MOST_LOGOUTS + 1)]
        urls = [manager.services.oidc.logout_url(each) for each in numbers]
        assert (urls[0], [url for url in urls if not url]) == ("", [""])

    played(scene, clusters=(), oidc=provider.settings())


def test_a_provider_without_a_logout_is_left_alone(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        provider.metadata["end_session_endpoint"] = None
        await logged_in(manager, provider)
        away = await manager.submit("/logout")
        assert (await manager.get(away.headers["location"])).headers["location"] == "/login"

    played(scene, clusters=(), oidc=provider.settings())


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = UsersFile(tmp_path_factory.mktemp("users") / "users")
    file.add(new_user("ann", AccessRole.READER, PASSWORD, Chance(1)))
    return file.path


def test_a_local_user_of_the_same_name_is_another_one(
    played: Played, provider: CodeProvider, users: Path, tmp_path: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await manager.log_in("ann", PASSWORD)).status_code == 303
        assert "ann (reader)" in (await manager.get("/")).text
        await logged_in(manager, provider)
        assert "ann (administrator)" in (await manager.get("/")).text
        basic = await manager.get("/api", auth=("ann", PASSWORD))
        assert basic.status_code == 200

    played(scene, clusters=(), oidc=provider.settings(), users=users)
    assert [each["issuer"] for each in entries(tmp_path)] == ["", provider.url]


def test_while_the_provider_is_down_local_users_log_in(
    played: Played, provider: CodeProvider, users: Path, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        provider.is_down = True
        form = await manager.get("/login")
        assert (form.status_code, "it answers 503" in form.text, "Password" in form.text) == (200, True, True)
        away = await manager.get("/login/oidc")
        assert (away.status_code, "cannot be used to log in now" in away.text) == (503, True)
        assert (await manager.log_in("ann", PASSWORD)).status_code == 303
        provider.is_down = False
        manager_clock.advance(1_000)
        answer = provider.approve(await begun(manager))
        provider.is_down = True
        assert (await back(manager, answer)).status_code == 503

    played(scene, clusters=(), oidc=provider.settings(), users=users)


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_provider_that_never_answers_keeps_nobody_waiting(
    played: Played, silent: str, provider: CodeProvider, users: Path
) -> None:

    async def scene(manager: CalledManager) -> None:
        starting = asyncio.create_task(manager.get("/login/oidc"))
        form = await manager.get("/login")
        assert (form.status_code, starting.done()) == (200, False)
        assert (await manager.log_in("ann", PASSWORD)).status_code == 303
        away = await starting
        assert (away.status_code, "did not answer within 1 s" in away.text) == (503, True)

    played(scene, clusters=(), oidc=replace(provider.settings(timeout_seconds=1), issuer=silent), users=users)


def test_a_browser_that_is_sent_here_again_and_again_forgets(played: Played, provider: CodeProvider) -> None:
    async def scene(manager: CalledManager) -> None:
        for _ in range(20):
            await begun(manager)
            assert len(manager.client.cookies) <= 8
        assert (await logged_in(manager, provider)).status_code == 303

    played(scene, clusters=(), oidc=provider.settings())


def test_a_provider_is_trusted_by_its_authority(played: Played, manager_clock: ManualClock, tmp_path: Path) -> None:
    made = CertificateFiles(tmp_path / "certificates")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*made.separate("provider", made.issue("provider", ["localhost", "127.0.0.1"])))

    async def trusting(manager: CalledManager) -> None:
        assert (await logged_in(manager, provider)).status_code == 303

    async def careful(manager: CalledManager) -> None:
        away = await manager.get("/login/oidc")
        assert (away.status_code, "certificate verify failed" in away.text.lower()) == (503, True)

    with CodeProvider(manager_clock, tls) as provider:
        played(trusting, clusters=(), oidc=provider.settings(ca_certificate=made.authority_pem))
        played(careful, clusters=(), oidc=provider.settings())
    with pytest.raises(ConfigError, match="ca_certificate of \\[oidc\\]"):
        played(careful, clusters=(), oidc=provider.settings(ca_certificate=tmp_path / "none.pem"))


def test_without_a_provider_there_is_no_such_login(played: Played) -> None:
    async def scene(manager: CalledManager) -> None:
        for path in ("/login/oidc", "/login/oidc/callback?state=a&code=b"):
            assert (await manager.get(path)).status_code == 404
        assert (await manager.get("/login/oidc/logout")).headers["location"] == "/login"

    played(scene)

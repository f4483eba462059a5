"""Logins by OpenID Connect in a real browser, with a certified provider: npm's oidc-provider."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile, new_user
from kafka_py.manager.settings import ManagerSettings
from kafka_py.testing.peers.apache import Unavailable
from kafka_py.testing.peers.openid_provider import OpenIdProvider
from kafka_py.testing.processes import free_ports, wait_until
from kafka_py.testing.web_manager import ServedManager

PASSWORD = "correct horse"
SCRIPT = "<img src=x onerror=alert(1)>"
USERS = {
    "ann": {"preferred_username": "ann.miller", "groups": ["kafka-admins", "all"]},
    "eve": {"preferred_username": SCRIPT, "groups": ["kafka-users"]},
    "bob": {"preferred_username": "bob", "groups": ["all"]},
}
CHANGE = """fetch('/api/clusters', {
    method: 'POST', body: JSON.stringify({name: 'x', bootstrap_servers: 'localhost:1', dry_run: true}),
    headers: {'Content-Type': 'application/json', 'X-CSRF-Token': document.body.dataset.csrf},
}).then(answer => answer.json())"""
pytestmark = pytest.mark.timeout(180)


class World(NamedTuple):
    """The provider, and the ports of a manager with a secret and of one without."""

    provider: OpenIdProvider
    port: int
    public_port: int

    def settings(self, port: int, **changed: Any) -> OidcSettings:
        return OidcSettings(
            self.provider.issuer, f"manager-{port}", public_url=f"http://127.0.0.1:{port}",
            scopes=("openid", "profile", "groups"), administrators=("kafka-admins",), readers=("kafka-users",),
            **changed,
        )  # fmt: skip


def client_of(port: int, **more: str) -> dict[str, Any]:
    at = f"http://127.0.0.1:{port}"
    own = {"redirect_uris": [f"{at}/login/oidc/callback"], "post_logout_redirect_uris": [f"{at}/login"]}
    return {"client_id": f"manager-{port}", **own, **more}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    at, port, public_port = free_ports(3)
    public = client_of(public_port, token_endpoint_auth_method="none")
    clients = [client_of(port, client_secret="a secret: 1/2"), public]
    try:
        provider = OpenIdProvider(tmp_path_factory.mktemp("provider"), at, clients, USERS)
    except Unavailable as error:
        pytest.skip(str(error))
    with provider:
        yield World(provider, port, public_port)


@pytest.fixture(scope="module")
def manager(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedManager]:
    """A manager with the provider and one local user; it has no cluster, which no login needs."""
    folder = tmp_path_factory.mktemp("manager")
    users = UsersFile(folder / "users")
    users.add(new_user("ray", AccessRole.READER, PASSWORD, Chance()))
    oidc = world.settings(world.port, client_secret="a secret: 1/2", timeout_seconds=2)
    with ServedManager(ManagerSettings(users=users.path, oidc=oidc, data=folder), port=world.port) as served:
        yield served


def ask_provider(page: Page) -> None:
    page.get_by_role("link", name="Log in with localhost").click()
    expect(page.get_by_role("heading", name="Provider")).to_be_visible()


def answer(page: Page, name: str, password: str | None = None) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password or name)
    page.get_by_role("button", name="Log in").click()


def last_entry(manager: ServedManager) -> dict[str, str]:
    assert manager.services.settings.data is not None
    found: dict[str, str] = json.loads((manager.services.settings.data / "audit.jsonl").read_text().splitlines()[-1])
    return found


def test_a_whole_life_of_a_session(
    world: World, manager: ServedManager, page: Page, serious_findings: Callable[[Page], list[str]]
) -> None:
    """From the page that was asked for to the provider, back to the page, to the JSON interface, and out of both."""
    page.goto("/clusters/new")
    assert serious_findings(page) == []
    ask_provider(page)
    answer(page, "ann")
    expect(page.get_by_role("heading", name="Add a cluster")).to_be_visible()
    expect(page.get_by_text("ann.miller (administrator)")).to_be_visible()
    entry = last_entry(manager)
    assert (entry["action"], entry["outcome"], entry["user"], entry["issuer"], entry["subject"]) == (
        "login", "done", "ann.miller", world.provider.issuer, "ann"
    )  # fmt: skip

    assert page.evaluate("fetch('/api').then(answer => answer.status)") == 200
    changed = page.evaluate(CHANGE)
    assert (changed["summary"], changed["is_done"]) == ("Add the cluster x", False)
    assert httpx.get(f"{manager.url}/api").status_code == 401

    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Log out of the provider").click()  # the page in between leads there by itself
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.evaluate("fetch('/api').then(answer => answer.status)") == 401
    ask_provider(page)  # which has forgotten the user, too, and shows its form


def test_a_name_with_script_is_text(page: Page) -> None:
    page.goto("/clusters/new")
    ask_provider(page)
    answer(page, "eve")
    expect(page.get_by_text(f"{SCRIPT} (reader)")).to_be_visible()
    assert page.locator("img").count() == 0


@pytest.mark.slow
def test_two_tabs_log_in_at_once(page: Page) -> None:
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto("/clusters/new")
        ask_provider(tab)
    for tab in (other, page):
        answer(tab, "ann")
        expect(tab.get_by_role("heading", name="Add a cluster")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "password", "why"),
    [("bob", "bob", "bob has no role here"), ("ann", "wrong", "access_denied: wrong name or password")],
)
def test_whoever_may_not_come_in_is_told_why(name: str, password: str, why: str, page: Page) -> None:
    page.goto("/login")
    ask_provider(page)
    answer(page, name, password)
    expect(page.get_by_role("alert")).to_contain_text(why)
    assert page.evaluate("fetch('/api').then(answer => answer.status)") == 401


@pytest.mark.slow
def test_a_provider_that_is_down_and_comes_back_with_other_keys(world: World, page: Page) -> None:
    world.provider.stop()

    def says_so() -> bool:
        page.goto("/login")
        return page.get_by_text("cannot be used to log in now").count() > 0

    wait_until(says_so, 20, "a provider that is down")
    page.get_by_role("link", name="Log in with localhost").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be used to log in now")
    page.get_by_label("Name").fill("ray")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("ray (reader)")).to_be_visible()
    page.get_by_role("button", name="Log out").click()

    world.provider.start()
    wait_until(lambda: not says_so(), 20, "the provider's return")
    ask_provider(page)
    answer(page, "ann")
    expect(page.get_by_text("ann.miller (administrator)")).to_be_visible()


@pytest.mark.slow
def test_a_public_client_has_no_secret(world: World, chromium: Browser, tmp_path: Path) -> None:
    settings = ManagerSettings(oidc=world.settings(world.public_port), data=tmp_path)
    with (
        ServedManager(settings, port=world.public_port) as served,
        closing(chromium.new_context(base_url=served.url)) as context,
    ):
        page = context.new_page()
        page.goto("/")
        expect(page.get_by_label("Password")).to_have_count(0)
        ask_provider(page)
        answer(page, "ann")
        expect(page.get_by_text("ann.miller (administrator)")).to_be_visible()

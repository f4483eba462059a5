"""Logins in a real browser: the form, roles, a session that ends while a form is filled in, logging out."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile, new_user
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.web_manager import ServedManager

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedManager]:
    """A manager with two users; its cluster is down, which no login needs."""
    folder = tmp_path_factory.mktemp("manager")
    users = UsersFile(folder / "users")
    users.add(new_user("ann", AccessRole.ADMINISTRATOR, PASSWORD, Chance()))
    users.add(new_user("ray", AccessRole.READER, PASSWORD, Chance()))
    settings = ManagerSettings((ClusterSettings("down", "127.0.0.1:1"),), users=users.path, data=folder)
    with ServedManager(settings) as served:
        yield served


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_the_page_that_was_asked_for_comes_after_the_login(
    page: Page, serious_findings: Callable[[Page], list[str]]
) -> None:
    page.goto("/clusters/new")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert serious_findings(page) == []
    log_in(page, "ann", "wrong password")
    expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")
    log_in(page, "ann")
    expect(page.get_by_role("heading", name="Add a cluster")).to_be_visible()
    expect(page.get_by_text("ann (administrator)")).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("button", name="Log out").click()
    page.goto("/")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_reader_sees_no_buttons_for_changes(page: Page) -> None:
    page.goto("/")
    log_in(page, "ray")
    expect(page.get_by_role("heading", name="Clusters")).to_be_visible()
    expect(page.get_by_role("link", name="Add a cluster")).to_have_count(0)


def test_a_session_that_ends_while_a_form_is_filled_in_changes_nothing(manager: ServedManager, page: Page) -> None:
    page.goto("/clusters/new")
    log_in(page, "ann")
    page.get_by_label("Name", exact=True).fill("late")
    page.get_by_label("Bootstrap servers").fill("127.0.0.1:1")
    manager.services.sessions._sessions.clear()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("What you sent last was not carried out.")).to_be_visible()
    assert manager.services.clusters.get("late") is None


def test_the_keyboard_is_enough(page: Page) -> None:
    page.goto("/login")
    page.keyboard.type("ann")  # the field has the focus
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Clusters")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_the_theme_is_kept(manager: ServedManager, page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/login")
    page.get_by_role("button", name="Change between light and dark").click()
    for _ in range(2):
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.goto("/login")

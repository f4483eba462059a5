"""The page of the doctor in a real browser, of a cluster that runs and of one that is down."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from kafka_py.testing.web_manager import ServedManager

LONG_MS = 30_000


@pytest.mark.parametrize(
    ("name", "expected"), [("ours", "auto.create.topics.enable is true."), ("down", "No connection")]
)
def test_findings_are_readable_for_everybody(
    name: str, expected: str, page: Page, readable: Callable[..., None]
) -> None:
    readable(f"/clusters/{name}/doctor")
    expect(page.get_by_role("heading", name=expected)).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 700})
    page.get_by_text("What was seen").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_menu_leads_to_the_doctor(page: Page) -> None:
    page.goto("/clusters/ours/brokers")
    page.get_by_role("link", name="Doctor").click()
    expect(page.get_by_role("heading", name="Doctor")).to_be_visible()


def test_the_page_is_filled_in_while_it_is_open_and_examines_again_for_a_button(page: Page) -> None:
    page.goto("/clusters/ours/doctor")
    again = page.get_by_role("button", name="Examine again")
    expect(again).to_be_visible(timeout=LONG_MS)
    again.click()
    expect(page.get_by_text("The cluster is being examined.")).to_be_visible()
    expect(again).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_role("heading", name="auto.create.topics.enable is true.")).to_be_visible()


def test_without_script_the_page_reloads_itself_until_the_report_is_there(
    chromium: Browser, manager: ServedManager
) -> None:
    context = chromium.new_context(base_url=manager.url, java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto("/clusters/ours/doctor")
        expect(page.get_by_role("heading", name="auto.create.topics.enable is true.")).to_be_visible(timeout=LONG_MS)
        expect(page.get_by_role("button", name="Examine again")).to_be_visible(timeout=LONG_MS)
    finally:
        context.close()

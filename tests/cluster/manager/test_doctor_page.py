"""The page of the doctor in a real browser, of a cluster that runs and of one that is down."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect


@pytest.mark.parametrize(
    ("name", "expected"), [("ours", "auto.create.topics.enable is true."), ("down", "No connection")]
)
def test_findings_are_readable_for_everybody(
    name: str, expected: str, page: Page, serious_findings: Callable[[Page], list[str]]
) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(f"/clusters/{name}/doctor")
        assert serious_findings(page) == []
    expect(page.get_by_role("heading", name=expected)).to_be_visible()
    page.get_by_text("What was seen").first.click()
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_menu_leads_to_the_doctor(page: Page) -> None:
    page.goto("/clusters/ours/brokers")
    page.get_by_role("link", name="Doctor").click()
    expect(page.get_by_role("heading", name="Doctor")).to_be_visible()

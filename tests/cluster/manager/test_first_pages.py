"""The first pages in a real browser: no script errors, no serious axe finding, nothing wider than 360 px."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

PAGES = ["/", "/clusters/ours/brokers", "/clusters/down/brokers", "/nothing"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_readable_for_everybody(
    path: str, page: Page, serious_findings: Callable[[Page], list[str]]
) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(path)
        assert serious_findings(page) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_first_page_leads_to_the_brokers(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="ours").click()
    expect(page.get_by_role("heading", name="Brokers")).to_be_visible()
    expect(page.get_by_text("controller")).to_have_count(1)

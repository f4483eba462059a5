"""The first pages in a real browser: no script errors, no serious axe finding, nothing wider than 360 px."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

PAGES = {"/": 200, "/clusters/ours/brokers": 200, "/clusters/down/brokers": 503, "/nothing": 404}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_readable_for_everybody(path: str, readable: Callable[..., None]) -> None:
    readable(path, PAGES[path])


def test_the_first_page_leads_to_the_brokers(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="ours").click()
    expect(page.get_by_role("heading", name="Brokers")).to_be_visible()
    expect(page.get_by_text("controller")).to_have_count(1)

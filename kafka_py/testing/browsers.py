"""The machine's Chromium, driven by Playwright; pages that fail a test on script errors."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


@contextlib.contextmanager
def started_chromium() -> Iterator[Browser | None]:
    """A browser without a window; None where there is no Chromium or no Playwright."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def watched_page(browser: Browser, base_url: str) -> Iterator[Page]:
    """A page of a new browser session, at no address yet; relative addresses begin with base_url.

    Raises AssertionError at its end where a script has failed or opened a dialog.
    """
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            errors.append(message.text)

    with contextlib.closing(browser.new_context(base_url=base_url)) as context:
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
        yield page
    if errors:
        raise AssertionError("; ".join(errors))

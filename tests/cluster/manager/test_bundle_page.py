"""The support archive of a running cluster in a real browser: made, downloaded, opened."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

PATH = "/clusters/ours/bundle"


def test_an_archive_is_made_and_downloaded(page: Page, readable: Callable[..., None], tmp_path: Path) -> None:
    page.goto("/clusters/ours/doctor")
    page.get_by_role("link", name="Support archive").click(timeout=30_000)
    page.get_by_role("button", name="Make an archive").click()
    expect(page.locator("#notices")).to_contain_text("The archive is being made.")
    link = page.get_by_role("link", name="Download")
    expect(link).to_be_visible(timeout=60_000)
    with page.expect_download() as download:
        link.click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    with tarfile.open(path) as archive:
        names = [member.name for member in archive]
        inner = archive.extractfile(next(name for name in names if name.endswith("/cluster.json")))
        assert inner is not None
        assert len(json.load(inner)["nodes"]) == 3
    assert {name.partition("/")[2] for name in names} >= {"bundle.json", "doctor.json", "settings/broker-0.properties"}
    readable(PATH)

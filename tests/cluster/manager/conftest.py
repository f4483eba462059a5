"""A cluster of three brokers, the manager served for it, and pages of Chromium that fail on script errors."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.browsers import watched_page
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.web_manager import ServedManager

PNG_HEADER = b"\x89PNG\r\n\x1a\n"
AXE = Path(__file__).with_name("axe-core-4.14.1.min.js")


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(brokers=3) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def manager(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedManager]:
    """Everybody may change things; a second cluster of the settings is down."""
    clusters = (ClusterSettings("ours", cluster.bootstrap_servers), ClusterSettings("down", "127.0.0.1:1"))
    settings = ManagerSettings(clusters, data=tmp_path_factory.mktemp("manager"), allow_changes=True)
    with ServedManager(settings) as served:
        yield served


@pytest.fixture
def page(chromium: Browser, manager: ServedManager) -> Iterator[Page]:
    """A page of a new browser session, at no address yet; relative addresses are the manager's."""
    with watched_page(chromium, manager.url) as page:
        yield page


@pytest.fixture
def pictured(page: Page, tmp_path: Path) -> Callable[[str, str], None]:
    """Makes the picture of a path, by its name: in the folder KAFKA_PY_PICTURES, or a temporary one."""

    def take(name: str, path: str) -> None:
        folder = os.environ.get("KAFKA_PY_PICTURES")
        file = (Path(folder) if folder else tmp_path) / f"{name}.png"
        page.set_viewport_size({"width": 1100, "height": 720})
        page.emulate_media(color_scheme="light")
        answer = page.goto(path)
        assert answer is not None and answer.status == 200
        expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=30_000)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=file)
        assert file.read_bytes().startswith(PNG_HEADER) and file.stat().st_size > 5_000

    return take


@pytest.fixture
def serious_findings() -> Callable[[Page], list[str]]:
    """What axe-core finds serious or critical on the page as it is."""

    def find(page: Page) -> list[str]:
        page.evaluate(AXE.read_text())  # over the debugger: the page's own policy would not let it in
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {each['nodes'][0]['html']}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]

    return find


@pytest.fixture
def readable(page: Page, serious_findings: Callable[[Page], list[str]]) -> Callable[..., None]:
    """Checks the page of a path: nothing serious for axe in light and dark, nothing wider than 360 px.

    A part that is filled in later is waited for. A page of an error is checked with its status.
    """

    def check(path: str, status: int = 200) -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            answer = page.goto(path)
            assert answer is not None and answer.status == status
            expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=30_000)
            assert serious_findings(page) == []
        page.set_viewport_size({"width": 360, "height": 700})
        page.goto(path)
        expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=30_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.set_viewport_size({"width": 1280, "height": 720})

    return check

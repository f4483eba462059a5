"""The documentation site: it builds without warnings, all links and anchors lead somewhere, nothing is from the web."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.observe.metrics import RequestMetrics
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.cli.umbrella.tool_names import TOOLS, script_of
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.metrics import ProducerMetrics
from kafka_py.log.model.configs import LogConfig
from kafka_py.testing.processes import ROOT
from kafka_py.wire.apis import APIS

DOCS = ROOT / "docs"
SITE = "http://site/"
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
"""Tags that a browser fetches something for, and where they name it."""
NOT_FETCHED = {"canonical", "next", "prev"}
ADDRESS_IN_STYLES = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^'\")]+)|@import\s")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [ROOT / "bin" / "build-docs.sh", folder]
    environment = {**os.environ, "KAFKA_PY_PYTHON": sys.executable, "http_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return folder


class Page(HTMLParser):
    """What a page is made of: where its links lead, what it loads, which anchors it has, its navigation."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif given.get(LOADED.get(tag, ""), "") and given.get("rel") not in NOT_FETCHED:
            self.loaded.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


def test_every_document_is_a_page(pages: dict[str, Page]) -> None:
    documents = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
    expected = {str(path.parent / "index.html" if path.stem == "README" else path.with_suffix(".html"))
                for path in documents}  # fmt: skip
    assert len(expected) > 30
    assert sorted(expected - set(pages)) == []


def test_every_link_and_anchor_leads_somewhere(pages: dict[str, Page], site: Path) -> None:
    broken = []
    for name, page in pages.items():
        for link in {*page.links, *page.loaded}:
            target = urlsplit(urljoin(SITE + name, link))
            if target.netloc != "site":
                continue
            path = unquote(target.path).lstrip("/") or "index.html"
            if not (site / path).is_file():
                broken.append(f"{name}: {link}")
            elif target.fragment and path in pages and unquote(target.fragment) not in pages[path].anchors:
                broken.append(f"{name}: {link} has no such anchor")
    assert sorted(broken) == []


def test_nothing_is_loaded_from_the_web(pages: dict[str, Page], site: Path) -> None:
    assert [(name, link) for name, page in pages.items() for link in page.loaded if "//" in link] == []
    styles = [path for path in site.rglob("*.css") if ADDRESS_IN_STYLES.search(path.read_text())]
    assert styles == []


def words_of(pages: Path, name: str) -> set[str]:
    """What a page shows in the type of code."""
    return set(re.findall(r"<code>([^<]+)</code>", (pages / "tables" / f"{name}.html").read_text()))


def test_every_setting_error_api_metric_and_command_has_a_line(site: Path) -> None:
    clients = {*ProducerOptions.ROWS, *ConsumerOptions.ROWS, *AdminOptions.ROWS}
    commands = (site / "tables" / "commands.html").read_text()
    assert [name for name in TOOLS if script_of(name) not in commands] == []
    groups = {each.GROUP: [row.name for row in each.ROWS.values()] for each in (RequestMetrics, ProducerMetrics)}
    assert sorted(set(BrokerConfig.ROWS) - words_of(site, "broker-settings")) == []
    assert sorted(set(LogConfig.ROWS) - words_of(site, "topic-settings")) == []
    assert sorted(clients - words_of(site, "client-settings")) == []
    assert sorted({error.name for error in ErrorCode} - words_of(site, "errors")) == []
    assert sorted({api.name for api in APIS.values()} - words_of(site, "apis")) == []
    assert sorted({name for names in groups.values() for name in names} - words_of(site, "metrics")) == []


def test_every_setting_says_what_it_does() -> None:
    of_brokers = {row.topic for row in BrokerConfig.ROWS.values() if row.about}
    tables = (BrokerConfig, LogConfig, ProducerOptions, ConsumerOptions, AdminOptions)
    rows = [row for each in tables for row in each.ROWS.values() if not row.about and not row.no_effect]
    assert [row.name for row in rows if row.name not in of_brokers] == []


def test_every_page_is_reached_from_the_first_one(pages: dict[str, Page]) -> None:
    reached, new = {"index.html"}, ["index.html"]
    while new:
        name = new.pop()
        for link in pages[name].links:
            path = unquote(urlsplit(urljoin(SITE + name, link)).path).lstrip("/")
            if path in pages and path not in reached:
                reached.add(path)
                new.append(path)
    assert sorted(set(pages) - reached - {"404.html"}) == []


@pytest.mark.timeout(180)
def test_search_finds_pages_of_a_site_that_was_opened_as_a_folder(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    asked: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.locator(".md-search__input").click()
        page.locator(".md-search__input").press_sequentially("controlled shutdown")
        page.locator(".md-search-result__link").first.wait_for(timeout=60_000)
        found = page.locator(".md-search-result__link").evaluate_all("links => links.map(each => each.href)")
        page.locator(".md-search-result__link").first.click()
        page.wait_for_url(lambda url: "index.html" not in url)
        browser.close()
    assert any("operations.html" in link for link in found), found
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []

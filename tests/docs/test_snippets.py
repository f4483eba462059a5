"""The code on the documentation pages, run as it stands."""

import re
from pathlib import Path

import pytest
from page_blocks import DOCS, blocks_of

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT

pytest_plugins = "pytester"

def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The page's blocks of a language: the line in which the code begins, and the code."""
    return [(each.line, each.code) for each in blocks_of(page) if each.language == language and not each.title]


CAUGHT = ("TOPIC_ALREADY_EXISTS", "woken", "Invalid value most for configuration acks", "'orders'", "MESSAGE_TOO_LARGE")
"""What the clients page prints where it shows how an error is met."""


def test_the_clients_page_runs_from_top_to_bottom(
    module_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS / "clients.md"
    names: dict[str, object] = {"__name__": "docs"}
    for line, code in blocks(page, "python"):
        code = code.replace("localhost:9092", module_broker.bootstrap)
        exec(compile("\n" * (line - 1) + code, page, "exec"), names)
    printed = capsys.readouterr().out
    assert [words for words in CAUGHT if words not in printed] == [], printed


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project in which kafka_py is installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p kafka_py.testing.pytest_plugin")
    return pytester


def test_the_testing_page_is_a_test_suite(project: pytest.Pytester) -> None:
    for module in ("confluent_kafka", "kafka", "aiokafka"):
        pytest.importorskip(module)
    page = DOCS / "testing-with-kafka_py.md"
    code = blocks(page, "python")
    project.makepyfile(**{f"test_line_{line}": block for line, block in code})
    tests = sum(block.count("def test_") for _, block in code)
    assert tests >= 7
    project.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=tests)


def test_the_settings_of_the_testing_page_are_known(project: pytest.Pytester) -> None:
    [(_, ini)] = blocks(DOCS / "testing-with-kafka_py.md", "ini")
    project.makeini(ini)
    project.makepyfile("def test(kafka_cluster): assert len(kafka_cluster.brokers) == 3")
    project.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_links_of_the_readme_lead_somewhere() -> None:
    """Those of the pages: test_site.py, for some pages are made while the site is built."""
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target

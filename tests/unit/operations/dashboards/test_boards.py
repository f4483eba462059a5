"""The dashboards by the types of Grafana's own SDK, and every expression by Prometheus' parser."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard as GrafanaDashboard

from kafka_py.operations.dashboards import grafana
from kafka_py.operations.dashboards.files import WantedFiles, all_dashboards, grafana_files
from kafka_py.operations.dashboards.panels import Dashboard
from kafka_py.testing.peers import promtool

BOARDS = all_dashboards(WantedFiles())
VALUES = {"job": "kafka", "exporter": "kafka-exporter", "instance": ".+", "cluster": ".*", "topic": ".+", "group": ".+",
          "__rate_interval": "1m"}  # fmt: skip
VARIABLE = re.compile(r"\$\{?(\w+)\}?")


def document_of(board: Dashboard) -> dict[str, Any]:
    """As it is read from a file."""
    made: dict[str, Any] = json.loads(json.dumps(grafana.document(board, "Prometheus")))
    return made


each_board = pytest.mark.parametrize("board", BOARDS, ids=[board.name for board in BOARDS])


def lost(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:
    """What of our document is not in the one that went through Grafana's types."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            yield from lost(value, theirs.get(name, "nothing"), f"{where}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for mine, other in zip(ours, theirs, strict=True):
            yield from lost(mine, other, f"{where}[]")
    elif ours != theirs:
        yield f"{where}: {ours!r} became {theirs!r}"


@each_board
def test_grafanas_own_types_keep_all_of_it(board: Dashboard) -> None:
    register_default_plugins()
    ours = document_of(board)
    read = GrafanaDashboard.from_json(ours)
    assert list(lost(ours, json.loads(json.dumps(read, cls=JSONEncoder)))) == []


@each_board
def test_ids_are_unique_and_panels_do_not_overlap(board: Dashboard) -> None:
    panels = document_of(board)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) == len(board.panels()) + len(board.rows)
    cells = [
        {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        for at in (panel["gridPos"] for panel in panels)
    ]
    assert not any(one & other for one, other in combinations(cells, 2))
    assert all(0 <= x < 24 for each in cells for x, _ in each)


@each_board
def test_panels_have_their_own_titles_and_say_what_they_are_about(board: Dashboard) -> None:
    titles = [(row.title, panel.title) for row in board.rows for panel in row.panels]
    assert len(set(titles)) == len(titles)
    assert all(panel.about.endswith(".") for panel in board.panels())


@each_board
def test_every_variable_that_is_used_is_there(board: Dashboard) -> None:
    document = document_of(board)
    known = {each["name"] for each in document["templating"]["list"]}
    used = {*VARIABLE.findall(json.dumps(document["panels"])), *VARIABLE.findall(json.dumps(document["templating"]))}
    assert used - {"__rate_interval", "__all"} <= known
    assert known <= used


def test_names_of_dashboards_are_unique() -> None:
    assert len({board.name for board in BOARDS}) == len({board.title for board in BOARDS}) == 6


def test_no_panel_repeats_an_expression_of_its_dashboard() -> None:
    for board in BOARDS:
        written = [query.expression for panel in board.panels() if panel.kind == "timeseries"
                   for query in panel.queries]  # fmt: skip
        assert len(set(written)) == len(written), board.name


@pytest.mark.skipif(promtool.program() is None, reason="promtool is not installed")
def test_prometheus_parses_every_expression(tmp_path: Path) -> None:
    written = [
        VARIABLE.sub(lambda found: VALUES[found[1]], target["expr"])
        for board in BOARDS for panel in document_of(board)["panels"] for target in panel.get("targets", ())
    ]  # fmt: skip
    recorded = [{"record": f"dashboards:expression:{number}", "expr": each} for number, each in enumerate(written)]
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "expressions", "rules": recorded}]}))
    done = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(written) > 100


def test_a_data_source_is_made_only_where_its_address_is_given() -> None:
    assert not [path for path in grafana_files(WantedFiles(), "/boards") if "datasources" in path]
    made = grafana_files(WantedFiles(data_source="Ours", prometheus_url="http://p:9090"), "/boards")
    [source] = made["grafana/provisioning/datasources/kafka_py.yaml"]["datasources"]
    assert (source["name"], source["url"]) == ("Ours", "http://p:9090")
    [provider] = made["grafana/provisioning/dashboards/kafka_py.yaml"]["providers"]
    assert provider["options"]["path"] == "/boards"

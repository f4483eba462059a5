"""`kafka-py dashboards`: which files it writes, and what it refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.umbrella import dashboards
from kafka_py.testing.processes import ROOT

BOARDS = {f"grafana/dashboards/kafka_py-{name}.json"
          for name in ("cluster", "topics", "groups", "clients", "controller", "zookeeper")}  # fmt: skip
RULES = {"kafka_py-rules.yml"}
PROVIDER = {"grafana/provisioning/dashboards/kafka_py.yaml"}


def written(folder: Path, *options: str) -> set[str]:
    """The files that are there afterwards."""
    assert dashboards.main(["--out", str(folder), *options]) == 0
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], BOARDS | RULES | PROVIDER),
        (["--rules-only"], RULES),
        (["--grafana-only"], BOARDS | PROVIDER),
        (["--grafana-only", "--prometheus-url", "http://localhost:9090"],
         BOARDS | PROVIDER | {"grafana/provisioning/datasources/kafka_py.yaml"}),
    ],
)  # fmt: skip
def test_which_files_are_written(tmp_path: Path, options: list[str], files: set[str]) -> None:
    assert written(tmp_path / "new", *options) == files


def test_names_of_jobs_and_of_the_data_source(tmp_path: Path) -> None:
    written(tmp_path, "--job", "prod", "--exporter-job", "prod-groups", "--datasource", "Main")
    rules = (tmp_path / "kafka_py-rules.yml").read_text()
    assert '{job=\\"prod\\"}' in rules and '{job=\\"prod-groups\\"}' in rules and '"kafka\\"' not in rules
    board = json.loads((tmp_path / "grafana/dashboards/kafka_py-cluster.json").read_text())
    chosen = {each["name"]: each["current"]["value"] for each in board["templating"]["list"]}
    assert chosen == {"datasource": "Main", "job": "prod", "cluster": ["$__all"], "instance": ["$__all"]}


def test_grafana_finds_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("out"))
    provider = yaml.safe_load(Path("out/grafana/provisioning/dashboards/kafka_py.yaml").read_text())["providers"][0]
    assert Path(provider["options"]["path"]) == tmp_path / "out/grafana/dashboards"
    written(Path("out"), "--grafana-path", "/boards")
    assert "path: /boards\n" in Path("out/grafana/provisioning/dashboards/kafka_py.yaml").read_text()


def test_the_list_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dashboards.main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert "kafka_py-groups: Lag and members of consumer groups." in shown
    assert "KafkaOfflinePartitions (critical, after 1m)" in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--rules-only", "--grafana-only"], "can't be used with"),
        (["--job", ""], "--job needs a name"),
        (["--job", "a\nb"], "--job needs a name"),
        (["--prometheus-url", "localhost:9090"], "begins with http:// or https://"),
    ],
)
def test_wrong_options(tmp_path: Path, options: list[str], line: str) -> None:
    with pytest.raises(UsageError, match=line):
        dashboards.main(["--out", str(tmp_path / "none"), *options])
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandFailed, match=r"file cannot be written: File exists; name a folder by --out"):
        dashboards.main(["--rules-only", "--out", str(tmp_path / "file")])


def test_the_rules_of_compose_cluster_are_what_the_command_writes(tmp_path: Path) -> None:
    """`kafka-py dashboards --rules-only --out docker/prometheus` writes them again."""
    written(tmp_path, "--rules-only")
    name = "kafka_py-rules.yml"
    assert (ROOT / "docker/prometheus" / name).read_text() == (tmp_path / name).read_text()


def test_the_prometheus_of_compose_cluster_evaluates_them() -> None:
    settings = yaml.safe_load((ROOT / "docker/prometheus/prometheus.yml").read_text())
    assert settings["rule_files"] == ["kafka_py-rules.yml"]
    assert "kafka" in [each["job_name"] for each in settings["scrape_configs"]]
    service = yaml.safe_load((ROOT / "docker/compose-cluster.yaml").read_text())["services"]["prometheus"]
    mounted = {ours: theirs for ours, theirs, *_ in (volume.split(":") for volume in service["volumes"])}
    file, folder = "./prometheus/kafka_py-rules.yml", "./prometheus"
    assert mounted.get(file) == "/etc/prometheus/kafka_py-rules.yml" or mounted.get(folder) == "/etc/prometheus"

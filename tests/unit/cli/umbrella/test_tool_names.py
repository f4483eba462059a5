"""Every script of bin/ is a tool, a short name and a console script of the wheel."""

import os
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from kafka_py.cli.umbrella import tool_names
from kafka_py.cli.umbrella.tool_names import TOOLS, entry_of, script_of

ROOT = Path(__file__).resolve().parents[4]
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
NOT_TOOLS = {"build-docs.sh", "build.sh", "quickstart.sh", "test.sh"}


def test_every_script_of_bin_is_a_tool() -> None:
    scripts = {path.name for path in (ROOT / "bin").glob("[a-z]*.sh")} - NOT_TOOLS
    assert {script_of(short) for short in TOOLS} == scripts


def test_every_tool_is_on_the_path_of_an_installation() -> None:
    assert {name for name in SCRIPTS if name != "kafka-py"} == {script_of(short) for short in TOOLS}


@pytest.mark.parametrize("short", TOOLS)
def test_the_console_script_is_what_the_short_name_runs(short: str) -> None:
    module, _, function = SCRIPTS[script_of(short)].partition(":")
    assert getattr(import_module(module), function) is entry_of(short)


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that the process was replaced by."""
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: commands.append(command))
    monkeypatch.delenv("KAFKA_LOG4J_OPTS", raising=False)
    return commands


@pytest.mark.parametrize(
    ("short", "given", "words"),
    [
        ("server-start", ["s.properties", "--override", "a=b"], ["kafka.Kafka", "s.properties", "--override", "a=b"]),
        ("zookeeper-server-start", ["z"], [tool_names.ZOOKEEPER_CLASS, "z"]),
        ("run-class", ["-name", "x", "-loggc", "kafka.admin.TopicCommand", "--list"],
         ["kafka.admin.TopicCommand", "--list"]),
    ],
)  # fmt: skip
def test_servers_become_the_process_that_the_stop_scripts_look_for(
    short: str, given: list[str], words: list[str], replaced: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["script", *given])
    entry_of(short)()
    assert replaced == [[sys.executable, "-P", "-m", "kafka_py.cli.run_class", *words]]


def test_a_broker_logs_as_the_shipped_file_has_it(
    replaced: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["script", "s.properties"])
    entry_of("server-start")()
    named = os.environ["KAFKA_LOG4J_OPTS"].partition("file:")[2].rstrip("'")
    assert Path(named).read_text() == (ROOT / "config" / "log4j.properties").read_text()


def test_a_daemon_writes_its_console_and_its_logs_to_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["script", "-daemon", "-name", "none", "kafka.Nothing"])
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    with pytest.raises(SystemExit) as ended:
        entry_of("run-class")()
    assert ended.value.code == 0
    assert (tmp_path / "logs" / "none.out").exists()

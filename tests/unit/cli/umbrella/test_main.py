"""The command `kafka-py`: what its first argument becomes."""

import importlib
import subprocess
import sys

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.umbrella import main
from kafka_py.cli.umbrella.tool_names import TOOLS


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_help_lists_every_command(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    main.main(words)
    shown = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert shown == {*main.COMMANDS, *TOOLS}


def test_the_version_is_ours_and_kafka_s(capsys: pytest.CaptureFixture[str]) -> None:
    main.main(["--version"])
    assert "(Kafka 2.8.2)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["topics", "kafka-topics", "kafka-topics.sh"])
def test_a_tool_gets_the_arguments_that_follow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setenv("KAFKA_PY_PROFILES", "/nonexistent")
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr("kafka_py.cli.topics.cli", lambda: seen.append(sys.argv))
    main.main([name, "--bootstrap-server", "x:1", "--list"])
    assert seen == [["kafka-py topics", "--bootstrap-server", "x:1", "--list"]]


@pytest.mark.parametrize(
    ("name", "hint"), [("topic", "did you mean topics?"), ("zzzzz", "kafka-py --help lists them")]
)
def test_an_unknown_command_is_exit_1_and_the_nearest_one(
    name: str, hint: str
) -> None:
    with pytest.raises(CommandFailed) as failed:
        main.main([name])
    assert str(failed.value) == f"kafka-py has no command {name}: {hint}"


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"kafka_py.cli.umbrella.{name}")
    with pytest.raises(SystemExit) as ended:
        module.main(["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: kafka-py {name}")


SLOW = ("asyncio", "kazoo", "kafka_py.clients", "kafka_py.log", "kafka_py.records", "kafka_py.broker", "kafka_py.wire")


@pytest.mark.parametrize("name", [*main.COMMANDS, "topics"])
def test_help_loads_nothing_slow(name: str) -> None:
    code = (
        "import contextlib, io, sys\n"
        "from kafka_py.cli.umbrella.main import cli\n"
        f"sys.argv = ['kafka-py', {name!r}, '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        cli()\n"
        f"print([name for name in sys.modules if name.startswith({SLOW!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

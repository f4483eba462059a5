"""Completion scripts: every option of every command, and what bash makes of them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kafka_py.cli import completion

BIN = Path(__file__).resolve().parents[3] / "bin"


@pytest.fixture(scope="module")
def table():
    return completion.commands()


@pytest.fixture(scope="module")
def bash_script(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "kafka.bash"
    path.write_text("\n".join(completion.bash(table, completion.umbrella_commands())) + "\n")
    return path


def test_every_command_is_a_script_in_bin(table):
    scripts = {command.script for command in table}
    assert scripts <= {path.name for path in BIN.glob("[a-z]*.sh")}
    assert {"kafka-topics.sh", "kafka-cluster.sh", "kafka-producer-perf-test.sh", "kafka-get-offsets.sh"} <= scripts
    assert "zookeeper-security-migration.sh" in scripts


def test_rows_say_what_follows_them(table):
    topics = next(command for command in table if command.script == "kafka-topics.sh")
    rows = {row.names[0]: row for row in topics.rows}
    assert (rows["--create"].value, rows["--config"].repeatable, rows["--config"].takes_file) == ("", True, False)
    assert rows["--command-config"].takes_file
    cluster = next(command for command in table if command.script == "kafka-cluster.sh")
    assert cluster.actions == ("cluster-id", "unregister")
    assert ("--bootstrap-server", "-b") in [row.names for row in cluster.rows]


def complete(script, folder, *words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    previous = words[-2]
    code = (
        f"source '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        f"_kafka_py_complete '{words[0]}' '{words[-1]}' '{previous}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-euc", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["kafka-topics.sh", "--cre"], ["--create"]),
        (["/opt/kafka/bin/kafka-topics", "--exclude"], ["--exclude-internal"]),
        (["kafka-topics.sh", "--topic", ""], []),
        (["kafka-topics.sh", "--command-config", "adm"], ["admin.properties"]),
        (["kafka-verifiable-producer.sh", "--acks", ""], ["0", "1", "-1"]),
        (["kafka-console-consumer.sh", "--isolation-level", "read_c"], ["read_committed"]),
        (["kafka-console-producer.sh", "--compression-codec", "--to"], ["--topic"]),
        (["kafka-cluster.sh", ""], ["cluster-id", "unregister"]),
        (["kafka-cluster.sh", "unregister", "--i"], ["--id"]),
        (["something-else", "--"], []),
        (["kafka-py", "conso"], ["console-producer", "console-consumer"]),
        (["kafka-py", "ro"], ["roll"]),
        (["kafka-py", "topics", "--cre"], ["--create"]),
        (["kafka-py", "up", "--det"], ["--detach"]),
        (["kafka-py", "cluster", ""], ["cluster-id", "unregister"]),
        (["kafka-py", "console-consumer", "--output", ""], ["json", "csv"]),
    ],
)
def test_bash_offers_what_fits(bash_script, tmp_path, words, offered):
    (tmp_path / "admin.properties").write_text("")
    assert complete(bash_script, tmp_path, *words) == offered


def test_bash_offers_the_topics_and_groups_of_the_cluster(bash_script, tmp_path, monkeypatch):
    """The command that finds them gets the words so far."""
    finder = tmp_path / "bin" / "kafka-py"
    finder.parent.mkdir()
    finder.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\necho "$2-a $2-b"\n')
    finder.chmod(0o755)
    monkeypatch.setenv("PATH", str(finder.parent), prepend=":")
    words = ["kafka-py", "topics", "--profile", "prod", "--topic", "topics-"]
    assert complete(bash_script, tmp_path, *words) == ["topics-a", "topics-b"]
    assert (tmp_path / "asked").read_text() == "names topics -- topics --profile prod --topic topics-\n"
    assert complete(bash_script, tmp_path, "kafka-consumer-groups.sh", "--group", "") == ["groups-a", "groups-b"]


def test_the_zsh_script_names_every_option_and_is_well_formed(table, tmp_path):
    lines = list(completion.zsh(table, completion.umbrella_commands()))
    text = "\n".join(lines)
    assert lines[0].startswith("#compdef kafka-acls.sh kafka-acls ")
    assert "'*--config[" in text
    assert "'--command-config[Property file for the admin client.]:String\\: file:_files'" in text
    assert "'(--bootstrap-server -b)-b[" in text
    for command in table:
        for row in command.rows:
            assert all(f"{name}[" in text for name in row.names)
    if shutil.which("zsh") is None:
        pytest.skip("no zsh on this machine to check the syntax with")
    path = tmp_path / "_kafka_py"
    path.write_text(text + "\n")
    assert subprocess.run(["zsh", "-n", path], capture_output=True, check=False).returncode == 0


def test_text_for_zsh_is_quoted():
    row = completion.OptionRow(("--x",), "it's [a] b:c", "v:w", (), False)
    assert list(completion._zsh_specs(row)) == ["'--x[it'\\''s \\[a\\] b\\:c]:v\\:w:'"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script_is_printed(shell, capsys):
    assert completion.main([shell]) == 0
    assert "kafka-topics.sh" in capsys.readouterr().out


def test_wrong_usage_is_one_line(capsys):
    assert completion.main(["fish"]) == 1
    assert capsys.readouterr().err == "usage: kafka-py completion {bash|zsh}\n"
    assert completion.main(["--help"]) == 0

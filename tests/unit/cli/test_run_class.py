"""Class names of kafka-run-class.sh."""

import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from kafka_py.cli import run_class

BIN = Path(__file__).resolve().parents[3] / "bin"
ROWS = sorted(run_class.CLASSES)


@pytest.mark.parametrize("name", ROWS)
def test_every_class_leads_to_a_command_module(name):
    module = run_class.module_of(name)
    assert module is not None and importlib.util.find_spec(module) is not None
    assert callable(importlib.import_module(module).cli)


def test_own_module_names_are_taken():
    assert run_class.module_of("kafka_py.cli.topics") == "kafka_py.cli.topics"
    assert run_class.module_of("os.path") is None


def test_every_script_names_a_known_class():
    named = {}
    for script in BIN.glob("*.sh"):
        text = script.read_text().replace("\\\n", " ")
        for name in re.findall(r"kafka-run-class\.sh.* ((?:kafka|org\.apache)\.[\w.]+)", text):
            named[script.name] = name
    assert named.get("kafka-topics.sh") == "kafka.admin.TopicCommand"
    assert {name for name in named.values() if name not in run_class.CLASSES} == set()


def test_the_class_gets_the_arguments_that_follow(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "argv", ["run_class", "kafka.admin.TopicCommand", "--list", "--force"])
    monkeypatch.setattr("kafka_py.cli.topics.cli", lambda: seen.append(sys.argv[1:]))
    run_class.main()
    assert seen == [["--list", "--force"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "USAGE: kafka-run-class.sh"),
        (["--help"], "kafka.admin.TopicCommand"),
        (["kafka.Nothing"], "Could not find or load main class kafka.Nothing"),
    ],
)
def test_without_a_known_class_the_usage_is_shown_and_the_exit_code_is_1(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run_class", *arguments])
    with pytest.raises(SystemExit) as caught:
        run_class.main()
    assert caught.value.code == 1
    assert message in capsys.readouterr().err

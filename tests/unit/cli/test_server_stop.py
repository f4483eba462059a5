"""Which processes are brokers."""

import pytest

from kafka_py.cli import server_stop
from kafka_py.cli.server_stop import is_broker, main

RUN = ["-P", "-m", "kafka_py.cli.run_class"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["python3", *RUN, "kafka.Kafka", "s.properties"], True),
        (["/opt/venv/bin/python", *RUN, "kafka.Kafka", "x" * 5000], True),
        (["python", *RUN, "kafka_py.cli.server_start", "s"], True),
        (["python", "-m", "kafka_py.cli.server_start", "s"], True),
        (["python", *RUN, "kafka.admin.TopicCommand", "kafka.Kafka"], False),
        (["python", "-c", "kafka.Kafka"], False),
        (["grep", *RUN, "kafka.Kafka"], False),
        (["python", "-m"], False),
        ([], False),
    ],
)
def test_a_broker_is_a_python_that_runs_its_module(words: list[str], expected: bool) -> None:
    assert is_broker(words) is expected


def test_none_to_stop_is_exit_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(server_stop, "processes_with", lambda _: iter(()))
    assert main([]) == 1
    assert capsys.readouterr().out == "No kafka server to stop\n"


def test_who_asks_for_help_stops_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(server_stop, "signal_processes", lambda *_: pytest.fail("stopped something"))
    assert main(["--help"]) == 1
    assert capsys.readouterr().err.startswith("USAGE: ")

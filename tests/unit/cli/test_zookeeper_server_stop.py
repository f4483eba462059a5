"""Which processes are ZooKeeper servers."""

import signal

import pytest

from kafka_py.cli import zookeeper_server_stop
from kafka_py.cli.common.command import UsageError
from kafka_py.cli.zookeeper_server_stop import is_server, main, signal_number

CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["java", "-Xmx512M", "-cp", "a.jar", CLASS, "z.properties"], True),
        (["/opt/jdk/bin/java", "-Dx=y", "-cp", "x" * 5000, CLASS, "z"], True),
        (["java", "-cp", "a.jar", "org.example.Main", CLASS], False),
        (["java", "-cp", CLASS, "org.example.Main"], False),
        (["java", f"-Dmain={CLASS}", "-jar", "x.jar"], False),
        (["python3", "-P", "-m", "kafka_py.cli.run_class", CLASS, "z"], True),
        (["python", "-m", "kafka_py.cli.zookeeper_server_start", "z"], True),
        (["python", "-m", "kafka_py.cli.run_class", "kafka_py.cli.zookeeper_server_stop"], False),
        (["python", "-m", "kafka_py.cli.run_class", "kafka.Kafka", CLASS], False),
        (["grep", CLASS], False),
        (["bash", "-c", f"java {CLASS}"], False),
        (["vi", f"/tmp/{CLASS}.java"], False),
        (["python", "-m"], False),
        ([], False),
    ],
)
def test_a_server_is_a_java_that_runs_its_main_class(words, expected):
    assert is_server(words) is expected


def test_none_to_stop_is_exit_1(monkeypatch, capsys):
    monkeypatch.setattr(zookeeper_server_stop, "servers", lambda: iter(()))
    assert main([]) == 1
    assert capsys.readouterr().out == "No zookeeper server to stop\n"


def test_every_server_gets_the_signal(monkeypatch):
    sent = []
    monkeypatch.setattr(zookeeper_server_stop, "servers", lambda: iter((11, 12)))
    monkeypatch.setattr(zookeeper_server_stop.os, "kill", lambda process, number: sent.append((process, number)))
    monkeypatch.delenv("SIGNAL", raising=False)
    assert main([]) == 0
    monkeypatch.setenv("SIGNAL", "KILL")
    assert main([]) == 0
    assert sent == [(11, signal.SIGTERM), (12, signal.SIGTERM), (11, signal.SIGKILL), (12, signal.SIGKILL)]


def test_signals_have_names_and_numbers():
    assert [signal_number(name) for name in ("TERM", "SIGINT", "kill", "9")] == [15, 2, 9, 9]
    with pytest.raises(UsageError, match="SIGNAL=NOPE"):
        signal_number("NOPE")


def test_who_asks_for_help_stops_nothing(monkeypatch, capsys):
    monkeypatch.setattr(zookeeper_server_stop, "signal_processes", lambda *_: pytest.fail("stopped something"))
    assert main(["--help"]) == 1
    assert capsys.readouterr().err.startswith("USAGE: ")

"""kafka-manager.sh and kafka-py web as processes: they serve, say where, and end in time."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT, Process, free_port, python_environment

SCRIPT = [str(ROOT / "bin" / "kafka-manager.sh")]
UMBRELLA = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "web"]
PASSWORD = "correct horse"


def ask(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        body: bytes = answer.read()
        return body


@pytest.mark.parametrize("command", [SCRIPT, UMBRELLA], ids=["script", "umbrella"])
def test_the_manager_serves_a_cluster_until_a_signal(
    command: list[str], module_broker: BrokerProcess, tmp_path: Path
) -> None:
    port = free_port()
    words = ["--bootstrap-server", module_broker.bootstrap, "--port", str(port), "--data", str(tmp_path / "data")]
    with Process([*command, *words], tmp_path / "log", environment=python_environment()) as manager:
        manager.wait_for_output(f"The manager is at http://127.0.0.1:{port}/")
        manager.wait_for(lambda: answers(port), what="an answer")
        assert b"Brokers" in ask(port, "/clusters/cluster/brokers")
        [row] = json.loads(ask(port, "/api"))["clusters"]
        assert (row["name"], row["brokers"], row["problem"]) == ("cluster", 1, "")
        assert manager.resident_mb() <= 120
        manager.signal(signal.SIGTERM)
        manager.wait()
    assert "Traceback" not in manager.output()


def answers(port: int) -> bool | None:
    try:
        return bool(ask(port, "/login"))
    except (urllib.error.URLError, ConnectionError):
        return None


def test_with_users_everybody_logs_in(module_broker: BrokerProcess, tmp_path: Path) -> None:
    users, port = tmp_path / "users", free_port()
    words = ["--users", str(users), "--add-user", "ann", "--role", "administrator"]
    subprocess.run([*SCRIPT, *words], input=f"{PASSWORD}\n", text=True, check=True, timeout=60,
                   env=python_environment())  # fmt: skip
    served = [*SCRIPT, "--users", str(users), "--host", "0.0.0.0", "--port", str(port), "--data", str(tmp_path),
              "--bootstrap-server", module_broker.bootstrap]  # fmt: skip
    with Process(served, tmp_path / "log", environment=python_environment()) as manager:
        manager.wait_for(lambda: answers(port), what="an answer")
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(port, "/api")
        assert refused.value.code == 401
        logins = urllib.request.HTTPPasswordMgrWithPriorAuth()
        logins.add_password(None, f"http://127.0.0.1:{port}/", "ann", PASSWORD, is_authenticated=True)
        opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(logins))
        with opener.open(f"http://127.0.0.1:{port}/api", timeout=30) as answer:
            assert json.loads(answer.read())["clusters"]
        manager.signal(signal.SIGINT)
        manager.wait()

"""The web manager in a container of its own: its first start, its volume, its rights."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.testing.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

VOLUME = "/var/lib/kafka/manager"
HEALTH = ["python3", "-m", "kafka_py.cli.container.health", "manager"]
ASK = """
import base64, sys, urllib.request
login = base64.b64encode(f"{sys.argv[1]}:{sys.argv[2]}".encode()).decode()
request = urllib.request.Request("http://127.0.0.1:9000/api", headers={"Authorization": f"Basic {login}"})
print(urllib.request.urlopen(request).read().decode())
"""
"""Run inside: the container needs no network then."""


@pytest.fixture
def manager(engine: Any, images: dict[str, str]) -> Iterator[Any]:
    """As docker/kubernetes/manager.yaml has it, of a broker that nobody finds."""
    container = engine.containers.create(
        images["manager"], network_mode="none", read_only=True, tmpfs={"/tmp": ""}, cap_drop=["ALL"],
        security_opt=["no-new-privileges"], environment={"KAFKA_MANAGER_BOOTSTRAP_SERVERS": "kafka.invalid:9092"},
    )  # fmt: skip
    try:
        begun = time.monotonic()
        start(container)
        print(f"the manager's first answer came after {time.monotonic() - begun:.2f} s")
        yield container
    finally:
        container.remove(force=True, v=True)


def start(container: Any) -> None:
    container.start()
    wait_until(lambda: container.exec_run(HEALTH).exit_code == 0, 60, "the login page")


def run(container: Any, *command: str) -> str:
    done = container.exec_run(list(command))
    assert done.exit_code == 0, done.output.decode()
    text: str = done.output.decode()
    return text


def clusters(container: Any, user: str, password: str) -> list[str]:
    rows = json.loads(run(container, "python3", "-c", ASK, user, password))["clusters"]
    return [row["name"] for row in rows]


def test_only_the_administrator_of_the_first_start_comes_in(manager: Any) -> None:
    password = run(manager, "cat", f"{VOLUME}/first-password").strip()
    assert password not in manager.logs().decode()
    assert f"admin is the administrator, with the password in {VOLUME}/first-password" in manager.logs().decode()
    assert clusters(manager, "admin", password) == ["cluster"]
    refused = manager.exec_run(["python3", "-c", ASK, "admin", "admin-admin"])
    assert refused.exit_code == 1 and "HTTP Error 401" in refused.output.decode()


def test_users_and_history_are_on_the_volume(manager: Any) -> None:
    command = ["kafka-manager.sh", "--users", f"{VOLUME}/users", "--add-user", "ann"]
    run(manager, "sh", "-c", f"echo correct horse | {' '.join(command)}")
    wait_until(lambda: "history.db" in run(manager, "ls", VOLUME), 60, "the history")
    manager.stop(timeout=30)
    assert manager.wait()["StatusCode"] == 0
    start(manager)
    assert clusters(manager, "ann", "correct horse") == ["cluster"]
    assert manager.logs().decode().count("There were no users") == 1
    assert "Traceback" not in manager.logs().decode()

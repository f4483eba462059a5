"""`kafka-py up --security`: a cluster that only its users reach, with every command working at once."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.base.properties import read_properties
from kafka_py.cli.local_cluster import state
from kafka_py.cli.local_cluster.processes import kill
from kafka_py.testing.processes import python_environment

PROGRAM = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main"]
TIMEOUT_S = 100

pytestmark = pytest.mark.timeout(400)


class Machine:
    """Runs commands for one data folder, and keeps what they print."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed = ""

    def __call__(self, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **python_environment(), "KAFKA_PY_DATA": str(self.folder)}
        environment["KAFKA_PY_PROFILES"] = str(self.folder.parent / "none.toml")
        done = subprocess.run(
            [*PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, check=False,
            timeout=TIMEOUT_S, env=environment,
        )  # fmt: skip
        self.printed += done.stdout + done.stderr
        return done

    def up(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        done = self("up", "--detach", "--port", 0, "--zookeeper-port", 0, *arguments)
        assert done.returncode == 0, done
        return done

    def write(self, text: str) -> None:
        assert self("console-producer", "--topic", "t", stdin=f"{text}\n").returncode == 0

    def read(self, count: int) -> list[str]:
        limits = ("--from-beginning", "--max-messages", count, "--timeout-ms", 30_000)
        return self("console-consumer", "--topic", "t", *limits).stdout.split()


@pytest.fixture
def kafka_py(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "cluster")
    yield machine
    for process in state.read(machine.folder):
        kill(process)


def test_up_use_restart_and_down(kafka_py: Machine) -> None:
    started = kafka_py.up("--security", "SASL_SSL")
    properties = kafka_py.folder / "security" / "admin.properties"
    assert f"security.protocol=SASL_SSL, settings for clients in {properties}\n" in started.stdout
    shown = json.loads(kafka_py("status", "--output", "json").stdout)
    assert (shown["security_protocol"], shown["controller"]) == ("SASL_SSL", 0)
    assert kafka_py("topics", "--create", "--topic", "t").stdout == "Created topic t.\n"
    kafka_py.write("one")
    assert kafka_py("--profile", "local", "topics", "--list").stdout == "t\n"
    anonymous = kafka_py("topics", "--bootstrap-server", shown["bootstrap_servers"], "--command-config", os.devnull,
                         "--list")  # fmt: skip
    assert anonymous.stdout == "t\n", "the profile's settings are under those of a file"
    checked = kafka_py("check", kafka_py.folder / "broker-0" / "server.properties", properties)
    assert checked.returncode == 0, checked

    assert kafka_py("roll").returncode == 0
    assert kafka_py("down").returncode == 0
    kafka_py("up", "--detach")
    assert kafka_py.read(1) == ["one"]
    assert kafka_py("status").returncode == 0
    assert kafka_py("down").returncode == 0
    no_secret_is_shown(kafka_py)


def no_secret_is_shown(kafka_py: Machine) -> None:
    """Not by commands, not in logs; and files that have one are for their owner."""
    passwords = read_properties(kafka_py.folder / "security" / "passwords.properties")
    secrets = [*passwords.values(), (kafka_py.folder / "security" / "password").read_text()]
    assert len({*secrets}) == 3
    for path in kafka_py.folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        if any(secret.encode() in data for secret in secrets):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
            assert path.suffix == ".properties" or path.name == "password", path
    assert [secret for secret in secrets if secret in kafka_py.printed] == []


def test_a_user_may_do_what_an_acl_allows(kafka_py: Machine, tmp_path: Path) -> None:
    """As the documentation has it: a user is made, allowed to read, and comes in with a file of its own."""
    servers = re.search(r"^bootstrap.servers=(\S+)$", kafka_py.up("--security", "SASL_SSL").stdout, re.MULTILINE)
    assert servers is not None
    kafka_py("topics", "--create", "--topic", "t")
    kafka_py.write("one")
    kafka_py("configs", "--alter", "--entity-type", "users", "--entity-name", "alice", "--add-config",
             "SCRAM-SHA-512=[password=alice-secret]")  # fmt: skip
    alice = tmp_path / "alice.properties"
    entry = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="alice-secret";'
    alice.write_text(f"sasl.jaas.config={entry}\n")  # the rest is the administrator's
    read = ("console-consumer", "--topic", "t", "--from-beginning", "--max-messages", 1, "--timeout-ms", 15_000,
            "--consumer.config", alice, "--group", "g")  # fmt: skip
    refused = kafka_py(*read)
    assert (refused.stdout, "AUTHORIZATION_FAILED" in refused.stderr) == ("", True), refused
    kafka_py("acls", "--add", "--consumer", "--topic", "t", "--group", "g", "--allow-principal", "User:alice")
    assert kafka_py(*read).stdout == "one\n"


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT"])
def test_three_brokers_of_the_other_protocols(kafka_py: Machine, protocol: str) -> None:
    kafka_py.up("--brokers", 3, "--security", protocol)
    assert kafka_py("topics", "--create", "--topic", "t", "--partitions", 3).returncode == 0
    kafka_py.write("one")
    assert kafka_py.read(1) == ["one"]
    assert kafka_py("status").returncode == 0
    assert kafka_py("down", "--delete").returncode == 0


def test_one_command_closes_a_cluster_that_was_open(kafka_py: Machine) -> None:
    """And what was written before is there; a change that fails leaves the cluster as it was."""
    kafka_py.up()
    kafka_py("topics", "--create", "--topic", "t")
    kafka_py.write("one")
    assert kafka_py("down").returncode == 0
    before = (kafka_py.folder / "broker-0" / "server.properties").read_text()
    failed = kafka_py("up", "--detach", "--security", "SASL_SSL", "--set", "num.network.threads=none")
    assert failed.stderr.startswith("Error: broker-0 could not start: Invalid value none")
    assert (kafka_py.folder / "broker-0" / "server.properties").read_text() == before
    assert kafka_py("up", "--detach", "--security", "SASL_SSL").returncode == 0
    kafka_py.write("two")
    assert kafka_py.read(2) == ["one", "two"]
    assert kafka_py("down").returncode == 0
    assert kafka_py("up", "--detach", "--security", "PLAINTEXT").returncode == 0
    assert kafka_py.read(2) == ["one", "two"]


def test_a_protocol_that_does_not_exist(kafka_py: Machine) -> None:
    done = kafka_py("up", "--security", "TLS")
    assert done.returncode == 1 and "SASL_SSL" in done.stderr and not kafka_py.folder.exists()

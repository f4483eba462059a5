"""kafka-py top on a real broker: printed, and in a terminal of its own with keys pressed."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import python_environment

COMMAND = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "top", "--bootstrap-server"]
TOPIC = "watched"
DEADLINE_S = 30.0


@pytest.fixture(scope="module")
def bootstrap(module_broker: BrokerProcess) -> str:
    module_broker.create_topic(TOPIC, 2)
    with contextlib.closing(Producer({"bootstrap.servers": module_broker.bootstrap})) as producer:
        for number in range(10):
            producer.send(TOPIC, b"%d" % number)
        producer.flush()
    return module_broker.bootstrap


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], env=python_environment(), text=True, capture_output=True, timeout=60, check=False
    )


def test_a_document(bootstrap: str) -> None:
    done = ran(bootstrap, "--output", "json", "--interval", "0.1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [broker["is_controller"] for broker in found["brokers"]] == [True]
    [topic] = [each for each in found["topics"] if each["topic"] == TOPIC]
    assert (topic["partitions"], topic["records"], topic["written_per_s"]) == (2, 10, 0.0)
    assert topic["bytes"] > 0


def test_a_printed_table(bootstrap: str) -> None:
    done = ran(bootstrap, "--once", "--show", "topics", "--interval", "0.1")
    assert done.returncode == 0, done.stderr
    heading, _, titles, *rows = done.stdout.splitlines()
    assert "1 brokers" in heading
    assert titles.split()[:2] == ["TOPIC", "PARTITIONS"]
    assert any(row.split()[:2] == [TOPIC, "2"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--once", "--interval", "0"), "--interval must be at least"),
        ((), "needs a terminal"),
    ],
)
def test_what_cannot_be(bootstrap: str, arguments: tuple[str, ...], told: str) -> None:
    done = ran(bootstrap, *arguments)
    assert done.returncode == 1
    assert told in done.stdout + done.stderr


def test_no_broker() -> None:
    done = ran("127.0.0.1:1", "--once", "--interval", "0.1")
    assert done.returncode == 1
    assert "No broker of 127.0.0.1:1 answers" in done.stderr


class Terminal:
    """A terminal with a program in it; `seen` is all that was drawn."""

    def __init__(self, command: list[str]) -> None:
        self._own, its = pty.openpty()
        termios.tcsetwinsize(its, (30, 120))
        self.modes = termios.tcgetattr(its)
        self._its = its
        self.process = subprocess.Popen(
            command, stdin=its, stdout=its, stderr=its, env={**python_environment(), "TERM": "xterm"}
        )
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Until it is drawn after this call."""
        start = len(self.seen)
        ends = time.monotonic() + DEADLINE_S
        while text not in self.seen[start:]:
            assert time.monotonic() < ends, f"{text!r} is not in {self.seen[-3000:]!r}"
            if select.select([self._own], [], [], 0.1)[0]:
                self.seen += os.read(self._own, 65536).decode(errors="replace")

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def modes_now(self) -> list[object]:
        return list(termios.tcgetattr(self._its))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)
        os.close(self._its)


@pytest.fixture
def terminal(bootstrap: str) -> Iterator[Terminal]:
    made = Terminal([*COMMAND, bootstrap, "--interval", "0.2"])
    yield made
    made.close()


def test_keys_change_the_view_and_the_terminal_is_as_before(terminal: Terminal) -> None:
    terminal.wait_for("ADDRESS")
    terminal.press("t")
    terminal.wait_for(TOPIC)
    terminal.press("g")
    terminal.wait_for("CHANGE")
    terminal.press(">")
    terminal.wait_for("CHANGE v")
    terminal.press("q")
    assert terminal.process.wait(DEADLINE_S) == 0
    assert terminal.modes_now() == list(terminal.modes)

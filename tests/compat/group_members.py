"""Members of consumer groups, each a process of its own that can be paused, closed and killed.

    with Group(bootstrap, topic) as group:
        one = group.member("confluent-kafka")
        two = group.member("java")
        group.wait_balanced({one: 2, two: 2})

A record counts as read when its member has written it down, which it does before it commits.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kafka_py.testing import guard
from kafka_py.testing.peers.apache import Jars

TIMEOUT_S = 90
JAVA = "java"
LIBRARIES = ("confluent-kafka", "kafka-python", "aiokafka", JAVA)

_PROGRAM = Path(__file__).with_name("group_member.py")
_JAVA_STRATEGIES = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class Member:
    """A running member. lines: all that it has written. assigned: its partitions, as it last said."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.lines: list[str] = []
        self.assigned: set[int] = set()
        self.read: list[str] = []
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        guard.watch(self._process.pid)
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._listen_to_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "record":
                self.read.append(rest)
            elif word == "assigned":
                self.assigned = set(map(int, rest.split()))
            elif word == "revoked":
                self.assigned = self.assigned - set(map(int, rest.split()))
            self.lines.append(line.rstrip("\n"))

    def _listen_to_errors(self) -> None:
        assert self._process.stderr is not None
        self.errors += self._process.stderr

    @property
    def events(self) -> list[str]:
        """What it wrote besides records."""
        return [line for line in self.lines if not line.startswith("record ")]

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def _command(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def pause(self) -> None:
        """It stops polling, as if it had much to do."""
        self._command("pause")

    def resume(self) -> None:
        self._command("resume")

    def close(self) -> None:
        """It leaves in order."""
        if self.is_running:
            self._command("close")
            self._process.wait(TIMEOUT_S)
        self._ended()
        assert "closed" in self.lines, self.errors

    def kill(self) -> None:
        """It is gone without a word, as by kill -9."""
        self._process.kill()
        self._process.wait(TIMEOUT_S)
        self._ended()

    def _ended(self) -> None:
        for thread in self._threads:
            thread.join(TIMEOUT_S)
        self.assigned = set()

    def __repr__(self) -> str:
        return f"<{self.name} {sorted(self.assigned)} {self.events[-5:]} {self.errors[-3:]}>"


class Group:
    """A consumer group of one topic; members are made as they are asked for, and end with it."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        name: str | None = None,
        jars: Callable[[], Jars] | None = None,
        strategy: str = "range",
        session_ms: int = 6000,
        max_poll_ms: int = 60_000,
    ) -> None:
        """jars: where Java members get their classes."""
        self.members: list[Member] = []
        self.name = name or f"group-of-{topic}"
        self._topic = topic
        self._jars = jars
        self._settings: dict[str, Any] = {
            "bootstrap": bootstrap,
            "group": self.name,
            "topic": topic,
            "strategy": strategy,
            "instance": None,
            "session_ms": session_ms,
            "heartbeat_ms": 300,
            "max_poll_ms": max_poll_ms,
        }

    def member(self, library: str, **settings: Any) -> Member:
        """Starts one more. settings: others than the group's."""
        given = {**self._settings, **settings}
        command = self._java(given) if library == JAVA else [sys.executable, str(_PROGRAM), library, json.dumps(given)]
        member = Member(library, command)
        self.members.append(member)
        return member

    def _java(self, given: Mapping[str, Any]) -> list[str]:
        assert self._jars is not None
        settings = {
            "bootstrap.servers": given["bootstrap"],
            "group.id": given["group"],
            "partition.assignment.strategy": _JAVA_STRATEGIES[given["strategy"]],
            "session.timeout.ms": given["session_ms"],
            "heartbeat.interval.ms": given["heartbeat_ms"],
            "max.poll.interval.ms": given["max_poll_ms"],
            "max.poll.records": 10,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
        }
        if given["instance"] is not None:
            settings["group.instance.id"] = given["instance"]
        pairs = [f"{name}={value}" for name, value in settings.items()]
        return self._jars().source_command("GroupMember", self._topic, *pairs)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline, f"never {what}: {self.members}"
            time.sleep(0.02)

    def wait_balanced(self, shares: Mapping[Member, int]) -> None:
        """Until each of these has so many partitions, and no partition two owners."""

        def balanced() -> bool:
            owned = [partition for member in shares for partition in member.assigned]
            return len(set(owned)) == len(owned) and all(
                len(member.assigned) == share for member, share in shares.items()
            )

        self.wait(balanced, f"balanced as {[(member.name, share) for member, share in shares.items()]}")

    def wait_read(self, values: set[str]) -> None:
        """Until all of these were read by some member, at least once."""
        self.wait(lambda: values <= self.read, f"all read, of {len(values)} {len(values - self.read)} are missing")

    @property
    def read(self) -> set[str]:
        return {value for member in self.members for value in tuple(member.read)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        for member in self.members:
            if member.is_running:
                member.kill()

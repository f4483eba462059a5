"""A Java consumer in a group, as a process beside the test, that tells what it is given and what it reads."""

from __future__ import annotations

import subprocess
import threading
from types import TracebackType
from typing import Any, Self

from kafka_py.testing.peers.apache import Jars

TIMEOUT_S = 60


class JavaMember:
    """tests/compat/java/GroupReader.java; leaving the context closes the consumer.

    assigned, seen: as a Reader of group_scenarios has them. heard: (kind, partition numbers) as its listener heard.
    """

    def __init__(self, jars: Jars, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        named = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200, "bootstrap.servers": bootstrap,
                 "group.id": group, **{name.replace("_", "."): value for name, value in settings.items()}}  # fmt: skip
        command = jars.source_command("GroupReader", topic, *(f"{name}={value}" for name, value in named.items()))
        self.assigned: set[int] = set()
        self.heard: list[tuple[str, list[int]]] = []
        self.seen: list[tuple[int, int]] = []
        self.error: BaseException | None = None
        self._said: list[str] = []
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "read":
                partition, offset = rest.split(" ")
                self.seen.append((int(partition), int(offset)))
            elif kind in ("assigned", "revoked", "lost"):
                numbers = [int(number) for number in rest.split(",") if number]
                self.heard.append((kind, numbers))
                self.assigned = self.assigned | set(numbers) if kind == "assigned" else self.assigned - set(numbers)
            else:
                self._said.append(line)
        if self._process.wait():
            self.error = AssertionError("".join(self._said))

    def stop(self) -> None:
        """Closes the consumer and waits for its process."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        self._thread.join(TIMEOUT_S)
        self.assigned = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

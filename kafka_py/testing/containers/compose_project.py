"""A compose file of docker/, run by the compose of this machine: `docker compose`, or Debian's docker-compose."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from kafka_py.testing.processes import ROOT, NotReady, free_ports, wait_until

FOLDER = ROOT / "docker"
PATIENCE_S = 180.0
HEALTH = ["python3", "-m", "kafka_py.cli.container.health"]
PLUGIN = ("docker", "compose")
SCRIPT = ("docker-compose",)
"""Compose 2, a plugin of `docker`, and compose 1, which Debian 12 has."""


def compose_commands() -> list[tuple[str, ...]]:
    """Those of this machine, the newer one first."""
    found = []
    if shutil.which(PLUGIN[0]):
        done = subprocess.run([*PLUGIN, "version"], capture_output=True, check=False)
        if done.returncode == 0:
            found.append(PLUGIN)
    return found + [SCRIPT] * bool(shutil.which(SCRIPT[0]))


class ComposeProject:
    """The services of a compose file under a name of their own; a context manager that leaves nothing behind.

    ports: what KAFKA_PUBLISHED_PORT, or KAFKA_PUBLISHED_PORT_1 and so on, are set to. begun: when `up` was called, in
    seconds of the monotonic clock.
    """

    def __init__(
        self,
        engine: Any,
        name: str,
        folder: Path,
        brokers: int,
        *,
        command: Sequence[str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """folder: for a copy of the file without `name:`, which docker-compose 1 does not know.

        command: of compose; None is the newest of this machine. variables: further ones of the file.
        """
        self.project = f"test{uuid.uuid4().hex[:8]}"
        self.ports = free_ports(brokers)
        self.begun = 0.0
        self._command = command
        numbers = [f"_{number}" for number in range(1, brokers + 1)] if brokers > 1 else [""]
        self._environment = {f"KAFKA_PUBLISHED_PORT{n}": str(port) for n, port in zip(numbers, self.ports, strict=True)}
        self._environment |= variables or {}
        self._engine = engine
        lines = (FOLDER / name).read_text().splitlines(keepends=True)
        self._file = folder / name
        self._file.write_text("".join(line for line in lines if not line.startswith("name:")))

    def run(self, *words: str, check: bool = True) -> str:
        command = self._command or next(iter(compose_commands()), None)
        if command is None:
            raise NotReady("there is no compose on this machine (Debian: apt-get install docker-compose)")
        done = subprocess.run(
            [*command, "--project-directory", FOLDER, "-f", self._file, "-p", self.project, *words],
            capture_output=True, text=True, check=False, env={**os.environ, **self._environment},
        )  # fmt: skip
        if check and done.returncode != 0:
            raise NotReady(f"{' '.join(words)} ended with {done.returncode}: {done.stdout + done.stderr}")
        return done.stdout + done.stderr

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"localhost:{port}" for port in self.ports)

    def container(self, service: str) -> Any:
        """The container of a service."""
        [found] = self._engine.containers.list(
            all=True, filters={"label": [f"com.docker.compose.project={self.project}",
                                         f"com.docker.compose.service={service}"]}
        )  # fmt: skip
        return found

    def network(self) -> Any:
        [found] = self._engine.networks.list(filters={"label": f"com.docker.compose.project={self.project}"})
        return found

    def wait_in_sync(self, *services: str) -> None:
        """Until each of these brokers is in sync for all its replicas. Raises NotReady with its last words."""
        for service in services:
            container = self.container(service)
            try:
                wait_until(partial(_is_in_sync, container), PATIENCE_S, service)
            except NotReady as error:
                raise NotReady(f"{error}\n{container.logs(tail=20).decode()}") from None

    def __enter__(self) -> Self:
        self.begun = time.monotonic()
        try:
            self.run("up", "-d", "--no-build")
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.down()

    def down(self) -> None:
        self.run("down", "-v", "--remove-orphans", "-t", "5", check=False)


def _is_in_sync(container: Any) -> bool:
    found: int = container.exec_run([*HEALTH, "in-sync"]).exit_code
    return found == 0

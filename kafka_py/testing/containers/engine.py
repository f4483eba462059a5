"""The container engine for tests: the one that answers on this machine, or Debian's, started in a temporary folder.

An engine of our own leaves the machine as it was: it touches no firewall rules and no default bridge, keeps its data in
its folder and is stopped by its process id. Containers of one network reach one another, and published ports are
forwarded by a process; nothing else is reached from inside. It needs root and the program `dockerd`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kafka_py.testing import guard
from kafka_py.testing.processes import NotReady, Process

START_TIMEOUT_S = 60.0


def connect(url: str | None = None) -> Any:
    """A client of `docker` for the engine at this URL; None is DOCKER_HOST, or the usual socket. Raises NotReady."""
    try:
        import docker.errors
    except ImportError:
        raise NotReady("the package docker is not installed: pip install kafka_py[docker]") from None
    try:
        client = docker.DockerClient(base_url=url) if url else docker.from_env()
        client.ping()
    except (docker.errors.DockerException, OSError):
        where = url or os.environ.get("DOCKER_HOST") or "/var/run/docker.sock"
        raise NotReady(f"no container engine answers at {where}: start Docker, or set DOCKER_HOST") from None
    return client


@contextmanager
def refusal(what: str) -> Iterator[None]:
    """What the engine refuses becomes a NotReady with what to do; what is gone already is no error."""
    import docker.errors

    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise NotReady(f"{what}: {error.explanation}; docker/build.sh makes the images") from None
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as error:
        raise NotReady(f"{what}: {error.explanation or error}") from None


class OwnEngine:
    """Debian's dockerd, alone for this test run; a context manager. url: where it answers."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kafka_py-engine-"))
        guard.discard_with_us(self._folder)
        self.url = f"unix://{self._folder}/docker.sock"
        self._process = Process(engine_command(self._folder), self._folder / "log")

    def start(self) -> Self:
        """Starts it and waits until it answers. Raises NotReady with the end of its log."""
        self._process.start()
        try:
            self._process.wait_for(self._answers, START_TIMEOUT_S, "the container engine")
        except BaseException:
            self.stop()
            raise
        return self

    def _answers(self) -> bool:
        try:
            connect(self.url)
        except NotReady:
            return False
        return True

    def stop(self) -> None:
        """SIGTERM ends its containers and its own containerd; then the folder is removed."""
        self._process.stop(60)
        shutil.rmtree(self._folder, ignore_errors=True)
        guard.forget_folder(self._folder)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def engine_command(folder: Path) -> list[str]:
    """The command line of an engine that keeps everything in this folder."""
    kept = ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/run", "--pidfile", f"{folder}/pid"]
    firewall = ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--bridge=none"]
    return ["dockerd", *kept, "--host", f"unix://{folder}/docker.sock", *firewall]


def why_not_own(environment: Mapping[str, str]) -> str | None:
    """Why no engine can be started here; None if it can be tried."""
    if shutil.which("dockerd", path=environment.get("PATH")) is None:
        return "dockerd is not installed (Debian: apt-get install docker.io)"
    return None if os.geteuid() == 0 else "starting dockerd needs root"

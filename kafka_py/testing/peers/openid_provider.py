"""A certified OpenID Connect provider, the package oidc-provider of npm, with users and clients of the test's own.

    with OpenIdProvider(folder, port, clients, users) as provider:
        provider.issuer

The package and all that it needs are those of tests/compat/node/package-lock.json; npm fetches them once into a cache
(KAFKA_PY_CACHE, else ~/.cache/kafka_py). A user's password is the name. A restart has other keys and no sessions.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.testing.peers.apache import Unavailable
from kafka_py.testing.processes import ROOT, Process

SOURCES = ROOT / "tests" / "compat" / "node"
NAMES = ("package.json", "package-lock.json", "provider.mjs")
FETCH_TIMEOUT_S = 110
LEAST_NODE = 20


class OpenIdProvider(Process):
    """The provider as a process. clients: their metadata as in OpenID Connect Dynamic Client Registration 1.0.

    users: by name, with their claims. Raises Unavailable.
    """

    def __init__(
        self, folder: Path, port: int, clients: Sequence[Mapping[str, Any]], users: Mapping[str, Mapping[str, Any]]
    ) -> None:
        node = _node()
        given = json.dumps({"port": port, "clients": clients, "users": users})
        super().__init__([node, _fetched() / "provider.mjs", given], folder / "provider.log")
        self.issuer = f"http://localhost:{port}"

    def start(self) -> Self:
        """Starts it, and waits until it answers. Raises NotReady."""
        before = self.output().count("is ready")
        super().start()
        self.wait_for(lambda: self.output().count("is ready") > before, what="the provider")
        return self


def _fetched() -> Path:
    """The folder of the program with its packages. Raises Unavailable."""
    if not SOURCES.exists():
        raise Unavailable(f"The provider needs a checkout of kafka_py: there is no {SOURCES}")
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in NAMES)).hexdigest()[:16]
    target = cache_directory() / f"node-{digest}"
    if target.exists():
        return target
    npm = _program("npm")
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _fetch(npm, target)
    return target


def _fetch(npm: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = Path(work) / "made"
        made.mkdir()
        for name in NAMES:
            shutil.copy(SOURCES / name, made)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(
            command, cwd=made, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=FETCH_TIMEOUT_S,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"npm could not fetch the provider:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
        made.rename(target)


def _node() -> str:
    """Raises Unavailable."""
    node = _program("node")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < LEAST_NODE:
        raise Unavailable(f"An OpenID Connect provider needs node {LEAST_NODE} or later, not {version}")
    return node


def _program(name: str) -> str:
    """Raises Unavailable."""
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"An OpenID Connect provider needs {name}")
    return found

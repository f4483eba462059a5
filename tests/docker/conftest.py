"""A container engine, and the images of docker/ built on it.

The engine is the one that answers on this machine, else Debian's dockerd, started for the run; where neither can be had
the tests are skipped with the reason. The images are made of KAFKA_PY_BASE_IMAGE, else of a base made with debootstrap,
and without network. KAFKA_PY_IMAGES=built takes the images that the engine has.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.testing.containers.base_image import SUITE, base_image_archive
from kafka_py.testing.containers.compose_project import FOLDER
from kafka_py.testing.containers.engine import OwnEngine, connect, why_not_own
from kafka_py.testing.processes import ROOT, NotReady

NO_ENGINE = "no container engine"
"""How the reason of an expected skip begins (tests/conftest.py)."""


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """A client of the engine; DOCKER_HOST leads to it as well."""
    pytest.importorskip("docker.errors", reason=f"{NO_ENGINE}: the package docker is not installed")
    try:
        yield connect()
        return
    except NotReady as error:
        reason = why_not_own(os.environ)
        if reason is not None:
            pytest.skip(f"{NO_ENGINE}: {error}; {reason}")
    with pytest.MonkeyPatch.context() as patched, OwnEngine() as own:
        patched.setenv("DOCKER_HOST", own.url)
        yield connect(own.url)


@pytest.fixture(scope="session")
def base_image(engine: Any) -> str:
    """An image with Python to build on."""
    given = os.environ.get("KAFKA_PY_BASE_IMAGE")
    if given:
        return given
    try:
        archive = base_image_archive()
    except NotReady as error:
        pytest.skip(f"{NO_ENGINE} that could build: {error}")
    subprocess.run(["docker", "import", archive, f"kafka_py-base:{SUITE}"], check=True, capture_output=True)
    return f"kafka_py-base:{SUITE}"


@pytest.fixture(scope="session")
def images(engine: Any, request: pytest.FixtureRequest) -> dict[str, str]:
    """broker, manager and zookeeper -> image, built by docker/build.sh."""
    if not are_built():
        base = request.getfixturevalue("base_image")
        command = [ROOT / "docker" / "build.sh", "--offline", "--base", base, "--network", "none"]
        jars = str(cache_directory() / "zookeeper-jars")
        environment = {"DOCKER_BUILDKIT": "0", "KAFKA_PY_JARS": jars, **os.environ}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
    return {name: f"kafka_py/{name}:latest" for name in ("broker", "manager", "zookeeper")}


@pytest.fixture(scope="session")
def prometheus_image(engine: Any, request: pytest.FixtureRequest) -> str:
    """Prometheus from a Debian mirror, which only this build needs: the network of this machine leads there."""
    image = "kafka_py/prometheus:latest"
    if not are_built():
        options = ["--network", "host", "--build-arg", f"BASE_IMAGE={request.getfixturevalue('base_image')}"]
        options += ["-f", str(FOLDER / "Dockerfile.prometheus"), "-t", image]
        environment = {"DOCKER_BUILDKIT": "0", **os.environ}
        done = subprocess.run(
            ["docker", "build", "-q", *options, FOLDER / "prometheus"],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    return image


def are_built() -> bool:
    """Whether the engine has the images already."""
    return os.environ.get("KAFKA_PY_IMAGES") == "built"

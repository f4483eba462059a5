"""Where ZooKeeper's image starts: settings from environment variables, then the real server takes this process over."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kafka_py.base.properties import format_properties
from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.common.whole_files import write_secret
from kafka_py.cli.container.broker import become_command
from kafka_py.cli.container.variables import read_secret
from kafka_py.cli.container.zookeeper_variables import MY_ID, ZookeeperVariables, zookeeper_settings
from kafka_py.cli.zookeeper_server_start import become_server

FILE = "zoo.cfg"


def write_files(variables: ZookeeperVariables) -> Path:
    """The server's property file, and its number, in its data directory. Raises CommandFailed."""
    folder = Path(variables.settings["dataDir"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_number(folder / "myid", variables.number)
        file = folder / FILE
        write_secret(file, format_properties(variables.settings))  # it may have passwords of stores
    except OSError as error:
        raise CommandFailed(
            f"{folder} cannot be written to: {error.strerror}. Give the volume to the user {os.getuid()}"
        ) from None
    return file


def _write_number(path: Path, number: int | None) -> None:
    if number is None:
        return
    if path.exists() and path.read_text().strip() not in ("", str(number)):
        known = path.read_text().strip()
        raise CommandFailed(f"{path.parent} has the data of server {known}, but {MY_ID} is {number}")
    path.write_text(f"{number}\n")


def main(arguments: Sequence[str]) -> int:
    if arguments:
        return become_command(arguments, "ZooKeeper")
    variables = zookeeper_settings(os.environ, read_secret)
    for variable in variables.ignored:
        print(f"{variable} is ignored: docs/containers.md has the variables of this image", file=sys.stderr, flush=True)
    return become_server(str(write_files(variables)))


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

"""Where the broker's image starts: settings from environment variables, then the server in this same process.

`/etc/kafka/server.properties`, where it is mounted, has the settings that no variable sets. With arguments it becomes
that command instead: `docker run ... kafka-topics.sh --list ...`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.container.broker_variables import BrokerVariables, broker_settings
from kafka_py.cli.container.variables import read_secret

MOUNTED = Path("/etc/kafka/server.properties")


def read_variables(environment: Mapping[str, str], mounted: Path = MOUNTED) -> BrokerVariables:
    """The settings of this container's broker. Raises ConfigError."""
    base = read_properties(mounted) if mounted.exists() else {}
    return broker_settings(environment, base, read_secret)


def remarks(variables: BrokerVariables) -> Iterator[str]:
    """A line for every variable that does nothing."""
    from kafka_py.broker.settings.configs import BrokerConfig
    from kafka_py.cli.config_check.properties import nearest

    for variable in variables.without_effect:
        yield f"{variable} is ignored: there is no Java in this image"
    try:
        unknown = BrokerConfig.parse(variables.settings).unknown_settings()
    except ConfigError:
        return  # the server says it
    for name in unknown:
        if name in variables.origins:
            hint = nearest(name, "server")
            line = f"{variables.origins[name]} is ignored: brokers have no setting {name}"
            yield f"{line}; {hint}" if hint else line


def check_log_dirs(settings: Mapping[str, str]) -> None:
    """Raises CommandFailed where no log directory may be written to."""
    check_writable([each.strip() for each in settings.get("log.dirs", settings.get("log.dir", "")).split(",")])


def check_writable(folders: Sequence[str]) -> None:
    """Raises CommandFailed where none of them may be written to: a volume that belongs to another user."""
    if all(os.path.isdir(folder) and not os.access(folder, os.W_OK) for folder in folders):
        raise CommandFailed(f"{folders[0]} cannot be written to. Give the volume to the user {os.getuid()}")


def become_command(arguments: Sequence[str], otherwise: str) -> NoReturn:
    """Replaces this process by a command of the image. otherwise: what it starts without one. Raises CommandFailed."""
    if shutil.which(arguments[0]) is None:
        raise CommandFailed(f"there is no command {arguments[0]} in this image; without one it starts {otherwise}")
    sys.stdout.flush()
    os.execvp(arguments[0], list(arguments))


def main(arguments: Sequence[str]) -> int:
    if arguments:
        return become_command(arguments, "a broker")
    from kafka_py.cli.server_start import start

    variables = read_variables(os.environ)
    if not variables.settings.get("zookeeper.connect"):
        raise ConfigError("KAFKA_ZOOKEEPER_CONNECT is not set: it says where ZooKeeper is, as in zookeeper:2181")
    check_log_dirs(variables.settings)
    for line in remarks(variables):
        print(line, file=sys.stderr, flush=True)
    return start(lambda: variables.settings)


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

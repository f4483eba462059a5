"""kafka-py web, kafka-manager.sh: serves the web manager.

    kafka-py web                        # the cluster of `kafka-py up`, or of the default profile
    kafka-py web --bootstrap-server localhost:9092
    kafka-py web --settings manager.toml
    kafka-py web --users manager.users --add-user ann --role administrator

Without a users file it listens on this machine only, everybody is a reader, and --allow-changes makes everybody an
administrator. With one it may listen anywhere. Starlette, uvicorn and Jinja2 are imported by serving only.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, UsageError, run
from kafka_py.cli.common.manager_process import check_extra, serve_manager
from kafka_py.cli.common.user_folders import user_folder
from kafka_py.cli.umbrella.options import UmbrellaParser
from kafka_py.cli.umbrella.profiles import settings_for

if TYPE_CHECKING:
    from kafka_py.manager.settings import ManagerSettings

LONE_CLUSTER = "cluster"
"""The name of the cluster of --bootstrap-server."""


def parser() -> UmbrellaParser:
    table = UmbrellaParser("web", "Serves the web manager.")
    table.option("--settings", "A TOML file of clusters and everything else; options given here come first.",
                 metavar="File")  # fmt: skip
    table.option("--bootstrap-server", "Brokers of a cluster to show, host:port,host:port.", metavar="Server(s)")
    table.option("--command-config", "Property file for the clients of that cluster.", metavar="File")
    table.option("--zookeeper", "ZooKeeper of that cluster, host:port/path, for what has no request of its own.",
                 metavar="Connect string")  # fmt: skip
    table.option("--host", "The address to listen on. Default: 127.0.0.1.", metavar="Address")
    table.option("--port", "The port to listen on. Default: 9000.", kind=int, metavar="Port")
    table.option("--users", "The users file; with one everybody has to log in.", metavar="File")
    table.option("--data", "The folder of what the manager keeps: history, audit log, clusters that were added. "
                 "Default: ~/.local/share/kafka_py/manager.", metavar="Folder")  # fmt: skip
    table.flag("--allow-changes", "Without a users file: everybody may change things, not only look.")
    table.flag("--read-only", "Nobody may change anything.")
    table.option("--add-user", "Adds a user to the users file, or changes one, and ends. The password is asked for, or "
                 "read from standard input.", metavar="Name")  # fmt: skip
    table.option("--role", "Of the user that is added.", choices=("reader", "administrator"), default="reader")
    return table


def settings_of(options: argparse.Namespace) -> ManagerSettings:
    """The settings of the file with those of the options over them. Raises ConfigError."""
    from kafka_py.manager.settings import ClusterSettings, ManagerSettings, check_cluster, read_settings

    settings = read_settings(Path(options.settings)) if options.settings else ManagerSettings()
    if options.bootstrap_server:
        properties = read_properties(options.command_config) if options.command_config else {}
        lone = ClusterSettings(LONE_CLUSTER, options.bootstrap_server, properties, options.zookeeper or "")
        settings = replace(settings, clusters=(check_cluster(lone), *settings.clusters))
    if not settings.clusters:
        profile = settings_for(None, os.environ)
        servers = profile.pop("bootstrap.servers", "")
        if servers:
            settings = replace(settings, clusters=(check_cluster(ClusterSettings(LONE_CLUSTER, servers, profile)),))
    if options.host is not None:
        settings = replace(settings, host=options.host)
    if options.port is not None:
        settings = replace(settings, port=options.port)
    if options.users is not None:
        settings = replace(settings, users=Path(options.users))
    if options.data is not None or settings.data is None:
        default = user_folder("XDG_DATA_HOME", os.environ) / "manager"
        settings = replace(settings, data=Path(options.data) if options.data else default)
    return replace(
        settings,
        allow_changes=settings.allow_changes or options.allow_changes,
        is_read_only=settings.is_read_only or options.read_only,
    )


def add_user(path: Path, name: str, role: str) -> None:
    """Adds a user whose password is asked for. Raises CommandFailed."""
    from kafka_py.base.chance import Chance
    from kafka_py.manager.identity.roles import role_of
    from kafka_py.manager.identity.users import UsersFile, new_user

    if sys.stdin.isatty():
        password = getpass.getpass(f"Password of {name}: ")
        if getpass.getpass("Once more: ") != password:
            raise CommandFailed("The two passwords are not the same")
    else:
        password = sys.stdin.readline().rstrip("\n")
    try:
        UsersFile(path).add(new_user(name, role_of(role), password, Chance()))
    except (ValueError, OSError) as error:
        raise CommandFailed(str(error)) from None
    print(f"{path}: {name} is a user with the role {role}.")


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    if options.add_user is not None:
        if options.users is None:
            raise UsageError("--add-user needs --users")
        add_user(Path(options.users), options.add_user, options.role)
        return 0
    check_extra()
    settings = settings_of(options)
    can_be_added = settings.has_login or settings.allow_changes
    if not settings.clusters and not can_be_added:
        raise UsageError("Which cluster? Give --bootstrap-server or --settings")
    serve_manager(settings)
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

"""The two options by which most tools find their cluster, and the admin client's settings from them.

Source: docs/reference/tools.md, section 1.
"""

from __future__ import annotations

import argparse

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandParser


def add_connection(table: CommandParser) -> None:
    """The rows --bootstrap-server and --command-config."""
    table.option("--bootstrap-server", "REQUIRED: the brokers to connect to, host:port,host:port.",
                 metavar="String: server(s)")  # fmt: skip
    table.option("--command-config", "Property file for the admin client.", metavar="String: file")


def admin_properties(options: argparse.Namespace) -> dict[str, str]:
    """The admin client's settings; --bootstrap-server wins over the file. Raises ConfigError for a bad file."""
    properties = read_properties(options.command_config) if options.command_config else {}
    return {**properties, "bootstrap.servers": options.bootstrap_server}

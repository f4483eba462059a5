"""What the commands of `kafka-py` share: help that is no error, and the folder of the cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kafka_py.cli.common.command import CommandParser
from kafka_py.cli.local_cluster.layout import default_folder


class UmbrellaParser(CommandParser):
    """An option table that takes no options as well, and prints help on standard output with exit code 0."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(f"kafka-py {name}", about, bare=True)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        if "--help" in arguments or "-h" in arguments:
            self.print_help(sys.stdout)
            raise SystemExit(0)
        return super().parse(arguments)

    def data_option(self) -> None:
        """The row --data."""
        self.option("--data", "Folder of the cluster. Default: KAFKA_PY_DATA, else ~/.local/share/kafka_py/cluster.",
                    metavar="Folder")  # fmt: skip


def folder_of(options: argparse.Namespace) -> Path:
    """The folder that --data names, else the default one."""
    return Path(options.data).absolute() if options.data else default_folder(os.environ)

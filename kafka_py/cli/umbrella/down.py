"""kafka-py down: stops the cluster of a folder cleanly, whoever started it; its data stay unless --delete is given."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.local_cluster import layout, state
from kafka_py.cli.local_cluster.stopping import STOP_TIMEOUT_S, stop_all
from kafka_py.cli.umbrella.options import UmbrellaParser, folder_of


def parser() -> UmbrellaParser:
    table = UmbrellaParser("down", "Stops the Kafka cluster that kafka-py up has started.")
    table.data_option()
    table.option("--timeout", "How long a process may take before it is killed.", kind=float, metavar="Seconds",
                 default=STOP_TIMEOUT_S)  # fmt: skip
    table.flag("--delete", "Delete the folder with all topics as well.")
    return table


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    folder = folder_of(options)
    layout.read_existing(folder)
    try:
        with state.exclusively(folder):
            stopped = stop_all(folder, options.timeout, lambda line: print(line, file=sys.stderr))
            if options.delete:
                shutil.rmtree(folder)
    except OSError as error:
        raise CommandFailed(f"{error.filename or folder}: {error.strerror}") from error
    names = ", ".join(process.name for process in stopped)
    print(f"Stopped {names}" if stopped else f"Nothing runs in {folder}")
    if options.delete:
        print(f"Deleted {folder}")
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

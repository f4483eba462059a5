"""kafka-py logs [NAME ...]: the end of what the processes of a cluster have written, and with --follow what follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.local_cluster import layout
from kafka_py.cli.umbrella.options import UmbrellaParser, folder_of

FOLLOW_S = 0.1
LONGEST_LINE = 1000
"""Bytes of a line as they are assumed when the end of a log is looked for."""


def parser() -> UmbrellaParser:
    table = UmbrellaParser("logs", "Shows what the processes of a cluster have written, all or those named: "
                           "zookeeper, broker-0 or just 0.")  # fmt: skip
    table.add_argument("names", nargs="*", metavar="NAME", help="a process of the cluster")
    table.data_option()
    table.option("--lines", "How many lines of each process at most.", kind=int, metavar="Integer", default=20)
    table.flag("--follow", "Go on with what is written from now on, until Ctrl-C.")
    return table


def chosen(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The processes that are meant, all unless some are named. Raises CommandFailed."""
    full = [layout.broker_name(int(name)) if name.isdigit() else name for name in names]
    for name in full:
        if name not in known:
            raise CommandFailed(f"There is no process {name}: there are {', '.join(known)}")
    return full or list(known)


def last_lines(file: BinaryIO, count: int) -> list[str]:
    """The last lines of a file, read from its end; the file is then at its end."""
    size = file.seek(0, 2)
    wanted = (count + 1) * LONGEST_LINE
    while True:
        start = max(0, size - wanted)
        file.seek(start)
        lines = file.read(size - start).split(b"\n")
        if start == 0 or len(lines) > count + 1:
            break
        wanted *= 4
    whole = lines if lines[-1] else lines[:-1]
    return [line.decode(errors="replace") for line in (whole[-count:] if count > 0 else [])]


def follow(files: dict[str, BinaryIO], show: Callable[[str, str], None], wait: Callable[[], object]) -> None:
    """Shows whole lines as they are written; `wait` is called between two looks and ends it by raising."""
    rest = dict.fromkeys(files, b"")
    while True:
        for name, file in files.items():
            *whole, rest[name] = (rest[name] + file.read()).split(b"\n")
            for line in whole:
                show(name, line.decode(errors="replace"))
        wait()


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    folder = folder_of(options)
    names = chosen(options.names, layout.read_existing(folder).names)
    width = max(map(len, names)) + 1

    def show(name: str, line: str) -> None:
        print(f"{name:<{width}}| {line}" if len(names) > 1 else line, flush=True)

    files = {name: _open(layout.log_of(folder, name)) for name in names}
    for name, file in files.items():
        for line in last_lines(file, options.lines):
            show(name, line)
    if options.follow:
        follow(files, show, lambda: time.sleep(FOLLOW_S))
    return 0


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

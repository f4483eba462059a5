"""kafka.tools.StateChangeLogMerger: the state change logs of several brokers as one history, in the order of time.

Lines without a date, and lines that name no partition as `[topic,0]`, are left out, as Apache Kafka's tool does.
Source: docs/reference/tools.md, section 21.
"""

from __future__ import annotations

import argparse
import heapq
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

from kafka_py.cli.common.command import CommandFailed, CommandParser, UsageError, run

EARLIEST, LATEST = "0000-00-00 00:00:00,000", "9999-12-31 23:59:59,999"
DATE_FORMAT = "yyyy-MM-dd HH:mm:ss,SSS"

_DATE = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2},\d{3}")
_PARTITION = re.compile(r"\[([a-zA-Z0-9._-]+), *(\d+)\]")


class Choice(NamedTuple):
    """Which lines are wanted. topic: None for every one; partitions: none for all; both ends of the time inclusive."""

    topic: str | None = None
    partitions: frozenset[int] = frozenset()
    start: str = EARLIEST
    end: str = LATEST

    def wants(self, line: str, date: str) -> bool:
        if not self.start <= date <= self.end:
            return False
        named = _PARTITION.search(line)
        if named is None or self.topic not in (None, named[1]):
            return False
        return not self.partitions or int(named[2]) in self.partitions


def parser() -> CommandParser:
    table = CommandParser("kafka.tools.StateChangeLogMerger", "Merge the state change logs of several brokers.")
    table.option("--logs", "The files, parted by commas. Either this or --logs-regex is required.",
                 metavar="String: file1,file2,...")  # fmt: skip
    table.option("--logs-regex", "A directory and, behind its last slash, an expression that file names in it match.",
                 metavar="String: for example: /tmp/state-change.log*")  # fmt: skip
    table.option("--topic", "Only lines about this topic.")
    table.option("--partitions", "Only lines about these partitions of --topic.", metavar="String: 0,1,2,...",
                 default="")  # fmt: skip
    table.option("--start-time", f"Only lines from this moment on, as {DATE_FORMAT}.", metavar=f"String: {DATE_FORMAT}",
                 default=EARLIEST)  # fmt: skip
    table.option("--end-time", f"Only lines up to this moment, as {DATE_FORMAT}.", metavar=f"String: {DATE_FORMAT}",
                 default=LATEST)  # fmt: skip
    return table


def choice_of(options: argparse.Namespace) -> Choice:
    """Raises UsageError, CommandFailed for what cannot be meant."""
    if (options.logs is None) == (options.logs_regex is None):
        raise UsageError('Provide arguments to exactly one of the two options "[logs]" or "[logs-regex]"')
    if options.partitions and options.topic is None:
        raise UsageError('The option "[topic]" needs to be provided an argument when specifying partition ids')
    try:
        partitions = [int(part) for part in options.partitions.split(",")] if options.partitions else []
    except ValueError:
        raise CommandFailed(f"--partitions takes numbers parted by commas, not {options.partitions}") from None
    twice = [str(number) for number in dict.fromkeys(partitions) if partitions.count(number) > 1]
    if twice:
        raise CommandFailed(f"The list of partitions contains repeated entries: {','.join(twice)}")
    for text in (options.start_time, options.end_time):
        if not _DATE.match(text):
            raise CommandFailed(f'Unparseable date: "{text}"')
    return Choice(options.topic, frozenset(partitions), options.start_time, options.end_time)


def files_of(options: argparse.Namespace) -> list[Path]:
    """The files to merge. Raises CommandFailed."""
    if options.logs is not None:
        return [Path(name) for name in options.logs.split(",")]
    directory, _, expression = options.logs_regex.rpartition("/")
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise CommandFailed(f"{expression} is not an expression: {error}") from None
    folder = Path(directory or ("/" if options.logs_regex.startswith("/") else "."))
    try:
        return sorted(path for path in folder.iterdir() if pattern.search(path.name))
    except OSError as error:
        raise CommandFailed(str(error)) from None


def wanted_lines(file: IO[str], choice: Choice) -> Iterator[tuple[str, str]]:
    """The chosen lines of one file with their dates."""
    for line in file:
        date = _DATE.search(line)
        if date is not None and choice.wants(line, date[0]):
            yield date[0], line.rstrip("\n")


def merged(files: Collection[Path], choice: Choice) -> Iterator[str]:
    """The chosen lines of all files by date; files are read side by side. Raises CommandFailed."""
    with ExitStack() as opened:
        try:
            streams = [opened.enter_context(path.open(encoding="utf-8", errors="replace")) for path in files]
        except OSError as error:
            raise CommandFailed(f"{error.filename} ({error.strerror})") from None
        for _, line in heapq.merge(*(wanted_lines(stream, choice) for stream in streams), key=lambda row: row[0]):
            yield line


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    choice = choice_of(options)
    for line in merged(files_of(options), choice):
        print(line)
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

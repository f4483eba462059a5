"""kafka-dump-log.sh: prints the files of a partition's directory, and says where they do not fit together.

This file holds the option table; dump_files.py does the work. The exit code is 1 where a file could not be read.
Source: docs/reference/tools.md, section 18.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_py.cli.common.command import CommandParser, log_warnings, require, run
from kafka_py.cli.common.progress import Progress

STRINGS = "kafka.serializer.StringDecoder"


def parser() -> CommandParser:
    table = CommandParser("kafka-dump-log.sh", "Print the files of a partition's directory, and look for faults.")
    table.option("--files", "REQUIRED: the files, parted by commas: .log, .index, .timeindex, .snapshot, .txnindex. Of "
                 "a directory, that of a partition or a whole log directory, all of these that it contains.",
                 metavar="String: file1, file2, ...")  # fmt: skip
    table.flag("--print-data-log", "Print keys and values of records; every decoder option means this too.")
    table.flag("--deep-iteration", "Print a line per record, not per batch only; --print-data-log means this too.")
    table.flag("--verify-index-only", "Hold indexes against their log without printing them.")
    table.flag("--index-sanity-check", "Only check indexes as a broker does when it starts.")
    table.option("--max-message-size", "The largest batch that an index may point to, in bytes.", kind=int,
                 metavar="Integer: size", default=5_242_880)  # fmt: skip
    for part in ("key", "value"):
        table.option(f"--{part}-decoder-class", f"How to show {part}s: kafka.serializer.StringDecoder, LongDecoder or "
                     "IntegerDecoder, a deserializer of Apache Kafka's client, or a Python class module.Class.",
                     metavar="String", nargs="?", const=STRINGS)  # fmt: skip
    table.flag("--offsets-decoder", "The records are those of __consumer_offsets.")
    table.flag("--transaction-log-decoder", "The records are those of __transaction_state.")
    table.flag("--cluster-metadata-decoder", "Not supported: the records of clusters without ZooKeeper.")
    table.flag("--skip-record-metadata", "Print only keys and values of records.")
    return table


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "files")
    log_warnings()
    from kafka_py.cli.log_dump.dump_files import Dump, files_in, size_of

    paths = [file for path in options.files.split(",") for file in files_in(path)]
    progress = Progress(sum(map(size_of, paths)), "bytes")
    # On a terminal the lines themselves show how far it is.
    dump = Dump(options, print) if sys.stdout.isatty() else Dump(options, print, progress.update)
    for path in paths:
        dump.file(path)
    sys.stdout.flush()
    progress.end()
    for line in dump.complaints():
        print(line, file=sys.stderr)
    return 1 if dump.failed else 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

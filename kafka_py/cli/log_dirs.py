"""kafka-log-dirs.sh: the brokers' log directories and the size of every replica in them, as JSON.

Source: docs/reference/tools.md, section 8.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.cli.common.command import CommandParser, UsageError, log_warnings, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.common.documents import output_option, print_document
from kafka_py.cli.java_compat.java_errors import exception_name

if TYPE_CHECKING:
    from kafka_py.clients.admin.log_dirs import LogDirDescription


def parser() -> CommandParser:
    table = CommandParser("kafka-log-dirs.sh", "Show how the log directories of brokers are used.")
    add_connection(table)
    table.flag("--describe", "REQUIRED: describe the log directories.")
    table.option("--topic-list", "Only these topics, parted by commas.", metavar="String: topics", default="")
    table.option("--broker-list", "Only these brokers, by id, parted by commas; all where it is not given.",
                 metavar="String: brokers")  # fmt: skip
    output_option(table)
    return table


def brokers_of(options: argparse.Namespace) -> list[int]:
    """The ids of --broker-list; empty for all. Raises UsageError."""
    try:
        return [int(part) for part in (options.broker_list or "").split(",") if part]
    except ValueError:
        raise UsageError(f"--broker-list takes broker ids parted by commas, not {options.broker_list}") from None


def described(by_broker: Mapping[int, Mapping[str, LogDirDescription]], topics: Collection[str]) -> dict[str, Any]:
    """What is printed, before it becomes text. topics: empty for all."""
    return {
        "version": 1,
        "brokers": [
            {"broker": broker, "logDirs": [_log_dir(path, each, topics) for path, each in log_dirs.items()]}
            for broker, log_dirs in by_broker.items()
        ],
    }


def _log_dir(path: str, described: LogDirDescription, topics: Collection[str]) -> dict[str, Any]:
    return {
        "logDir": path,
        "error": None if described.error is None else exception_name(described.error.code),
        "partitions": [
            {
                "partition": str(replica),
                "size": info.size_bytes,
                "offsetLag": info.offset_lag,
                "isFuture": info.is_future,
            }
            for replica, info in described.replicas.items()
            if not topics or replica.topic in topics
        ],
    }


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "bootstrap-server", "describe")
    brokers = brokers_of(options)
    topics = [topic for topic in options.topic_list.split(",") if topic]
    log_warnings()
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient(admin_properties(options)) as admin:
        brokers = brokers or sorted(node.id for node in admin.describe_cluster().nodes)
        if options.output is None:
            print("Querying brokers for log directories information", flush=True)
        answers = admin.describe_log_dirs(brokers).all()
    if options.output is not None:
        print_document(described(answers, topics), options.output)
        return 0
    print(f"Received log directory information from brokers {','.join(map(str, brokers))}")
    print(json.dumps(described(answers, topics), separators=(",", ":")))
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

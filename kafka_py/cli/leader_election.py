"""kafka-leader-election.sh: has the preferred replicas lead, or any living one where there is no leader.

Source: docs/reference/tools.md, section 6; KIP-460.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, CommandParser, log_warnings, run
from kafka_py.cli.java_compat.java_errors import exception_text

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AdminClient

TIMEOUT_MS = 30_000
SCOPES = ("topic", "all-topic-partitions", "path-to-json-file")


def parser() -> CommandParser:
    table = CommandParser("kafka-leader-election.sh", "Elect new leaders for partitions: the preferred replicas, or "
                          "(unclean) any that is alive.")  # fmt: skip
    table.option("--bootstrap-server", "REQUIRED: the brokers to connect to, host:port,host:port.",
                 metavar="String: host:port")  # fmt: skip
    table.option("--admin.config", "Property file for the admin client.", metavar="String: config file")
    table.option("--election-type", "REQUIRED: preferred, where another replica than the first leads; or unclean, "
                 "where there is no leader, at the price of lost records.", kind=election_type,
                 metavar="[PREFERRED,UNCLEAN]: election type")  # fmt: skip
    table.option("--topic", "The topic of the one partition to elect a leader for; with --partition.",
                 metavar="String: topic name")  # fmt: skip
    table.option("--partition", "The number of that partition.", kind=int, metavar="Integer: partition id")
    table.flag("--all-topic-partitions", "Elect leaders for all partitions that need one.")
    table.option("--path-to-json-file", 'The partitions: {"partitions":[{"topic":"t","partition":0}]}.',
                 metavar="String: Path to JSON file")  # fmt: skip
    return table


def election_type(text: str) -> ElectionType:
    """The kind of election, in any case of letters. Raises ValueError."""
    try:
        return ElectionType[text.upper()]
    except KeyError:
        raise ValueError(text) from None


def check(options: argparse.Namespace) -> None:
    """The rules between the options. Raises CommandFailed for the first that is broken."""
    missing = [name for name in ("bootstrap-server", "election-type") if _value(options, name) is None]
    if missing:
        raise CommandFailed(f"Missing required option(s): {', '.join(missing)}")
    if sum(_value(options, name) not in (None, False) for name in SCOPES) != 1:
        raise CommandFailed(f"One and only one of the following options is required: {', '.join(SCOPES)}")
    if options.topic is not None and options.partition is None:
        raise CommandFailed("Missing required option(s): partition")
    if options.topic is None and options.partition is not None:
        raise CommandFailed("Option partition is only allowed if topic is used")


def _value(options: argparse.Namespace, name: str) -> Any:
    return getattr(options, name.replace("-", "_"))


def partitions_of(options: argparse.Namespace) -> list[TopicPartition] | None:
    """The partitions that the options name; None for all. Raises CommandFailed, OSError."""
    if options.path_to_json_file is not None:
        return read_partitions(options.path_to_json_file, "Replica", 'is missing "partitions" field')
    return None if options.topic is None else [TopicPartition(options.topic, options.partition)]


def read_partitions(path: str, kind: str, without_list: str) -> list[TopicPartition]:
    """The file of an election. kind: begins the messages; without_list: what is said when `partitions` is not there.

    Raises CommandFailed for a file that cannot be meant, OSError for one that cannot be read.
    """
    text = Path(path).read_text(encoding="utf-8")
    try:
        document = json.loads(text)
    except ValueError:
        raise CommandFailed(f"{kind} election data is empty") from None
    if not isinstance(document, dict) or "partitions" not in document:
        raise CommandFailed(f"{kind} election data {without_list}")
    try:
        partitions = [TopicPartition(str(row["topic"]), int(row["partition"])) for row in document["partitions"]]
    except (TypeError, KeyError, ValueError) as error:
        raise CommandFailed(f"{kind} election data is malformed: {error!r}") from None
    twice = [partition for partition in dict.fromkeys(partitions) if partitions.count(partition) > 1]
    if twice:
        raise CommandFailed(f"{kind} election data contains duplicate partitions: {','.join(map(str, twice))}")
    return partitions


class Wording:
    """How a tool tells of the outcome."""

    def __init__(self, kind: ElectionType | None = None) -> None:
        """kind: None for the old tool, whose elections are all preferred ones."""
        self.election = "preferred leader election" if kind is None else f"leader election ({kind.name})"
        self.needless = "Preferred replica" if kind is None else "Valid replica"
        self.failures = "preferred replica(s)" if kind is None else "replica(s)"


def elect(
    admin: AdminClient, kind: ElectionType, partitions: Collection[TopicPartition] | None, wording: Wording
) -> None:
    """Holds the elections and prints their results. Raises CommandFailed when some failed."""
    if partitions is not None and not partitions:
        return
    try:
        results: Mapping[TopicPartition, KafkaError | None] = admin.elect_leaders(kind, partitions)
    except KafkaError as error:
        message = _REQUEST_FAILURES.get(error.code)
        if message is None:
            print("Error while making request", flush=True)
            raise
        print(message, flush=True)
        raise CommandFailed(message) from error
    succeeded = [partition for partition, result in results.items() if result is None]
    failed = {tp: result for tp, result in results.items() if result is not None and result.code is not _NEEDLESS}
    listed = ", ".join(map(str, succeeded))
    if succeeded:
        print(f"Successfully completed {wording.election} for partitions {listed}")
    if len(succeeded) + len(failed) < len(results):
        print(f"{wording.needless} already elected for partitions {listed}")  # those that were: as Apache Kafka has it
    for partition, failure in failed.items():
        print(f"Error completing {wording.election} for partition: {partition}: {exception_text(failure)}", flush=True)
    if failed:
        raise CommandFailed(f"{len(failed)} {wording.failures} could not be elected")


_NEEDLESS = ErrorCode.ELECTION_NOT_NEEDED
_REQUEST_FAILURES = {
    ErrorCode.REQUEST_TIMED_OUT: "Timeout waiting for election results",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Not authorized to perform leader election",
}


def properties_of(options: argparse.Namespace) -> dict[str, str]:
    """The admin client's settings; the tool's times are its own. Raises ConfigError for a bad file."""
    given = getattr(options, "admin.config")
    return {
        **(read_properties(given) if given else {}),
        "bootstrap.servers": options.bootstrap_server,
        "default.api.timeout.ms": str(TIMEOUT_MS),
        "request.timeout.ms": str(TIMEOUT_MS // 2),
    }


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    log_warnings()
    try:
        partitions = partitions_of(options)
    except OSError as error:
        raise CommandFailed(str(error)) from None
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient(properties_of(options)) as admin:
        elect(admin, options.election_type, partitions, Wording(options.election_type))
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

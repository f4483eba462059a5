"""kafka-preferred-replica-election.sh: gives partitions back to their preferred replicas (deprecated).

kafka-leader-election.sh has taken its place. With --zookeeper the wish is a znode that the controller works off.
Source: docs/reference/tools.md, section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.cli.common.command import CommandFailed, CommandParser, UsageError, log_warnings, run
from kafka_py.cli.common.zookeeper_connection import connected
from kafka_py.cli.leader_election import Wording, elect, properties_of, read_partitions

if TYPE_CHECKING:
    from kafka_py.zk.store import ZkStore

NOTICE = "This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405"
ZOOKEEPER_WARNING = (
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.\n"
    "Use --bootstrap-server instead to specify a broker to connect to."
)


def parser() -> CommandParser:
    table = CommandParser("kafka-preferred-replica-election.sh", "Have the preferred replica of each partition lead.")
    table.option("--bootstrap-server", "The brokers to connect to, host:port,host:port. Either this or --zookeeper is "
                 "required.", metavar="String: host:port")  # fmt: skip
    table.option("--zookeeper", "DEPRECATED: the ZooKeeper servers with an optional chroot path, host:port/path.",
                 metavar="String: urls")  # fmt: skip
    table.option("--admin.config", "Property file for the admin client; only with --bootstrap-server.",
                 metavar="String: config file")  # fmt: skip
    table.option("--path-to-json-file", 'The partitions: {"partitions":[{"topic":"t","partition":0}]}; all of them '
                 "where it is not given.", metavar="String: list of partitions")  # fmt: skip
    return table


def main(arguments: Sequence[str]) -> int:
    print(NOTICE, flush=True)
    options = parser().parse(arguments)
    if (options.bootstrap_server is None) == (options.zookeeper is None):
        raise UsageError("Exactly one of '[bootstrap-server]' or '[zookeeper]' must be provided")
    log_warnings()
    partitions = None
    try:
        if options.path_to_json_file is not None:
            partitions = read_partitions(options.path_to_json_file, "Preferred replica", "is empty")
    except OSError as error:
        raise CommandFailed(str(error)) from None
    if options.zookeeper is not None:
        import asyncio

        print(ZOOKEEPER_WARNING, flush=True)
        asyncio.run(ask_in_zookeeper(options.zookeeper, partitions))
        return 0
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient(properties_of(options)) as admin:
        elect(admin, ElectionType.PREFERRED, partitions, Wording())
    return 0


async def ask_in_zookeeper(connect: str, partitions: Sequence[TopicPartition] | None) -> None:
    """Writes the znode that the controller works off. Raises CommandFailed, ConfigError for a bad connect string."""
    from kafka_py.zk.session import NodeExists, ZkError

    try:
        async with connected(connect) as store:
            await request_elections(store, partitions)
    except NodeExists:
        raise CommandFailed(
            "Admin command failed: a preferred replica leader election is in progress already. Aborting operation"
        ) from None
    except ZkError as error:
        raise CommandFailed(str(error)) from None


async def request_elections(store: ZkStore, partitions: Sequence[TopicPartition] | None) -> None:
    """Asks the controller for elections of those partitions (None: all) that are there. Raises NodeExists."""
    topics = await store.topics.names() if partitions is None else {partition.topic for partition in partitions}
    there = [
        TopicPartition(topic, number)
        for topic, assignment in (await store.topics.assignments(topics)).items()
        for number in sorted(assignment.partitions)
    ]
    wanted = there if partitions is None else [partition for partition in partitions if partition in there]
    await store.admin.request_preferred_elections(wanted)
    print(f"Created preferred replica election path with {','.join(map(str, wanted))}")
    print(f"Successfully started preferred replica election for partitions Set({', '.join(map(str, wanted))})")
    for partition in partitions or ():
        if partition not in there:
            print(f"Skipping preferred replica leader election for partition {partition} since it doesn't exist.")


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

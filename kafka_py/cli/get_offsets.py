"""kafka-get-offsets.sh: the offsets of a topic's partitions: the latest, the earliest, or those at a time.

Apache Kafka 2.8 runs it by class only (kafka.tools.GetOffsetShell) and calls the brokers --broker-list; the
script and --bootstrap-server are those of later ones. Source: docs/reference/tools.md, section 21.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence

from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, CommandParser, UsageError, log_warnings, require, run
from kafka_py.cli.common.documents import output_option, print_document


def parser() -> CommandParser:
    table = CommandParser("kafka-get-offsets.sh", "Get the offsets of a topic's partitions.")
    table.option("--bootstrap-server", "REQUIRED unless --broker-list is given: the brokers to connect to, "
                 "host:port,host:port.", metavar="String: server(s)")  # fmt: skip
    table.option("--broker-list", "The same as --bootstrap-server.", metavar="String: server(s)")
    table.option("--command-config", "Property file for the consumer.", metavar="String: file")
    table.option("--topic", "REQUIRED: the topic.", metavar="String: topic")
    table.option("--partitions", "Only these partitions, parted by commas.", metavar="String: partition ids",
                 default="")  # fmt: skip
    table.option("--time", "Where to look: -1 for the latest offset, -2 for the earliest, or a time in ms for the "
                 "first record at or after it; without such a record the offset is empty.", kind=int,
                 metavar="Long: timestamp/-1/-2", default=LATEST_TIMESTAMP)  # fmt: skip
    table.option("--max-wait-ms", "Accepted without effect.", kind=int, metavar="Integer: ms", default=1000)
    table.option("--offsets", "Accepted without effect.", kind=int, metavar="Integer: count", default=1)
    output_option(table)
    return table


def check(options: argparse.Namespace) -> None:
    """The rules between the options. Raises UsageError."""
    if options.bootstrap_server is None:
        require(options, "broker-list")
    require(options, "topic")
    servers = (options.bootstrap_server or options.broker_list).split(",")
    if not all(server.rpartition(":")[0] and server.rpartition(":")[2].isdigit() for server in servers):
        raise UsageError("Please provide valid host:port like host1:9091,host2:9092")


def wanted_partitions(text: str) -> set[int]:
    """The partitions of --partitions; none of them stands for all. Raises CommandFailed."""
    try:
        return {int(part) for part in text.split(",")} if text else set()
    except ValueError:
        raise CommandFailed(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None


def select(topic: str, leaders: Mapping[int, int], wanted: set[int]) -> list[TopicPartition]:
    """The partitions to look at, by number; what is left out is said on standard error. Raises CommandFailed.

    leaders: of the topic's partitions by number, negative for one without.
    """
    if not leaders:
        raise CommandFailed(f"Topic {topic} does not exist")
    chosen = sorted(leaders.keys() & wanted if wanted else leaders)
    if not chosen:
        listed = ",".join(map(str, sorted(wanted)))
        raise CommandFailed(f"Topic {topic} does not have any of the requested partitions {listed}")
    for missing in sorted(wanted - leaders.keys()):
        print(f"Error: partition {missing} does not exist", file=sys.stderr)
    for number in chosen:
        if leaders[number] < 0:
            print(f"Error: partition {number} does not have a leader. Skip getting offsets", file=sys.stderr)
    return [TopicPartition(topic, number) for number in chosen if leaders[number] >= 0]


def lines(partitions: Iterable[TopicPartition], offsets: Mapping[TopicPartition, int | None]) -> Iterable[str]:
    """`topic:partition:offset` of each; the offset is empty where there is none."""
    for partition in partitions:
        offset = offsets.get(partition)
        yield f"{partition.topic}:{partition.partition}:{'' if offset is None else offset}"


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    log_warnings()
    try:
        return show(options)
    except CommandFailed as failure:
        print(failure, file=sys.stderr)  # as it is: scripts look for `Topic t does not exist`
        return 1


def show(options: argparse.Namespace) -> int:
    """Looks the offsets up and prints them. Raises CommandFailed, KafkaError."""
    wanted = wanted_partitions(options.partitions)
    if options.time < EARLIEST_TIMESTAMP:
        raise CommandFailed(f"The time {options.time} means nothing: -1 is the latest, -2 the earliest")
    from kafka_py.clients.consumer.consumer import Consumer

    properties = read_properties(options.command_config) if options.command_config else {}
    properties |= {
        "bootstrap.servers": options.bootstrap_server or options.broker_list,
        "allow.auto.create.topics": "false",
    }
    properties.setdefault("client.id", "GetOffsetShell")
    with Consumer(properties) as consumer:
        leaders = {info.partition: info.leader for info in consumer.partitions_for(options.topic)}
        partitions = select(options.topic, leaders, wanted)
        offsets: Mapping[TopicPartition, int | None]
        if options.time == LATEST_TIMESTAMP:
            offsets = consumer.end_offsets(partitions)
        elif options.time == EARLIEST_TIMESTAMP:
            offsets = consumer.beginning_offsets(partitions)
        else:
            found = consumer.offsets_for_times(dict.fromkeys(partitions, options.time))
            offsets = {partition: answer and answer.offset for partition, answer in found.items()}
    if options.output is not None:
        found_offsets = [{"topic": topic, "partition": number, "offset": offsets.get(TopicPartition(topic, number))}
                         for topic, number in partitions]  # fmt: skip
        print_document(found_offsets, options.output)
        return 0
    for line in lines(partitions, offsets):
        print(line)
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

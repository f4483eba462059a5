"""kafka-verifiable-consumer.sh: consumes a topic and prints as JSON what it was assigned and what it got.

All partitions are assigned, as there are no consumer groups in this release: no offset is committed (one warning says
so), and every consumer of a group gets everything. Source: reference tools, section 21.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.base.ids import TopicPartition
from kafka_py.base.properties import read_properties
from kafka_py.cli.command import log_warnings, run
from kafka_py.cli.json_events import Events
from kafka_py.cli.prefix_parser import PrefixParser
from kafka_py.cli.termination import Terminated, termination_as_exception

if TYPE_CHECKING:
    from kafka_py.cli.topic_reader import TopicReader
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.consumer.records import ConsumerRecord, ConsumerRecords

log = logging.getLogger(__name__)

POLL_S = 0.5
LOOK_EVERY_S = 5.0
"""How soon new partitions are noticed."""


def parser() -> PrefixParser:
    table = PrefixParser(
        "kafka-verifiable-consumer.sh", "Consume a topic, and print as JSON what was assigned and what was received."
    )
    table.required("--topic", "consume this topic", metavar="TOPIC")
    table.required("--group-id", "the group; without effect in this release", metavar="GROUP_ID")
    table.add_argument("--group-instance-id", metavar="GROUP_INSTANCE_ID", help="without effect in this release")
    table.add_argument(
        "--max-messages",
        type=int,
        default=-1,
        metavar="MAX-MESSAGES",
        help="consume so many messages; -1 for no end but a signal (default: -1)",
    )
    table.add_argument(
        "--session-timeout",
        type=int,
        default=30_000,
        metavar="TIMEOUT_MS",
        help="without effect in this release (default: 30000)",
    )
    table.add_argument("--verbose", action="store_true", help="print every record too")
    table.add_argument("--enable-autocommit", action="store_true", help="without effect in this release")
    table.add_argument(
        "--reset-policy",
        default="earliest",
        metavar="RESETPOLICY",
        help="where to begin: earliest, latest or none (default: earliest)",
    )
    table.add_argument(
        "--assignment-strategy",
        metavar="ASSIGNMENTSTRATEGY",
        default="org.apache.kafka.clients.consumer.RangeAssignor",
        help="a class name; without effect in this release (default: %(default)s)",
    )
    table.add_argument(
        "--consumer.config", metavar="CONFIG_FILE", help="property file with settings of the consumer; the options win"
    )
    servers = table.add_mutually_exclusive_group(required=True)
    servers.add_argument(
        "--bootstrap-server", metavar="HOST1:PORT1[,HOST2:PORT2[...]]", help="the brokers to connect to"
    )
    servers.add_argument("--broker-list", metavar="HOST1:PORT1[,HOST2:PORT2[...]]", help="the same, deprecated")
    return table


def consumer_properties(options: argparse.Namespace) -> dict[str, str]:
    """The consumer's settings; the options win over the file. Raises ConfigError for a bad file."""
    file = getattr(options, "consumer.config")
    properties = read_properties(file) if file is not None else {}
    for part in ("key", "value"):
        properties.pop(f"{part}.deserializer", None)  # shown as text here
    return {
        **properties,
        "bootstrap.servers": options.bootstrap_server or options.broker_list,
        "group.id": options.group_id,
        "auto.offset.reset": options.reset_policy,
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


class Reporter:
    """Tells what comes. limit: how many records count, -1 for all; consumed: how many did."""

    def __init__(self, events: Events, limit: int, *, verbose: bool) -> None:
        self.consumed = 0
        self._events = events
        self._limit = limit
        self._verbose = verbose
        self._assigned: list[TopicPartition] = []

    @property
    def is_done(self) -> bool:
        return 0 <= self._limit <= self.consumed

    def assigned(self, partitions: set[TopicPartition]) -> None:
        """What is read now; said when it is not what was read before."""
        if partitions != set(self._assigned):
            self._say_partitions("partitions_revoked")
            self._assigned = sorted(partitions)
            self._say_partitions("partitions_assigned")

    def received(self, records: ConsumerRecords) -> None:
        """One poll's records; of each partition as many as are still wanted."""
        summaries = []
        for partition in sorted(records.partitions()):
            some = records.records(partition)
            if self._limit >= 0:
                some = some[: self._limit - self.consumed]
            if not some:
                break
            summaries.append({
                "topic": partition.topic, "partition": partition.partition, "count": len(some),
                "minOffset": some[0].offset, "maxOffset": some[-1].offset,
            })  # fmt: skip
            if self._verbose:
                for record in some:
                    self._say_record(record)
            self.consumed += len(some)
        self._events.say("records_consumed", count=len(records), partitions=summaries)

    def _say_record(self, record: ConsumerRecord) -> None:
        self._events.say(
            "record_data", key=_text(record.key), value=_text(record.value), topic=record.topic,
            partition=record.partition, offset=record.offset,
        )  # fmt: skip

    def _say_partitions(self, event: str) -> None:
        if self._assigned:
            self._events.say(
                event, partitions=[{"topic": tp.topic, "partition": tp.partition} for tp in self._assigned]
            )

    def ended(self) -> None:
        self.assigned(set())


def consume(consumer: Consumer, reader: TopicReader, reporter: Reporter) -> None:
    """Reads until there is enough, or a signal ends it."""
    while not reporter.is_done:
        records = reader.poll(POLL_S)
        reporter.assigned(consumer.assignment())
        if records:
            reporter.received(records)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    log_warnings()
    events = Events(sys.stdout)
    reporter = Reporter(events, options.max_messages, verbose=options.verbose)
    from kafka_py.cli.topic_reader import TopicReader
    from kafka_py.clients.consumer.consumer import Consumer

    code = 0
    with Consumer(consumer_properties(options)) as consumer:
        log.warning("There are no consumer groups in this release: all partitions are read, no offset is committed.")
        events.say("startup_complete")
        try:
            with termination_as_exception():
                consume(consumer, TopicReader(consumer, options.topic, look_every_s=LOOK_EVERY_S), reporter)
        except KeyboardInterrupt:
            code = 130
        except Terminated as terminated:
            code = terminated.exit_code
    reporter.ended()
    events.say("shutdown_complete")
    return code


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

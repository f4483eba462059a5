"""kafka-verifiable-consumer.sh: consumes a topic in a group and prints as JSON what it was assigned, got and committed.

Offsets are committed after every poll, of the records that were taken, unless --enable-autocommit leaves that to the
consumer. Source: docs/reference/tools.md, section 17.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import log_warnings, run
from kafka_py.cli.common.prefix_parser import PrefixParser
from kafka_py.cli.common.termination import EndSignals, Terminated
from kafka_py.cli.verification.json_events import Events

if TYPE_CHECKING:
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
    from kafka_py.clients.consumer.listener import RebalanceListener

POLL_S = 60.0


def parser() -> PrefixParser:
    table = PrefixParser(
        "kafka-verifiable-consumer.sh", "Consume a topic, and print as JSON what was assigned and what was received."
    )
    table.required("--topic", "consume this topic", metavar="TOPIC")
    table.required("--group-id", "the consumer group to be a member of", metavar="GROUP_ID")
    table.add_argument(
        "--group-instance-id", metavar="GROUP_INSTANCE_ID", help="makes it a static member under this name"
    )
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
        help="the member is removed after so long without heartbeat (default: 30000)",
    )
    table.add_argument("--verbose", action="store_true", help="print every record too")
    table.add_argument("--enable-autocommit", action="store_true", help="commit now and then, not after every poll")
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
        help="the class that shares partitions among the members (default: %(default)s)",
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
    if options.group_instance_id is not None:
        properties["group.instance.id"] = options.group_instance_id
    return {
        **properties,
        "bootstrap.servers": options.bootstrap_server or options.broker_list,
        "group.id": options.group_id,
        "enable.auto.commit": str(options.enable_autocommit).lower(),
        "auto.offset.reset": options.reset_policy,
        "session.timeout.ms": str(options.session_timeout),
        "partition.assignment.strategy": options.assignment_strategy,
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

    @property
    def is_done(self) -> bool:
        return 0 <= self._limit <= self.consumed

    def partitions(self, event: str, partitions: Collection[TopicPartition]) -> None:
        """Partitions were assigned (`partitions_assigned`) or revoked (`partitions_revoked`)."""
        rows = [{"topic": each.topic, "partition": each.partition} for each in sorted(partitions)]
        self._events.say(event, partitions=rows)

    def received(self, records: ConsumerRecords) -> dict[TopicPartition, int]:
        """One poll's records, of each partition as many as are still wanted; what to commit for them."""
        summaries = []
        offsets = {}
        for partition in sorted(records.partitions()):
            some = records.records(partition)
            if self._limit >= 0:
                some = some[: self._limit - self.consumed]
            if not some:
                break
            offsets[partition] = some[-1].offset + 1
            summaries.append({
                "topic": partition.topic, "partition": partition.partition, "count": len(some),
                "minOffset": some[0].offset, "maxOffset": some[-1].offset,
            })  # fmt: skip
            if self._verbose:
                for record in some:
                    self._say_record(record)
            self.consumed += len(some)
        self._events.say("records_consumed", count=len(records), partitions=summaries)
        return offsets

    def committed(self, offsets: Mapping[TopicPartition, int], error: KafkaError | None) -> None:
        """The result of a commit."""
        rows = [{"topic": tp.topic, "partition": tp.partition, "offset": offset} for tp, offset in offsets.items()]
        fields: dict[str, Any] = {"offsets": rows}
        if error is not None:
            fields["error"] = error.message
        self._events.say("offsets_committed", **fields, success=error is None)

    def _say_record(self, record: ConsumerRecord) -> None:
        self._events.say(
            "record_data", key=_text(record.key), value=_text(record.value), topic=record.topic,
            partition=record.partition, offset=record.offset,
        )  # fmt: skip


def listener(reporter: Reporter) -> RebalanceListener:
    """Has the reporter tell what the group gives and takes."""
    from kafka_py.clients.consumer.listener import RebalanceListener

    class Telling(RebalanceListener):
        def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
            reporter.partitions("partitions_assigned", partitions)

        def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
            reporter.partitions("partitions_revoked", partitions)

    return Telling()


def consume(consumer: Consumer, signals: EndSignals, reporter: Reporter, *, commits: bool) -> None:
    """Reads until there is enough, or a signal ends it. commits: whether to commit after every poll."""
    from kafka_py.clients.errors import WakeupError

    while not reporter.is_done and not signals.came:
        try:
            records = consumer.poll(POLL_S)
        except WakeupError:
            return
        if records:
            with signals.interruptible():
                offsets = reporter.received(records)
            if commits:
                commit(consumer, reporter, offsets)


def commit(consumer: Consumer, reporter: Reporter, offsets: Mapping[TopicPartition, int]) -> None:
    """Commits and reports the result; a signal does not prevent that. Raises KafkaError(FENCED_INSTANCE_ID)."""
    from kafka_py.clients.errors import WakeupError

    failure = None
    try:
        try:
            consumer.commit(dict(offsets))
        except WakeupError:
            consumer.commit(dict(offsets))
    except KafkaError as error:
        if error.code is ErrorCode.FENCED_INSTANCE_ID:
            raise
        failure = error
    reporter.committed(offsets, failure)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    log_warnings()
    events = Events(sys.stdout)
    reporter = Reporter(events, options.max_messages, verbose=options.verbose)
    from kafka_py.clients.consumer.consumer import Consumer

    properties = consumer_properties(options)
    with EndSignals() as signals:
        try:
            with Consumer(properties) as consumer:
                signals.wake = consumer.wakeup
                events.say("startup_complete")
                consumer.subscribe([options.topic], listener=listener(reporter))
                consume(consumer, signals, reporter, commits=not options.enable_autocommit)
        except Terminated:
            pass  # the exit code tells
        events.say("shutdown_complete")
    return signals.exit_code


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

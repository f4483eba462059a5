"""kafka-transactions.sh: looks at transactions and at the producers of partitions, and ends transactions that hang.

Came with release 3.0. list, describe and find-hanging ask coordinators, which needs brokers that offer ListTransactions
and DescribeTransactions; describe-producers and abort work with brokers of 2.8.2 as well.
Source: docs/reference/tools.md, section 25; KIP-664, KIP-994.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import kafka_py
from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import Refused, log_warnings, run
from kafka_py.cli.common.connection_options import admin_properties
from kafka_py.cli.common.documents import FORMATS, print_document
from kafka_py.cli.common.prefix_parser import PrefixParser

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AdminClient
    from kafka_py.clients.admin.transactions import (
        AbortTransactionSpec,
        ProducerDescription,
        TransactionDescription,
        TransactionListing,
    )

MINUTE_MS = 60_000
PARTITIONS_AT_ONCE = 500
NONE = "None"

LIST_COLUMNS = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBE_COLUMNS = (
    "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
)  # fmt: skip
PRODUCER_COLUMNS = (
    "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
    "CurrentTransactionStartOffset",
)  # fmt: skip
HANGING_COLUMNS = (
    "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
    "Duration(min)",
)  # fmt: skip


class _TransactionAction(PrefixParser):
    """The options of one action; `prog` is what argparse calls the name."""

    def __init__(self, prog: str, about: str) -> None:
        super().__init__(prog, about)


def parser() -> PrefixParser:
    table = PrefixParser("kafka-transactions.sh", "Look at transactions, and end those that hang.")
    table.add_argument("-v", "--version", action="version", help="show the version and exit",
                       version=f"{kafka_py.KAFKA_VERSION} (Commit:kafka_py-{kafka_py.__version__})")  # fmt: skip
    table.add_argument("--command-config", metavar="FILE", help="property file for the admin client")
    table.add_argument("--output", choices=FORMATS, help="print a document instead of the classic table; our own")
    table.required("--bootstrap-server", "the brokers to connect to, host:port,host:port", metavar="host:port")
    actions = table.add_subparsers(dest="action", required=True, metavar="COMMAND", parser_class=_TransactionAction)

    def action(name: str, about: str) -> PrefixParser:
        made: PrefixParser = actions.add_parser(name, help=about, about=about)
        return made

    each = action("list", "list transactional ids")
    each.add_argument("--duration-filter", type=int, help="only transactions that last longer than so many ms; all "
                      "when negative")  # fmt: skip
    each = action("describe", "describe the transaction of a transactional id")
    each.required("--transactional-id", "the transactional id")
    each = action("describe-producers", "describe the producers that a partition knows")
    each.add_argument("--broker-id", type=int, help="ask the replica on this broker instead of the leader")
    _add_partition(each)
    _add_abort(action("abort", "abort a hanging transaction"))
    each = action("find-hanging", "find transactions that are open in partitions, but which no coordinator will end")
    each.add_argument("--broker-id", type=int, help="look at the replicas on this broker")
    each.add_argument("--max-transaction-timeout", type=int, default=15,
                      help="the longest that a transaction may last, in minutes (default: 15)")  # fmt: skip
    each.add_argument("--topic", help="look at this topic; required with --partition")
    each.add_argument("--partition", type=int, help="look at this partition")
    return table


def _add_partition(table: PrefixParser) -> None:
    table.required("--topic", "the topic")
    table.required("--partition", "the partition", type=int)


def _add_abort(table: PrefixParser) -> None:
    _add_partition(table)
    table.add_argument("--start-offset", type=int, help="where the transaction begins in the partition; the rest is "
                       "looked up")  # fmt: skip
    older = table.add_argument_group("Brokers that do not offer DescribeProducers", "all of these are required")
    older.add_argument("--producer-id", type=int, help="the producer's id")
    older.add_argument("--producer-epoch", type=int, help="the producer's epoch")
    older.add_argument("--coordinator-epoch", type=int, help="the epoch of the transaction's coordinator")


def table_lines(columns: Sequence[str], rows: Collection[Sequence[object]]) -> Iterator[str]:
    """The columns' names and the rows, each value padded to the width of its column and followed by a tab."""
    texts = [columns, *([str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        yield "".join(f"{text:<{width}}\t" for text, width in zip(row, widths, strict=True))


def show(options: argparse.Namespace, columns: Sequence[str], rows: Collection[Sequence[object]]) -> None:
    """Prints a table, or with --output a list of objects whose keys are the columns' names."""
    if options.output is not None:
        plain = [[None if value == NONE else value for value in row] for row in rows]
        print_document([dict(zip(columns, row, strict=True)) for row in plain], options.output)
        return
    for line in table_lines(columns, rows):
        print(line)


# ---- list, describe, describe-producers


def list_rows(listed: Mapping[int, Sequence[TransactionListing]]) -> list[Sequence[object]]:
    return [
        (each.transactional_id, broker, each.producer_id, each.state)
        for broker, some in listed.items()
        for each in some
    ]


def describe_row(found: TransactionDescription, now_ms: int) -> Sequence[object]:
    times = (NONE, NONE) if found.start_ms is None else (found.start_ms, now_ms - found.start_ms)
    return (found.coordinator_id, found.transactional_id, found.producer_id, found.producer_epoch, found.state,
            found.timeout_ms, *times, ",".join(map(str, found.partitions)))  # fmt: skip


def producer_row(producer: ProducerDescription) -> Sequence[object]:
    start = producer.transaction_start_offset
    return (producer.producer_id, producer.producer_epoch, producer.coordinator_epoch, producer.last_sequence,
            producer.last_timestamp, NONE if start is None else start)  # fmt: skip


def _list(admin: AdminClient, options: argparse.Namespace) -> None:
    longer_than_ms = -1 if options.duration_filter is None else options.duration_filter
    show(options, LIST_COLUMNS, list_rows(admin.list_transactions(longer_than_ms=longer_than_ms)))


def _describe(admin: AdminClient, options: argparse.Namespace) -> None:
    found = admin.describe_transactions([options.transactional_id]).value(options.transactional_id)
    show(options, DESCRIBE_COLUMNS, [describe_row(found, SYSTEM_CLOCK.wall_ms())])


def _describe_producers(admin: AdminClient, options: argparse.Namespace) -> None:
    partition = TopicPartition(options.topic, options.partition)
    producers = admin.describe_producers([partition], broker_id=options.broker_id).value(partition)
    show(options, PRODUCER_COLUMNS, [producer_row(each) for each in producers])


# ---- abort


def _abort(admin: AdminClient, options: argparse.Namespace) -> None:
    if options.start_offset is None and options.producer_id is None:
        raise Refused("Say which transaction to abort: by --start-offset, or for brokers without DescribeProducers by "
                      "--producer-id, --producer-epoch and --coordinator-epoch")  # fmt: skip
    admin.abort_transaction(_given(options) if options.start_offset is None else _found(admin, options))


def _given(options: argparse.Namespace) -> AbortTransactionSpec:
    """The marker that the options describe. A coordinator epoch below 0 was never written: 0 is as good."""
    from kafka_py.clients.admin.transactions import AbortTransactionSpec

    for name in ("producer_epoch", "coordinator_epoch"):
        if getattr(options, name) is None:
            raise Refused(f"Missing required argument --{name.replace('_', '-')}")
    partition = TopicPartition(options.topic, options.partition)
    epoch = max(options.coordinator_epoch, 0)
    return AbortTransactionSpec(partition, options.producer_id, options.producer_epoch, epoch)


def _found(admin: AdminClient, options: argparse.Namespace) -> AbortTransactionSpec:
    """The marker for the transaction that is open in the partition from --start-offset on."""
    from kafka_py.clients.admin.transactions import AbortTransactionSpec

    partition = TopicPartition(options.topic, options.partition)
    for producer in admin.describe_producers([partition]).value(partition):
        if producer.transaction_start_offset == options.start_offset:
            epoch = max(producer.coordinator_epoch, 0)
            return AbortTransactionSpec(partition, producer.producer_id, producer.producer_epoch, epoch)
    raise Refused(f"No transaction that is open in {partition} begins at offset {options.start_offset}")


# ---- find-hanging


class HeldTransaction(NamedTuple):
    """A transaction that a partition holds open."""

    partition: TopicPartition
    producer: ProducerDescription


def hanging(
    candidates: Sequence[HeldTransaction], ids: Mapping[int, str], described: Mapping[str, TransactionDescription]
) -> list[HeldTransaction]:
    """Those that no coordinator will end: it does not know the producer, or not that the partition takes part.

    ids: the transactional ids of producers. described: the transactions of ids that are known.
    """
    taking_part = {producer: described[each].partitions for producer, each in ids.items() if each in described}
    return [each for each in candidates if each.partition not in taking_part.get(each.producer.producer_id, ())]


def hanging_row(found: HeldTransaction, now_ms: int) -> Sequence[object]:
    producer = found.producer
    return (found.partition.topic, found.partition.partition, producer.producer_id, producer.producer_epoch,
            producer.coordinator_epoch, producer.transaction_start_offset, producer.last_timestamp,
            (now_ms - producer.last_timestamp) // MINUTE_MS)  # fmt: skip


def _find_hanging(admin: AdminClient, options: argparse.Namespace) -> None:
    if options.topic is None and options.broker_id is None:
        raise Refused("find-hanging needs --topic or --broker-id, which limit what is looked at")
    if options.partition is not None and options.topic is None:
        raise Refused("--partition needs --topic")
    now_ms = SYSTEM_CLOCK.wall_ms()
    begun_before_ms = now_ms - options.max_transaction_timeout * MINUTE_MS
    candidates = _open_since(admin, _partitions(admin, options), options.broker_id, begun_before_ms)
    found: list[HeldTransaction] = []
    if candidates:
        producer_ids = sorted({each.producer.producer_id for each in candidates})
        listed = admin.list_transactions(producer_ids=producer_ids)
        ids = {each.producer_id: each.transactional_id for some in listed.values() for each in some}
        found = hanging(candidates, ids, _known(admin, list(ids.values())))
    show(options, HANGING_COLUMNS, [hanging_row(each, now_ms) for each in found])


def _partitions(admin: AdminClient, options: argparse.Namespace) -> list[TopicPartition]:
    """What is looked at."""
    if options.partition is not None:
        return [TopicPartition(options.topic, options.partition)]
    topics = [options.topic] if options.topic is not None else sorted(admin.list_topics())
    return [
        TopicPartition(topic, each.partition)
        for topic, description in admin.describe_topics(topics).all().items()
        for each in description.partitions
        if options.broker_id is None or options.broker_id in [replica.id for replica in each.replicas]
    ]


def _open_since(
    admin: AdminClient, partitions: Sequence[TopicPartition], broker_id: int | None, begun_before_ms: int
) -> list[HeldTransaction]:
    """The open transactions whose last batch is older than that."""
    remaining = iter(partitions)
    found = []
    while some := list(islice(remaining, PARTITIONS_AT_ONCE)):
        for partition, producers in admin.describe_producers(some, broker_id=broker_id).all().items():
            found += [
                HeldTransaction(partition, each)
                for each in producers
                if each.transaction_start_offset is not None and each.last_timestamp < begun_before_ms
            ]
    return found


def _known(admin: AdminClient, transactional_ids: Sequence[str]) -> dict[str, TransactionDescription]:
    """The transactions of those ids that their coordinators know. Raises the first other error."""
    known = {}
    for transactional_id, found in admin.describe_transactions(transactional_ids).items():
        if not isinstance(found, KafkaError):
            known[transactional_id] = found
        elif found.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise found
    return known


ACTIONS = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
}


def main(arguments: Sequence[str]) -> int:
    table = parser()
    if not arguments:
        table.error("too few arguments")
    options = table.parse(arguments)
    log_warnings()
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient(admin_properties(options)) as admin:
        ACTIONS[options.action](admin, options)
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

"""org.apache.kafka.tools.TransactionalMessageCopier: copies records in transactions, the read offsets along with them.

For system tests: each poll is one transaction, one in three of them may be aborted and read again, and every step is
one JSON line. The copy keeps partition, key and value; the input is read up to the end that it had at the start. The
names of the fields, and their order, are those of Apache Kafka 2.8.2. Source: docs/reference/tools.md, section 17.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TextIO

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import log_warnings, run
from kafka_py.cli.common.prefix_parser import PrefixParser
from kafka_py.cli.common.termination import EndSignals, Terminated
from kafka_py.cli.java_compat.java_dates import DatePattern

if TYPE_CHECKING:
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.consumer.listener import RebalanceListener
    from kafka_py.clients.producer.producer import Producer

POLL_S = 0.2
ENDLESS = (1 << 63) - 1
FATAL = frozenset(
    {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}
)
"""Errors after which aborting is of no use: the command ends."""

_TIME = DatePattern("yyyy/MM/dd HH:mm:ss:SSS")


def parser() -> PrefixParser:
    table = PrefixParser(
        "transactional-message-copier",
        "Copy one partition to another topic in transactions, which also hold the offsets of what was read.",
    )
    servers = "HOST1:PORT1[,HOST2:PORT2[...]]"
    table.required("--input-topic", "read this topic", metavar="INPUT-TOPIC")
    table.required("--input-partition", "read this partition of it", type=int, metavar="INPUT-PARTITION")
    table.required("--output-topic", "write to this topic", metavar="OUTPUT-TOPIC")
    table.required("--broker-list", "the brokers to connect to", metavar=servers)
    table.add_argument("--max-messages", type=int, default=-1, metavar="MAX-MESSAGES",
                       help="copy so many records at most; -1 for all up to the present end (default: -1)")
    table.add_argument("--consumer-group", default="-1", metavar="CONSUMER-GROUP",
                       help="the group under which offsets are committed (default: -1)")
    table.add_argument("--transaction-size", type=int, default=200, metavar="TRANSACTION-SIZE",
                       help="the most records of a transaction (default: 200)")
    table.add_argument("--transaction-timeout", type=int, default=60_000, metavar="TRANSACTION-TIMEOUT",
                       help="the transaction timeout in ms (default: 60000)")
    table.required("--transactional-id", "the producer's transactional id", metavar="TRANSACTIONAL-ID")
    table.add_argument("--enable-random-aborts", action="store_true", help="abort one transaction in three")
    table.add_argument("--group-mode", action="store_true",
                       help="subscribe to the topic as a member of the group; --input-partition has no effect then")
    table.add_argument("--use-group-metadata", action="store_true",
                       help="commit offsets in the name of the group's member, not of the group alone (KIP-447)")
    return table


def producer_properties(options: argparse.Namespace) -> dict[str, str]:
    """Small batches, so that a transaction has several requests under way at once."""
    return {
        "bootstrap.servers": options.broker_list,
        "transactional.id": options.transactional_id,
        "transaction.timeout.ms": str(options.transaction_timeout),
        "batch.size": "512",
        "max.in.flight.requests.per.connection": "5",
    }


def consumer_properties(options: argparse.Namespace) -> dict[str, str]:
    return {
        "bootstrap.servers": options.broker_list,
        "group.id": options.consumer_group,
        "isolation.level": "read_committed",
        "max.poll.records": str(options.transaction_size),
        "enable.auto.commit": "false",
        "session.timeout.ms": "10000",
        "max.poll.interval.ms": "180000",
        "heartbeat.interval.ms": "3000",
        "auto.offset.reset": "earliest",
    }


class CopyProgress:
    """What was copied and what remains, as lines of JSON. now_ms: the wall clock."""

    def __init__(self, transactional_id: str, out: TextIO, now_ms: Callable[[], int]) -> None:
        self.total = 0
        self.consumed = 0
        """Since the last rebalance."""
        self.remaining = ENDLESS
        self._transactional_id = transactional_id
        self._out = out
        self._now_ms = now_ms

    def committed(self, count: int) -> None:
        self.total += count
        self.consumed += count
        self.remaining -= count

    def assigned(self, remaining: int) -> None:
        self.remaining = remaining
        self.consumed = 0

    def say_stage(self, stage: str) -> None:
        self._say({"consumed": self.consumed, "stage": stage, "totalProcessed": self.total,
                   "progress": self._transactional_id, "time": self._time(), "remaining": self.remaining})  # fmt: skip

    def say_shutdown(self) -> None:
        self._say({"consumed": self.consumed, "shutdown_complete": self._transactional_id,
                   "totalProcessed": self.total, "time": self._time(), "remaining": self.remaining})  # fmt: skip

    def _time(self) -> str:
        return _TIME.format_ms(self._now_ms())

    def _say(self, fields: dict[str, object]) -> None:
        self._out.write(json.dumps(fields, separators=(",", ":"), ensure_ascii=False) + "\n")
        self._out.flush()


def messages_remaining(consumer: Consumer, partition: TopicPartition) -> int:
    """Records, committed ones and markers, between the position and the end."""
    position = consumer.position(partition)
    return max(0, consumer.end_offsets([partition]).get(partition, position) - position)


def open_input(consumer: Consumer, options: argparse.Namespace, progress: CopyProgress) -> None:
    """Has the consumer read what the options name, and notes how much that is."""
    if options.group_mode:
        consumer.subscribe([options.input_topic], listener=_listener(consumer, progress))
        return
    partition = TopicPartition(options.input_topic, options.input_partition)
    consumer.assign([partition])
    most = ENDLESS if options.max_messages == -1 else options.max_messages
    progress.remaining = min(messages_remaining(consumer, partition), most)


def _listener(consumer: Consumer, progress: CopyProgress) -> RebalanceListener:
    from kafka_py.clients.consumer.listener import RebalanceListener

    class Counting(RebalanceListener):
        def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
            progress.assigned(sum(messages_remaining(consumer, each) for each in partitions))
            progress.say_stage("RebalanceComplete")

    return Counting()


class RandomAbort(Exception):
    """The transaction is to be aborted, without any failure."""


def copy_once(
    consumer: Consumer, producer: Producer, options: argparse.Namespace, progress: CopyProgress, draw: random.Random
) -> None:
    """One poll as one transaction; after an abort the consumer is back where its group has committed.

    Raises KafkaError for what an abort cannot mend.
    """
    from kafka_py.clients.consumer.assignors.assignor import GroupMetadata

    records = consumer.poll(POLL_S)
    if not records:
        return
    try:
        producer.begin_transaction()
        for record in records:
            producer.send(options.output_topic, record.value, key=record.key, partition=record.partition)
        offsets = {each: consumer.position(each) for each in consumer.assignment()}
        group = consumer.group_metadata() if options.use_group_metadata else GroupMetadata(options.consumer_group)
        producer.send_offsets_to_transaction(offsets, group)
        if options.enable_random_aborts and draw.randrange(3) == 0:
            raise RandomAbort
        producer.commit_transaction()
    except (KafkaError, RandomAbort) as error:
        if isinstance(error, KafkaError) and error.code in FATAL:
            raise
        producer.abort_transaction()
        reset_positions(consumer)
    else:
        progress.committed(len(records))


def reset_positions(consumer: Consumer) -> None:
    """Back to where the group has committed; to the beginning where it has not."""
    assigned = consumer.assignment()
    committed = consumer.committed(assigned)
    for partition in assigned:
        offset = committed.get(partition)
        if offset is None:
            consumer.seek_to_beginning([partition])
        else:
            consumer.seek(partition, offset.offset)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    log_warnings()
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.producer.producer import Producer

    progress = CopyProgress(options.transactional_id, sys.stdout, lambda: time.time_ns() // 1_000_000)
    draw = random.Random()
    with EndSignals() as signals:
        try:
            with Consumer(consumer_properties(options)) as consumer, Producer(producer_properties(options)) as producer:
                open_input(consumer, options, progress)
                producer.init_transactions()
                while progress.remaining > 0 and not signals.came:
                    progress.say_stage("ProcessLoop")
                    copy_once(consumer, producer, options, progress, draw)
        except Terminated:
            pass  # the exit code tells
        finally:
            progress.say_shutdown()
    return signals.exit_code


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

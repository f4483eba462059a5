"""kafka-verifiable-producer.sh: produces the numbers 0, 1, 2, ... and says of each whether it was acknowledged.

For tests that break things meanwhile: nothing is sent again (retries 0), every outcome is one JSON line.
Source: docs/reference/tools.md, section 16.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import KafkaError
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import log_warnings, run
from kafka_py.cli.common.prefix_parser import PrefixParser
from kafka_py.cli.common.termination import Terminated, termination_as_exception
from kafka_py.cli.common.throttle import throttled
from kafka_py.cli.java_compat.java_errors import exception_name
from kafka_py.cli.verification.json_events import Events

if TYPE_CHECKING:
    from kafka_py.clients.producer.batches import Callback, RecordMetadata
    from kafka_py.clients.producer.producer import Producer

ENDLESS = 1 << 63


def parser() -> PrefixParser:
    table = PrefixParser(
        "kafka-verifiable-producer.sh",
        "Produce increasing numbers, and print for each as JSON whether it was acknowledged.",
    )
    table.required("--topic", "produce to this topic", metavar="TOPIC")
    table.add_argument(
        "--max-messages",
        type=int,
        default=-1,
        metavar="MAX-MESSAGES",
        help="produce so many messages; -1 for no end but a signal (default: -1)",
    )
    table.add_argument(
        "--throughput",
        type=int,
        default=-1,
        metavar="THROUGHPUT",
        help="so many messages per second at most; -1 for no limit (default: -1)",
    )
    table.add_argument(
        "--acks",
        type=int,
        default=-1,
        choices=(0, 1, -1),
        metavar="ACKS",
        help="the acknowledgements to wait for: 0, 1 or -1 (default: -1)",
    )
    table.add_argument(
        "--producer.config",
        metavar="CONFIG_FILE",
        help="property file with settings of the producer, which win over all options",
    )
    table.add_argument(
        "--message-create-time",
        type=int,
        default=-1,
        metavar="CREATETIME",
        help="the time of the first message, in ms since the epoch; -1 for the clock's (default: -1)",
    )
    table.add_argument(
        "--value-prefix", type=int, metavar="VALUE-PREFIX", help="a number in front of each value, with a dot between"
    )
    table.add_argument(
        "--repeating-keys",
        type=int,
        metavar="REPEATING-KEYS",
        help="use so many keys, from 0 on and again; without it there are none",
    )
    servers = table.add_mutually_exclusive_group(required=True)
    servers.add_argument(
        "--bootstrap-server", metavar="HOST1:PORT1[,HOST2:PORT2[...]]", help="the brokers to connect to"
    )
    servers.add_argument("--broker-list", metavar="HOST1:PORT1[,HOST2:PORT2[...]]", help="the same, deprecated")
    return table


def check(options: argparse.Namespace, table: PrefixParser) -> None:
    """The rules that the table cannot say; a broken one ends the command."""
    if options.throughput == 0:
        table.error("argument --throughput: with 0 messages per second there would be no end; -1 means no limit")
    if options.repeating_keys is not None and options.repeating_keys < 1:
        table.error("argument --repeating-keys: it takes at least one key")


def producer_properties(options: argparse.Namespace) -> dict[str, str]:
    """The producer's settings; the file wins. Raises ConfigError for a bad file."""
    file = getattr(options, "producer.config")
    properties = {
        "bootstrap.servers": options.bootstrap_server or options.broker_list,
        "acks": str(options.acks),
        "retries": "0",
        **(read_properties(file) if file is not None else {}),
    }
    for part in ("key", "value"):
        properties.pop(f"{part}.serializer", None)  # keys and values are bytes already
    return properties


class AckTally:
    """Prints what was sent and what was acknowledged, as it happens. The callbacks run on the producer's thread."""

    def __init__(self, events: Events, topic: str) -> None:
        self.sent = self.acknowledged = 0
        self._events = events
        self._topic = topic

    def callback(self, key: str | None, value: str) -> Callback:
        """What to hand to `send` for this message."""

        def answered(metadata: RecordMetadata | None, error: KafkaError | None) -> None:
            if metadata is not None and error is None:
                self.acknowledged += 1
                self._events.say(
                    "producer_send_success", key=key, value=value, offset=metadata.offset, topic=metadata.topic,
                    partition=metadata.partition,
                )  # fmt: skip
            elif error is not None:
                self.failed(key, value, error)

        return answered

    def failed(self, key: str | None, value: str, error: KafkaError) -> None:
        """A message that will not be acknowledged."""
        self._events.say(
            "producer_send_error", topic=self._topic, key=key, value=value,
            exception=f"class {exception_name(error.code)}", message=error.message,
        )  # fmt: skip


def produce(
    producer: Producer,
    options: argparse.Namespace,
    tally: AckTally,
    now_ms: Callable[[], float] = lambda: time.time() * 1000,
) -> None:
    """Sends the numbers, as many and as fast as the options say. now_ms: a clock in ms."""
    count = ENDLESS if options.max_messages < 0 else options.max_messages
    created_ms = options.message_create_time
    start_ms = now_ms()
    for number in throttled(count, options.throughput, now_ms):
        key = None if options.repeating_keys is None else str(number % options.repeating_keys)
        value = str(number) if options.value_prefix is None else f"{options.value_prefix}.{number}"
        timestamp = None if created_ms < 0 else created_ms + int(now_ms() - start_ms)
        tally.sent += 1
        try:
            producer.send(
                options.topic, value.encode(), key=None if key is None else key.encode(), timestamp=timestamp,
                callback=tally.callback(key, value),
            )  # fmt: skip
        except KafkaError as error:
            tally.failed(key, value, error)


def main(arguments: Sequence[str]) -> int:
    table = parser()
    options = table.parse(arguments)
    check(options, table)
    log_warnings()
    events = Events(sys.stdout)
    tally = AckTally(events, options.topic)
    from kafka_py.clients.producer.producer import Producer

    producer = Producer(producer_properties(options))
    start = time.monotonic()
    events.say("startup_complete")
    code = 0
    try:
        with termination_as_exception():
            produce(producer, options, tally)
    except KeyboardInterrupt:
        code = 130
    except Terminated as terminated:
        code = terminated.exit_code
    producer.close()
    events.say("shutdown_complete")
    events.say(
        "tool_data", sent=tally.sent, acked=tally.acknowledged, target_throughput=options.throughput,
        avg_throughput=tally.acknowledged / max(0.001, time.monotonic() - start),
    )  # fmt: skip
    return code


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

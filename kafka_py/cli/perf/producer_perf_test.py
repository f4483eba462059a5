"""kafka-producer-perf-test.sh: how fast a producer sends, and how long the answers take.

Sends records as fast as asked for, prints a line every five seconds and the totals with percentiles at the end.
Source: docs/reference/tools.md, section 15.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from kafka_py.base.errors import KafkaError
from kafka_py.cli.common.client_properties import properties_of
from kafka_py.cli.common.command import CommandFailed, log_warnings, run
from kafka_py.cli.common.prefix_parser import PrefixParser
from kafka_py.cli.common.progress import Progress
from kafka_py.cli.common.throttle import throttled
from kafka_py.cli.perf.latencies import Latencies
from kafka_py.cli.perf.metric_table import metric_lines, metrics_of
from kafka_py.cli.perf.timeline import CSV_HEADER, Timeline, check_plot, write_plot

if TYPE_CHECKING:
    from kafka_py.clients.producer.producer import Producer


def parser() -> PrefixParser:
    table = PrefixParser("producer-performance", "Measure how fast records are produced.")
    table.required("--topic", "produce to this topic", metavar="TOPIC")
    table.required("--num-records", "how many records to produce", type=int, metavar="NUM-RECORDS")
    payload = table.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", type=int, metavar="RECORD-SIZE",
                         help="the size of a record in bytes; this or --payload-file is needed")
    payload.add_argument("--payload-file", metavar="PAYLOAD-FILE",
                         help="a file with payloads, of which one is drawn for each record")
    table.add_argument("--payload-delimiter", default=r"\n", metavar="PAYLOAD-DELIMITER",
                       help=r"regular expression between the payloads of --payload-file (default: \n)")
    table.required("--throughput", "so many records per second at most; -1 for no limit", type=int,
                   metavar="THROUGHPUT")
    table.add_argument("--producer-props", nargs="+", metavar="PROP-NAME=PROP-VALUE", default=[],
                       help="settings of the producer, such as bootstrap.servers; they win over --producer.config")
    table.add_argument("--producer.config", metavar="CONFIG-FILE", help="property file with settings of the producer")
    table.add_argument("--print-metrics", action="store_true", help="print metrics at the end")
    table.add_argument("--transactional-id", default="performance-producer-default-transactional-id",
                       metavar="TRANSACTIONAL-ID", help="the id to use if --transaction-duration-ms is set")
    table.add_argument("--transaction-duration-ms", type=int, default=0, metavar="TRANSACTION-DURATION",
                       help="the longest a transaction lasts; 0 for no transactions (default: 0)")
    table.add_argument("--csv", action="store_true",
                       help="print the figures of every second as comma-separated values; the totals go to stderr")
    table.add_argument("--plot", metavar="FILE",
                       help="draw throughput and latency over time into a PNG file (needs matplotlib)")
    return table


def check(options: argparse.Namespace, table: PrefixParser) -> None:
    """The rules between the options; a broken one ends the command."""
    if not options.producer_props and getattr(options, "producer.config") is None:
        table.error("Either --producer-props or --producer.config must be specified.")
    for property_pair in options.producer_props:
        if "=" not in property_pair:
            table.error(f"Invalid property: {property_pair}")
    if options.record_size is not None and options.record_size < 0:
        table.error("argument --record-size: a size cannot be negative")
    if options.num_records < 0:
        table.error("argument --num-records: a number of records cannot be negative")
    if options.throughput == 0:
        table.error("argument --throughput: with 0 records per second there would be no end; -1 means no limit")


def payloads_of(options: argparse.Namespace, texts: TextIO | None = None) -> list[bytes]:
    """What to send: the file's payloads, or one of random letters. Raises CommandFailed for a bad file.

    texts: where to say what was read, standard output when None.
    """
    if options.payload_file is None:
        return [bytes(random.Random(0).choices(range(ord("A"), ord("Z") + 1), k=options.record_size))]
    path = Path(options.payload_file)
    print(f"Reading payloads from: {path.absolute()}", file=texts)
    try:
        payloads = re.split(options.payload_delimiter.encode(), path.read_bytes())
    except OSError as error:
        raise CommandFailed(f"Cannot read {path}: {error.strerror}") from None
    except re.error as error:
        delimiter = options.payload_delimiter
        raise CommandFailed(f"The payload delimiter {delimiter!r} is no regular expression: {error}") from None
    while payloads and not payloads[-1]:
        payloads.pop()
    if not payloads:
        raise CommandFailed(f"There is no payload in {path}: the file is empty")
    print(f"Number of messages read: {len(payloads)}", file=texts)
    return payloads


def in_transactions(
    numbers: Iterable[int], producer: Producer, duration_ms: int, now_ms: Callable[[], float]
) -> Iterator[int]:
    """Passes the numbers on, each within a transaction; the first one after `duration_ms` is the last of its own."""
    begun_ms: float | None = None
    for number in numbers:
        if begun_ms is None:
            producer.begin_transaction()
            begun_ms = now_ms()
        age_ms = now_ms() - begun_ms
        yield number
        if age_ms >= duration_ms:
            producer.commit_transaction()
            begun_ms = None
    if begun_ms is not None:
        producer.commit_transaction()


def send_all(producer: Producer, options: argparse.Namespace, payloads: Sequence[bytes], latencies: Latencies,
             now_ms: Callable[[], float]) -> None:  # fmt: skip
    """Sends all records; the answers come in meanwhile. Raises KafkaError when the brokers refuse this client."""
    send, topic = producer.send, options.topic
    only = payloads[0] if len(payloads) == 1 else None
    draw = random.Random(0).choice
    last_tick, callback = -1, None
    numbers = throttled(options.num_records, options.throughput, now_ms)
    if options.transaction_duration_ms > 0:
        numbers = in_transactions(numbers, producer, options.transaction_duration_ms, now_ms)
    for _ in numbers:
        payload = only if only is not None else draw(payloads)
        start_ms = now_ms()
        tick = int(start_ms)
        if callback is None or tick != last_tick or only is None:
            # Records of one millisecond and one size share a callback: one each would cost as much as sending it.
            last_tick, callback = tick, latencies.callback(start_ms, len(payload))
            if latencies.refusal is not None:
                raise latencies.refusal
        try:
            send(topic, payload, callback=callback)
        except KafkaError as error:
            callback(None, error)


def measure(producer: Producer, options: argparse.Namespace, payloads: Sequence[bytes]) -> Latencies:
    """Sends all records and reports on them; with --csv, standard output has nothing but that. Raises as send_all."""

    def now_ms() -> float:
        return time.monotonic() * 1000

    progress = Progress(options.num_records, "records")
    timeline = None
    if options.csv or options.plot:
        if options.csv:
            progress.print(CSV_HEADER)
        timeline = Timeline(now_ms(), lambda interval: progress.print(interval.csv()) if options.csv else None)
    latencies = Latencies(
        options.num_records, now_ms, None if options.csv else progress.print, timeline=timeline, on_tick=progress.update
    )
    try:
        send_all(producer, options, payloads, latencies, now_ms)
        producer.flush()
        if latencies.refusal is not None:
            raise latencies.refusal
        latencies.finish()
    finally:
        progress.end()
    if options.plot and timeline is not None:
        write_plot(options.plot, timeline.intervals, f"Producing to {options.topic}", "latency, ms")
    return latencies


def main(arguments: Sequence[str]) -> int:
    table = parser()
    options = table.parse(arguments)
    check(options, table)
    log_warnings()
    if options.plot:
        check_plot(options.plot)
    properties = properties_of(getattr(options, "producer.config"), options.producer_props, "producer-props")
    properties.setdefault("client.id", "producer-1")
    for part in ("key", "value"):
        properties.pop(f"{part}.serializer", None)  # payloads are bytes already
    if options.transaction_duration_ms > 0:
        properties["transactional.id"] = options.transactional_id
    texts = sys.stderr if options.csv else sys.stdout
    payloads = payloads_of(options, texts)
    from kafka_py.clients.producer.producer import Producer

    with Producer(properties) as producer:
        if options.transaction_duration_ms > 0:
            producer.init_transactions()
        latencies = measure(producer, options, payloads)
        print(latencies.total_line(), file=texts)
        if options.print_metrics:
            for line in metric_lines(metrics_of(producer.metrics())):
                print(line, file=texts)
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

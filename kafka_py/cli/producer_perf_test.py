"""kafka-producer-perf-test.sh: how fast a producer sends, and how long the answers take.

Sends records as fast as asked for, prints a line every five seconds and the totals with percentiles at the end.
Source: reference tools, section 19.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kafka_py.base.errors import KafkaError
from kafka_py.cli.client_properties import properties_of
from kafka_py.cli.command import CommandFailed, log_warnings, run
from kafka_py.cli.metric_table import Metric, metric_lines
from kafka_py.cli.prefix_parser import PrefixParser
from kafka_py.clients.producer.batches import Callback, RecordMetadata
from kafka_py.clients.producer.producer import Producer

REPORT_EVERY_MS = 5000
MAX_SAMPLES = 500_000
"""Latencies kept for the percentiles; of more records only every n-th is."""

MIB = 1024 * 1024
PERCENTILES = (0.5, 0.95, 0.99, 0.999)


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
    if options.transaction_duration_ms > 0:
        raise CommandFailed("--transaction-duration-ms needs transactions, which this release does not have yet")


def payloads_of(options: argparse.Namespace) -> list[bytes]:
    """What to send: the file's payloads, or one of random letters. Raises CommandFailed for a bad file."""
    if options.payload_file is None:
        return [bytes(random.Random(0).choices(range(ord("A"), ord("Z") + 1), k=options.record_size))]
    path = Path(options.payload_file)
    print(f"Reading payloads from: {path.absolute()}")
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
    print(f"Number of messages read: {len(payloads)}")
    return payloads


class Latencies:
    """Counts, sizes and latencies of answered records; since the start and since the last report.

    answered(start_ms, size) is called for each on the producer's thread. now_ms: a clock in ms.
    """

    def __init__(self, expected: int, now_ms: Callable[[], float], report: Callable[[str], None]) -> None:
        self.count = self.size_bytes = self.failed = 0
        self._max = self._total = 0
        self._now_ms = now_ms
        self._report = report
        self._start_ms = self._window_start_ms = now_ms()
        self._window_count = self._window_bytes = self._window_total = self._window_max = 0
        self._every = max(1, expected // MAX_SAMPLES)
        self._samples = array("q")
        self._errors: set[str] = set()

    def callback(self, start_ms: float, size: int) -> Callback:
        """What to hand to `send` for a record that starts now."""

        def answered(_metadata: RecordMetadata | None, error: KafkaError | None) -> None:
            now_ms = self._now_ms()
            if error is not None:
                self._note_failure(error)
            latency = int(now_ms - start_ms)
            count = self.count
            if count % self._every == 0:
                self._samples.append(latency)
            self.count = count + 1
            self.size_bytes += size
            self._total += latency
            if latency > self._max:
                self._max = latency
            self._window_count += 1
            self._window_bytes += size
            self._window_total += latency
            if latency > self._window_max:
                self._window_max = latency
            if now_ms - self._window_start_ms >= REPORT_EVERY_MS:
                self._report(self.window_line(now_ms))

        return answered

    def _note_failure(self, error: KafkaError) -> None:
        self.failed += 1
        if str(error) not in self._errors:
            self._errors.add(str(error))
            print(f"A record was not sent: {error}", file=sys.stderr, flush=True)

    def window_line(self, now_ms: float) -> str:
        """The report of the time since the last one; begins anew."""
        elapsed_ms = max(1.0, now_ms - self._window_start_ms)
        count, size, total = self._window_count, self._window_bytes, self._window_total
        line = (
            f"{count} records sent, {1000 * count / elapsed_ms:.1f} records/sec "
            f"({1000 * size / elapsed_ms / MIB:.2f} MB/sec), {total / max(1, count):.1f} ms avg latency, "
            f"{self._window_max:.1f} ms max latency."
        )
        self._window_start_ms = now_ms
        self._window_count = self._window_bytes = self._window_total = self._window_max = 0
        return line

    def total_line(self) -> str:
        """The report at the end, with percentiles."""
        elapsed_ms = self.elapsed_ms
        ranks = self.percentiles()
        return (
            f"{self.count} records sent, {1000 * self.count / elapsed_ms:f} records/sec "
            f"({1000 * self.size_bytes / elapsed_ms / MIB:.2f} MB/sec), {self.average_ms:.2f} ms avg latency, "
            f"{self._max:.2f} ms max latency, {ranks[0]} ms 50th, {ranks[1]} ms 95th, {ranks[2]} ms 99th, "
            f"{ranks[3]} ms 99.9th."
        )

    @property
    def elapsed_ms(self) -> float:
        return max(1.0, self._now_ms() - self._start_ms)

    @property
    def average_ms(self) -> float:
        return self._total / max(1, self.count)

    @property
    def max_ms(self) -> int:
        return self._max

    def percentiles(self) -> list[int]:
        """Latencies at PERCENTILES, 0 where there are none."""
        ordered = sorted(self._samples)
        return [ordered[min(len(ordered) - 1, int(rank * len(ordered)))] if ordered else 0 for rank in PERCENTILES]


def throttled(count: int, per_second: int, now_ms: Callable[[], float],
              sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:  # fmt: skip
    """0 to count - 1, at most so many per second; no limit if negative."""
    if per_second < 0:
        yield from range(count)
        return
    start_ms = now_ms()
    for number in range(count):
        early_ms = 1000 * number / per_second - (now_ms() - start_ms)
        if early_ms >= 1:
            sleep(early_ms / 1000)
        yield number


def send_all(producer: Producer, options: argparse.Namespace, payloads: Sequence[bytes], latencies: Latencies,
             now_ms: Callable[[], float]) -> None:  # fmt: skip
    """Sends all records; the answers come in meanwhile."""
    send, topic = producer.send, options.topic
    only = payloads[0] if len(payloads) == 1 else None
    draw = random.Random(0).choice
    last_tick, callback = -1, None
    for _ in throttled(options.num_records, options.throughput, now_ms):
        payload = only if only is not None else draw(payloads)
        start_ms = now_ms()
        tick = int(start_ms)
        if callback is None or tick != last_tick or only is None:
            # Records of one millisecond and one size share a callback: one each would cost as much as sending it.
            last_tick, callback = tick, latencies.callback(start_ms, len(payload))
        try:
            send(topic, payload, callback=callback)
        except KafkaError as error:
            callback(None, error)


def metrics_of(client_id: str, latencies: Latencies) -> list[Metric]:
    """What was measured here, under the names of the producer's metrics."""
    tags = {"client-id": client_id}
    seconds = latencies.elapsed_ms / 1000
    sent = latencies.count - latencies.failed
    values = {
        "record-send-total": float(sent),
        "record-send-rate": sent / seconds,
        "record-error-total": float(latencies.failed),
        "record-error-rate": latencies.failed / seconds,
        "outgoing-byte-total": float(latencies.size_bytes),
        "outgoing-byte-rate": latencies.size_bytes / seconds,
        "request-latency-avg": latencies.average_ms,
        "request-latency-max": float(latencies.max_ms),
    }
    return [Metric("producer-metrics", name, tags, value) for name, value in values.items()]


def main(arguments: Sequence[str]) -> int:
    table = parser()
    options = table.parse(arguments)
    check(options, table)
    log_warnings()
    properties = properties_of(getattr(options, "producer.config"), options.producer_props, "producer-props")
    properties.setdefault("client.id", "producer-1")
    for part in ("key", "value"):
        properties.pop(f"{part}.serializer", None)  # payloads are bytes already
    payloads = payloads_of(options)

    def now_ms() -> float:
        return time.monotonic() * 1000

    with Producer(properties) as producer:
        latencies = Latencies(options.num_records, now_ms, lambda line: print(line, flush=True))
        send_all(producer, options, payloads, latencies, now_ms)
        producer.flush()
        print(latencies.total_line())
        if options.print_metrics:
            for line in metric_lines(metrics_of(properties["client.id"], latencies)):
                print(line)
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()

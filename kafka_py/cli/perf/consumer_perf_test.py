"""kafka-consumer-perf-test.sh: how fast a consumer reads.

Reads a topic as a member of a group until so many records came, and prints one line of comma-separated figures, or one
per interval. Time without partitions, before they are assigned or while they are reassigned, counts as rebalance.
Source: docs/reference/tools.md, section 14.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandParser, UsageError, log_warnings, require, run
from kafka_py.cli.common.progress import Progress
from kafka_py.cli.java_compat.java_dates import DatePattern
from kafka_py.cli.perf.metric_table import metric_lines, metrics_of
from kafka_py.cli.perf.timeline import CSV_HEADER, MIB, Timeline, check_plot, write_plot

if TYPE_CHECKING:
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.consumer.listener import RebalanceListener

POLL_S = 0.1
POLL_RECORDS = 5000
"""max.poll.records unless the property file says otherwise."""

FIGURES = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec"
FETCH_FIGURES = "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
HEADER = f"start.time, end.time, {FIGURES}, {FETCH_FIGURES}"
DETAILED_HEADER = f"time, threadId, {FIGURES}, {FETCH_FIGURES}"


def parser() -> CommandParser:
    table = CommandParser("kafka-consumer-perf-test.sh", "Measure how fast records are consumed.")
    table.option("--topic", "REQUIRED: the topic to read.", metavar="String: topic")
    table.option("--bootstrap-server", "REQUIRED unless --broker-list is given: the brokers to connect to, "
                 "host:port,host:port.", metavar="String: server(s)")  # fmt: skip
    table.option("--broker-list", "DEPRECATED, use --bootstrap-server.", metavar="String: server(s)")
    table.option("--messages", "REQUIRED: how many records to read.", kind=int, metavar="Long: count")
    table.option("--group", "The group id; a new one is made up unless it is given.", metavar="String: gid")
    table.option("--fetch-size", "How much to fetch of a partition at once, in bytes.", kind=int,
                 metavar="Integer: size", default=1_048_576)  # fmt: skip
    table.flag("--from-latest", "Start with the records still to come, not with the first ones there are.")
    table.option("--socket-buffer-size", "The TCP receive buffer, in bytes.", kind=int, metavar="Integer: size",
                 default=2_097_152)  # fmt: skip
    table.option("--threads", "Accepted without effect.", kind=int, metavar="Integer: count", default=10)
    table.option("--num-fetch-threads", "Accepted without effect.", kind=int, metavar="Integer: count", default=1)
    table.option("--consumer.config", "Property file with settings of the consumer.", metavar="String: config file")
    table.flag("--print-metrics", "Print metrics at the end.")
    table.flag("--show-detailed-stats", "Print a line per interval instead of one at the end.")
    table.option("--reporting-interval", "The interval of --show-detailed-stats, in ms.", kind=int,
                 metavar="Integer: interval_ms", default=5000)  # fmt: skip
    table.option("--timeout", "End when no record came for so long, in ms.", kind=int, metavar="Long: milliseconds",
                 default=10_000)  # fmt: skip
    table.option("--date-format", "How to show times, as a pattern of Java's SimpleDateFormat.",
                 metavar="String: date format", default="yyyy-MM-dd HH:mm:ss:SSS")  # fmt: skip
    table.flag("--hide-header", "Leave the header line out.")
    table.flag("--csv", "Print the figures of every second as comma-separated values; the others go to stderr.")
    table.option("--plot", "Draw throughput and the time that polls took into a PNG file (needs matplotlib).",
                 metavar="String: file")  # fmt: skip
    return table


def check(options: argparse.Namespace) -> None:
    """The rules between the options. Raises UsageError."""
    require(options, "topic", "messages")
    if options.bootstrap_server is None and options.broker_list is None:
        require(options, "bootstrap-server")
    if options.reporting_interval <= 0:
        raise UsageError("Reporting interval must be greater than 0.")


def consumer_properties(options: argparse.Namespace) -> dict[str, str]:
    """The consumer's settings; the options win over the file. Raises ConfigError for a bad file."""
    file = getattr(options, "consumer.config")
    properties = {"max.poll.records": str(POLL_RECORDS), **(read_properties(file) if file is not None else {})}
    properties.setdefault("client.id", "consumer-perf")
    properties |= {
        "bootstrap.servers": options.bootstrap_server or options.broker_list,
        "group.id": options.group or f"perf-consumer-{random.randrange(100_000)}",
        "receive.buffer.bytes": str(options.socket_buffer_size),
        "max.partition.fetch.bytes": str(options.fetch_size),
        "auto.offset.reset": "latest" if options.from_latest else "earliest",
        "check.crcs": "false",
    }
    for part in ("key", "value"):
        properties.pop(f"{part}.deserializer", None)
    return properties


class Figures:
    """What was read, and when. Times in ms since the epoch."""

    def __init__(self, start_ms: int) -> None:
        self.start_ms = self.end_ms = start_ms
        self.count = self.size_bytes = 0
        self._rebalanced_ms = 0
        self._rebalancing_since: int | None = start_ms
        self._reported = (start_ms, 0, 0, 0)

    def revoked(self, now_ms: int) -> None:
        """Partitions were taken away: from now on it is waited for others."""
        if self._rebalancing_since is None:
            self._rebalancing_since = now_ms

    def assigned(self, now_ms: int) -> None:
        """There are partitions to read."""
        self._rebalanced_ms = self.rebalanced_ms(now_ms)
        self._rebalancing_since = None

    def rebalanced_ms(self, now_ms: int) -> int:
        """How long there were no partitions until now."""
        since = self._rebalancing_since
        return self._rebalanced_ms + (max(0, now_ms - since) if since is not None else 0)

    @property
    def rebalance_ms(self) -> int:
        return self.rebalanced_ms(self.end_ms)

    def line(self, dates: DatePattern) -> str:
        """The figures of the whole run."""
        elapsed_ms = self.end_ms - self.start_ms
        fetch_ms = elapsed_ms - self.rebalance_ms
        size = self.size_bytes / MIB
        return (
            f"{dates.format_ms(self.start_ms)}, {dates.format_ms(self.end_ms)}, {size:.4f}, "
            f"{_per_second(size, elapsed_ms):.4f}, {self.count}, {_per_second(self.count, elapsed_ms):.4f}, "
            f"{self.rebalance_ms}, {fetch_ms}, {_per_second(size, fetch_ms):.4f}, "
            f"{_per_second(self.count, fetch_ms):.4f}"
        )

    def is_due(self, now_ms: int, interval_ms: int) -> bool:
        """Whether the interval since the last line is over."""
        return now_ms - self._reported[0] >= interval_ms

    def interval_line(self, now_ms: int, dates: DatePattern) -> str:
        """The figures since the last line; sizes and counts are those of the whole run. Begins a new interval."""
        last_ms, last_count, last_bytes, last_rebalanced_ms = self._reported
        elapsed_ms = now_ms - last_ms
        rebalanced_ms = self.rebalanced_ms(now_ms)
        rebalance_ms = rebalanced_ms - last_rebalanced_ms
        fetch_ms = elapsed_ms - rebalance_ms
        size, count = (self.size_bytes - last_bytes) / MIB, self.count - last_count
        self._reported = (now_ms, self.count, self.size_bytes, rebalanced_ms)
        return (
            f"{dates.format_ms(now_ms)}, 0, {self.size_bytes / MIB:.4f}, {_per_second(size, elapsed_ms):.4f}, "
            f"{self.count}, {_per_second(count, elapsed_ms):.4f}, {rebalance_ms}, {fetch_ms}, "
            f"{_per_second(size, fetch_ms):.4f}, {_per_second(count, fetch_ms):.4f}"
        )


def _per_second(amount: float, elapsed_ms: int) -> float:
    return 1000 * amount / elapsed_ms if elapsed_ms > 0 else 0.0


def listener(figures: Figures, now_ms: Callable[[], int]) -> RebalanceListener:
    """Tells the figures when partitions come and go."""
    from kafka_py.clients.consumer.listener import RebalanceListener

    class Clocked(RebalanceListener):
        def on_partitions_revoked(self, partitions: object) -> None:
            figures.revoked(now_ms())

        def on_partitions_assigned(self, partitions: object) -> None:
            figures.assigned(now_ms())

    return Clocked()


def consume(
    consumer: Consumer, figures: Figures, options: argparse.Namespace, now_ms: Callable[[], int]
) -> Iterator[None]:
    """Reads until there are enough or none came for too long; the figures are those after each poll."""
    last_ms = figures.start_ms
    while figures.count < options.messages and now_ms() - last_ms <= options.timeout:
        records = consumer.poll(POLL_S)
        now = now_ms()
        if records:
            last_ms = now
            figures.count += len(records)
            figures.size_bytes += sum(
                max(0, record.serialized_key_size) + max(0, record.serialized_value_size) for record in records
            )
        figures.end_ms = now
        yield


class PollTimes:
    """Puts polls into a timeline, each with the time since the one before."""

    def __init__(self, timeline: Timeline, start_ms: int) -> None:
        self._timeline = timeline
        self._last = (start_ms, 0, 0)

    def note(self, figures: Figures) -> None:
        """The figures as they are after a poll."""
        last_ms, count, size_bytes = self._last
        self._last = (figures.end_ms, figures.count, figures.size_bytes)
        took_ms = figures.end_ms - last_ms
        self._timeline.add(
            figures.end_ms, figures.count - count, figures.size_bytes - size_bytes, [took_ms], float(took_ms)
        )


def measure(
    consumer: Consumer, options: argparse.Namespace, now_ms: Callable[[], int], dates: DatePattern, texts: TextIO
) -> Figures:
    """Reads what the options ask for; prints the lines of intervals and --csv, and draws --plot."""
    progress = Progress(options.messages, "records")
    figures = Figures(now_ms())
    consumer.subscribe([options.topic], listener=listener(figures, now_ms))
    if options.csv:
        progress.print(CSV_HEADER)
    timeline = Timeline(figures.start_ms, lambda interval: progress.print(interval.csv()) if options.csv else None)
    polls = PollTimes(timeline, figures.start_ms)
    try:
        for _ in consume(consumer, figures, options, now_ms):
            if options.show_detailed_stats and figures.is_due(figures.end_ms, options.reporting_interval):
                progress.end()
                print(figures.interval_line(figures.end_ms, dates), file=texts, flush=True)
            polls.note(figures)
            progress.update(figures.count)
        timeline.finish(figures.end_ms)
    finally:
        progress.end()
    if options.plot:
        write_plot(options.plot, timeline.intervals, f"Consuming {options.topic}", "time from poll to poll, ms")
    return figures


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    log_warnings()
    try:
        dates = DatePattern(options.date_format)
    except ValueError as error:
        raise UsageError(str(error)) from None
    properties = consumer_properties(options)

    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    if options.plot:
        check_plot(options.plot)
    texts = sys.stderr if options.csv else sys.stdout
    if not options.hide_header:
        print(DETAILED_HEADER if options.show_detailed_stats else HEADER, file=texts, flush=True)
    from kafka_py.clients.consumer.consumer import Consumer

    with Consumer(properties) as consumer:
        figures = measure(consumer, options, now_ms, dates, texts)
        if figures.count < options.messages:
            print(f"WARNING: Exiting before consuming the expected number of messages: timeout ({options.timeout} ms) "
                  "exceeded. --timeout makes it wait longer.", file=texts)  # fmt: skip
        if not options.show_detailed_stats:
            print(figures.line(dates), file=texts)
        if options.print_metrics:
            for line in metric_lines(metrics_of(consumer.metrics())):
                print(line, file=texts)
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

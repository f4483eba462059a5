"""kafka-console-consumer.sh: prints the records of topics.

Topics are read as a member of a group, one of its own unless --group names it; a partition that is named is read
without one. Records are printed as soon as they come, and at the end (--max-messages, --timeout-ms, an interrupt,
SIGTERM, a reader that closed the pipe) how many there were. The positions of records that were fetched but not printed
are reset before the last commit. Source: docs/reference/tools.md, section 13.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.client_properties import pairs
from kafka_py.cli.common.command import CommandFailed, CommandParser, UsageError, log_warnings, require, run
from kafka_py.cli.common.termination import EndSignals, Terminated

if TYPE_CHECKING:
    from kafka_py.cli.console.message_formatters import MessageFormatter
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.consumer.fetching.records import ConsumerRecord

_log = logging.getLogger(__name__)

DEFAULT_FORMATTER = "kafka.tools.DefaultMessageFormatter"
POLL_RECORDS = 5000
"""max.poll.records unless set: records are printed by the poll, so large polls are fast."""

POLL_S = 1.0


def parser() -> CommandParser:
    table = CommandParser("kafka-console-consumer.sh", "Print the records of topics.")
    table.option("--bootstrap-server", "REQUIRED: the brokers to connect to, host:port,host:port.",
                 metavar="String: server(s)")  # fmt: skip
    table.option("--topic", "The topic to read. Either this or --whitelist is required.", metavar="String: topic")
    table.option("--whitelist", "A regular expression of the topics to read; it must match the whole name.",
                 metavar="String: whitelist")  # fmt: skip
    table.option("--partition", "Read only this partition; from its end unless --offset says otherwise.", kind=int,
                 metavar="Integer: partition")  # fmt: skip
    table.option("--offset", "Where to start in --partition: an offset, 'earliest' or 'latest'.",
                 metavar="String: consume offset", default="latest")  # fmt: skip
    table.flag("--from-beginning", "Start with the first record there is, not with the next one to come.")
    table.option("--max-messages", "How many records to read; without it there is no end.", kind=int,
                 metavar="Integer: num_messages", default=-1)  # fmt: skip
    table.option("--timeout-ms", "End when no record came for so long.", kind=int, metavar="Integer: timeout_ms")
    table.option("--group", "The consumer group, whose offsets are committed; without it a group is made up and "
                 "nothing is committed.", metavar="String: consumer group id")  # fmt: skip
    table.option("--isolation-level", "read_committed leaves out what aborted transactions wrote; "
                 "read_uncommitted does not.", metavar="String", default="read_uncommitted")  # fmt: skip
    table.repeatable("--consumer-property", "A setting of the consumer; overrides --consumer.config.",
                     metavar="String: consumer_prop")  # fmt: skip
    table.option("--consumer.config", "Property file with settings of the consumer.", metavar="String: config file")
    table.option("--formatter", "The class that prints records: kafka.tools.DefaultMessageFormatter, "
                 "LoggingMessageFormatter, NoOpMessageFormatter, ChecksumMessageFormatter; for the brokers' own "
                 "topics kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter and "
                 "$GroupMetadataMessageFormatter, and "
                 "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter; or a Python class "
                 "package.module.Class.", metavar="String: class", default=DEFAULT_FORMATTER)  # fmt: skip
    table.repeatable("--property", "A property of the formatter: print.timestamp, print.partition, print.offset, "
                     "print.headers, print.key (default: false), print.value (default: true), key.separator "
                     "(default: tab), line.separator (default: line feed), headers.separator (default: ,), "
                     "null.literal (default: null), key.deserializer, value.deserializer, headers.deserializer. A "
                     "property under a deserializer's name, such as key.deserializer.encoding, is for it.",
                     metavar="String: prop")  # fmt: skip
    table.option("--output", "Print every record with key, headers and timestamp as a line of json or csv, as "
                 "kafka-console-producer.sh --input reads them. Not in Apache Kafka; not with --formatter and "
                 "--property.",
                 choices=("json", "csv"))  # fmt: skip
    table.option("--key-deserializer", "The class that reads keys, such as "
                 "org.apache.kafka.common.serialization.LongDeserializer.", metavar="String: deserializer")  # fmt: skip
    table.option("--value-deserializer", "The class that reads values.", metavar="String: deserializer")
    table.flag("--skip-message-on-error", "Go on after a record that cannot be printed instead of ending.")
    table.flag("--enable-systest-events", "Print shutdown_complete at the end, for system tests.")
    return table


def check(options: argparse.Namespace) -> None:
    """The rules between the options. Raises UsageError for the first that is broken."""
    if (options.topic is None) == (options.whitelist is None):
        raise UsageError("Exactly one of --whitelist/--topic is required.")
    given: set[str] = getattr(options, "given", set())
    if options.partition is not None:
        if options.topic is None:
            raise UsageError("The topic is required when partition is specified.")
        if options.group is not None:
            raise UsageError("Options group and partition cannot be specified together.")
    elif "offset" in given:
        raise UsageError("The partition is required when offset is specified.")
    if options.from_beginning and "offset" in given:
        raise UsageError("Options from-beginning and offset cannot be specified together.")
    if options.isolation_level not in ("read_committed", "read_uncommitted"):
        raise UsageError(f"Unknown isolation level {options.isolation_level}: it is read_committed or read_uncommitted")
    if options.output is not None and ("formatter" in given or options.property):
        raise UsageError("Option output can't be used with options formatter and property")
    start_of(options)
    require(options, "bootstrap-server")


def start_of(options: argparse.Namespace) -> int | str:
    """Where to start in --partition: an offset, "earliest" or "latest". Raises UsageError."""
    if options.from_beginning:
        return "earliest"
    text: str = options.offset.lower()
    if text in ("earliest", "latest"):
        return text
    if not text.isascii() or not text.isdigit():
        raise UsageError(
            f"The provided offset value '{options.offset}' is incorrect. Valid values are 'earliest', 'latest', "
            "or a non-negative long."
        )
    return int(text)


def consumer_properties(options: argparse.Namespace) -> dict[str, str]:
    """The consumer's settings by the rule of precedence.

    Raises UsageError where --from-beginning or the group ids contradict one another, ConfigError for a bad file.
    """
    file = getattr(options, "consumer.config")
    from_file = read_properties(file) if file is not None else {}
    given = pairs(options.consumer_property, "consumer-property")
    properties = {**from_file, **given}
    reset = properties.get("auto.offset.reset")
    if options.from_beginning and reset not in (None, "earliest"):
        raise UsageError(f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', "
                         "please remove one option")  # fmt: skip
    properties["auto.offset.reset"] = "earliest" if options.from_beginning else reset or "latest"
    properties["bootstrap.servers"] = options.bootstrap_server
    if "isolation_level" in getattr(options, "given", set()) or "isolation.level" not in properties:
        properties["isolation.level"] = options.isolation_level
    properties.setdefault("max.poll.records", str(POLL_RECORDS))
    for part in ("key", "value"):
        properties.pop(f"{part}.deserializer", None)  # the formatter reads bytes
    group = _one_group(options.group, given.get("group.id"), from_file.get("group.id"))
    if group is None:
        properties["group.id"] = f"console-consumer-{random.randrange(100_000)}"
        properties.setdefault("enable.auto.commit", "false")
    else:
        if options.partition is not None:
            raise UsageError("Options group and partition cannot be specified together.")
        properties["group.id"] = group
    return properties


def _one_group(*given: str | None) -> str | None:
    """The group id that all places agree on, None when none names one. Raises UsageError."""
    ids = {group for group in given if group is not None}
    if len(ids) > 1:
        listed = ", ".join(f"'{group}'" for group in sorted(ids))
        raise UsageError("The group ids provided in different places (directly using '--group', via "
                         "'--consumer-property', or via '--consumer.config') do not match. "
                         f"Detected group ids: {listed}")  # fmt: skip
    return ids.pop() if ids else None


def formatter_properties(options: argparse.Namespace) -> dict[str, str]:
    """The formatter's properties; the deserializer options win."""
    properties = pairs(options.property, "property")
    for part in ("key", "value"):
        chosen = getattr(options, f"{part}_deserializer")
        if chosen:
            properties[f"{part}.deserializer"] = chosen
    return properties


class RecordSource(Protocol):
    """Where records come from: a consumer."""

    def poll(self, timeout_s: float, /) -> Iterable[ConsumerRecord]: ...


def open_source(consumer: Consumer, options: argparse.Namespace) -> None:
    """Has the consumer read what the options name, from where they say."""
    if options.partition is not None:
        partition = TopicPartition(options.topic, options.partition)
        consumer.assign([partition])
        match start_of(options):
            case "earliest":
                consumer.seek_to_beginning([partition])
            case "latest":
                consumer.seek_to_end([partition])
            case offset:
                consumer.seek(partition, int(offset))
    elif options.topic is not None:
        consumer.subscribe([options.topic])
        _warn_if_missing(consumer, options.topic)
    else:
        from kafka_py.cli.topic_admin.topic_requests import topic_pattern

        consumer.subscribe(pattern=topic_pattern(options.whitelist))


def _warn_if_missing(consumer: Consumer, topic: str) -> None:
    """Whoever mistypes a topic would wait in vain; one that is to come is waited for."""
    from kafka_py.clients.errors import ClientTimeout

    with suppress(ClientTimeout):
        if not consumer.partitions_for(topic, POLL_S):
            _log.warning("Topic %s does not exist; waiting for it", topic)


def rewind(consumer: Consumer, records: Iterable[ConsumerRecord]) -> None:
    """Has the consumer stand before these records, of the partitions that it still has."""
    first: dict[TopicPartition, int] = {}
    for record in records:
        first.setdefault(record.topic_partition, record.offset)
    for partition in first.keys() & consumer.assignment():
        consumer.seek(partition, first[partition])


class Printer:
    """Prints records until there are enough, none came for too long, or `is_over` says so.

    count: how many were taken. unprinted: those of the last poll that were not.
    limit: -1 for no limit. timeout_s: None for no time-out. skip_errors: leave out records that cannot be printed.
    interruptible: a context around the output, which may block forever.
    """

    def __init__(
        self,
        formatter: MessageFormatter,
        out: BinaryIO,
        *,
        limit: int = -1,
        timeout_s: float | None = None,
        skip_errors: bool = False,
        now: Callable[[], float] = time.monotonic,
        is_over: Callable[[], bool] = lambda: False,
        interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.count = 0
        self.unprinted: Sequence[ConsumerRecord] = ()
        self._formatter = formatter
        self._out = out
        self._limit = limit
        self._timeout_s = timeout_s
        self._skip_errors = skip_errors
        self._now = now
        self._is_over = is_over
        self._interruptible = interruptible

    def print_from(self, source: RecordSource) -> None:
        """Raises what polling and printing raise; what was printed before is out."""
        last = self._now()
        while self.count != self._limit:
            wait_s = POLL_S if self._timeout_s is None else min(POLL_S, last + self._timeout_s - self._now())
            if wait_s < 0:
                print(f"No record came for {self._timeout_s:g} s, ending.", file=sys.stderr)
                return
            self.unprinted = records = list(source.poll(wait_s))
            if self._is_over():
                return
            if records:
                self._print(records if self._limit < 0 else records[: self._limit - self.count])
                last = self._now()

    def _print(self, records: Sequence[ConsumerRecord]) -> None:
        """Prints the first ones of `unprinted`; after a failure to write, it holds them all still."""
        texts: list[bytes] = []
        add, form = texts.append, self._formatter.format
        before = self.count
        try:
            for record in records:
                self.count += 1
                try:
                    add(form(record))
                except Exception as error:
                    self._complain(record, error)
        finally:
            with self._interruptible():
                self._out.write(b"".join(texts))
                self._out.flush()
            self.unprinted = self.unprinted[self.count - before :]

    def _complain(self, record: ConsumerRecord, error: Exception) -> None:
        where = f"offset {record.offset} of {record.topic}-{record.partition}"
        if not self._skip_errors:
            raise CommandFailed(f"The record at {where} cannot be printed: {error}") from error
        print(f"Error processing message, skipping this message: {where}: {error}", file=sys.stderr)


class _Polling:
    """A consumer whose polls return nothing once a signal came."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def poll(self, timeout_s: float) -> Iterable[ConsumerRecord]:
        from kafka_py.clients.errors import WakeupError

        try:
            return self._consumer.poll(timeout_s)
        except WakeupError:
            return ()


def consume(options: argparse.Namespace) -> int:
    """Prints what the options ask for; returns the exit code."""
    properties = consumer_properties(options)
    from kafka_py.cli.console.message_formatters import formatter_named
    from kafka_py.clients.consumer.consumer import Consumer

    formatter: MessageFormatter
    if options.output is not None:
        from kafka_py.cli.console.record_files import record_formatter

        formatter = record_formatter(options.output)
    else:
        formatter = formatter_named(options.formatter, formatter_properties(options))
    timeout_s = None if options.timeout_ms is None or options.timeout_ms < 0 else options.timeout_ms / 1000
    code = 0
    with EndSignals() as signals:
        printer = Printer(formatter, sys.stdout.buffer, limit=options.max_messages, timeout_s=timeout_s,
                          skip_errors=options.skip_message_on_error, is_over=lambda: signals.came,
                          interruptible=signals.interruptible)  # fmt: skip
        try:
            with Consumer(properties) as consumer:
                signals.wake = consumer.wakeup
                code = _print_all(consumer, options, printer)
                rewind(consumer, printer.unprinted)
        except Terminated:
            pass  # the exit code tells
        formatter.close()
        print(f"Processed a total of {printer.count} messages", file=sys.stderr)
    return code or signals.exit_code


def _print_all(consumer: Consumer, options: argparse.Namespace, printer: Printer) -> int:
    """Prints until the end, whatever ends it; returns the exit code."""
    from kafka_py.clients.errors import WakeupError

    try:
        open_source(consumer, options)
        printer.print_from(_Polling(consumer))
    except BrokenPipeError:
        print("Unable to write to standard out, closing consumer.", file=sys.stderr)
        _discard_output()
    except (KafkaError, CommandFailed) as error:
        print(f"Error processing message, terminating consumer process: {error}", file=sys.stderr)
        return 1
    except (WakeupError, Terminated):
        pass  # a signal, while it opened the source or printed: what is not out is taken back
    return 0


def _discard_output() -> None:
    """Nobody reads on: what is still buffered must not fail again at exit."""
    import os

    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    log_warnings()
    code = consume(options)
    if options.enable_systest_events:
        print("shutdown_complete", flush=True)
    return code


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

"""kafka-console-producer.sh: sends the lines of standard input to a topic.

Lines are sent as bytes, as they are. Without --sync nothing waits for an answer: a failed send is reported and the
rest goes on. The end of the input, an interrupt and SIGTERM all end with what was read being sent.
Source: docs/reference/tools.md, section 12.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.common.client_properties import merge_options, pairs, properties_of
from kafka_py.cli.common.command import CommandParser, UsageError, log_warnings, require, run
from kafka_py.cli.common.termination import Terminated, termination_as_exception
from kafka_py.cli.console.interruptible_input import interruptible
from kafka_py.cli.console.line_reader import CLASSIC_NAME, RecordReader, reader_named
from kafka_py.cli.console.record_files import RecordFileReader

if TYPE_CHECKING:
    from kafka_py.clients.producer.batches import RecordMetadata
    from kafka_py.clients.producer.producer import Producer

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

PROPERTY_OF_OPTION = {
    "compression.type": "compression_codec",
    "retries": "message_send_max_retries",
    "retry.backoff.ms": "retry_backoff_ms",
    "linger.ms": "timeout",
    "acks": "request_required_acks",
    "request.timeout.ms": "request_timeout_ms",
    "metadata.max.age.ms": "metadata_expiry_ms",
    "max.block.ms": "max_block_ms",
    "buffer.memory": "max_memory_bytes",
    "batch.size": "max_partition_memory_bytes",
    "send.buffer.bytes": "socket_buffer_size",
}


def parser() -> CommandParser:
    table = CommandParser("kafka-console-producer.sh", "Send the lines of standard input to a topic.")
    table.option("--topic", "REQUIRED: the topic to send to.", metavar="String: topic")
    table.option("--bootstrap-server", "REQUIRED unless --broker-list is given: the brokers to connect to, "
                 "host:port,host:port.", metavar="String: server(s)")  # fmt: skip
    table.option("--broker-list", "DEPRECATED, use --bootstrap-server.", metavar="String: server(s)")
    table.flag("--sync", "Wait for the answer to each line before the next one is sent.")
    table.option("--compression-codec", "The codec: none, gzip, snappy, lz4 or zstd; gzip if the option has no "
                 "argument.", metavar="String: codec", nargs="?", const="gzip", default="none")  # fmt: skip
    table.option("--batch-size", "Accepted without effect.", kind=int, metavar="Integer: size", default=200)
    table.option("--message-send-max-retries", "How often a send is tried again.", kind=int, metavar="Integer",
                 default=3)  # fmt: skip
    table.option("--retry-backoff-ms", "Pause before a send is tried again.", kind=int, metavar="Integer", default=100)
    table.option("--timeout", "How long, in ms, a batch that is not full waits for more lines.", kind=int,
                 metavar="Integer: timeout_ms", default=1000)  # fmt: skip
    table.option("--request-required-acks", "Which acknowledgement a line needs: 0, 1, -1 or all.",
                 metavar="String: acks", default="1")  # fmt: skip
    table.option("--request-timeout-ms", "How long an answer may take.", kind=int, metavar="Integer: timeout_ms",
                 default=1500)  # fmt: skip
    table.option("--metadata-expiry-ms", "How often metadata is read again without need.", kind=int,
                 metavar="Long: interval_ms", default=300_000)  # fmt: skip
    table.option("--max-block-ms", "How long to wait for metadata or free memory.", kind=int,
                 metavar="Long: max block", default=60_000)  # fmt: skip
    table.option("--max-memory-bytes", "How much memory may hold lines that are not yet answered.", kind=int,
                 metavar="Long: bytes", default=33_554_432)  # fmt: skip
    table.option("--max-partition-memory-bytes", "The size of a batch.", kind=int, metavar="Long: bytes",
                 default=16_384)  # fmt: skip
    table.option("--socket-buffer-size", "The TCP send buffer, in bytes.", kind=int, metavar="Integer: size",
                 default=102_400)  # fmt: skip
    table.option("--line-reader", f"The class that reads records: {CLASSIC_NAME} (the default) or a Python class "
                 "package.module.Class.", metavar="String: reader_class")  # fmt: skip
    table.option("--input", "Read records with keys, headers and timestamps as lines of json or csv, as "
                 "kafka-console-consumer.sh --output writes them. Not in Apache Kafka; not with --line-reader.",
                 choices=("json", "csv"))  # fmt: skip
    table.repeatable("--property", "A property of the line reader: parse.key=true|false (default: false), "
                     "key.separator=<text> (default: tab), ignore.error=true|false (default: false); with --input "
                     "keep.partition=true|false (default: false).",
                     metavar="String: prop")  # fmt: skip
    table.repeatable("--producer-property", "A setting of the producer; overrides --producer.config.",
                     metavar="String: producer_prop")  # fmt: skip
    table.option("--producer.config", "Property file with settings of the producer.", metavar="String: config file")
    return table


def producer_properties(options: argparse.Namespace) -> dict[str, str]:
    """The producer's settings by the rule of precedence. Raises UsageError, ConfigError."""
    properties = properties_of(getattr(options, "producer.config"), options.producer_property, "producer-property")
    properties["bootstrap.servers"] = options.bootstrap_server or options.broker_list
    properties.setdefault("client.id", "console-producer")
    merge_options(properties, options, PROPERTY_OF_OPTION)
    for part in ("key", "value"):
        properties.pop(f"{part}.serializer", None)  # what the reader gives are bytes already
    return properties


def check(options: argparse.Namespace) -> None:
    """The rules between the options. Raises UsageError."""
    require(options, "topic")
    if options.bootstrap_server is None and options.broker_list is None:
        require(options, "bootstrap-server")
    if options.input is not None and options.line_reader is not None:
        raise UsageError("Option input can't be used with option line-reader")
    if options.compression_codec not in CODECS:
        raise UsageError(f"Unknown compression codec {options.compression_codec}: it is one of {', '.join(CODECS)}")


class Failures:
    """Reports failed sends: the first of each kind at once, the others as a number at the end."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._counts: dict[str, int] = {}
        self._refusal: KafkaError | None = None

    def answered(self, _metadata: RecordMetadata | None, error: KafkaError | None) -> None:
        """Called for every record."""
        if error is not None:
            self.report(error)

    def raise_refusal(self) -> None:
        """Raises why brokers do not accept the producer: every other line would wait for the same answer."""
        if self._refusal is not None:
            raise self._refusal

    def report(self, error: KafkaError) -> None:
        """Notes one record that was not sent."""
        if error.code is ErrorCode.SASL_AUTHENTICATION_FAILED:
            self._refusal = error
        text = str(error)
        seen = self._counts.get(text, 0)
        self._counts[text] = seen + 1
        if not seen:
            print(f"Error when sending message to topic {self._topic}: {text}", file=sys.stderr, flush=True)

    def report_counts(self) -> None:
        """Says how many there were, if any kind was seen more than once."""
        for text, count in self._counts.items():
            if count > 1:
                print(f"{count} messages to topic {self._topic} were not sent: {text}", file=sys.stderr, flush=True)


def send_all(reader: RecordReader, producer: Producer, topic: str, failures: Failures) -> None:
    """Sends without waiting for answers. Raises KafkaError when the brokers refuse this client."""
    send, answered = producer.send, failures.answered
    for key, value in reader.records():
        try:
            send(topic, value, key, callback=answered)
        except KafkaError as error:
            failures.report(error)
        failures.raise_refusal()


def send_one_by_one(reader: RecordReader, producer: Producer, topic: str) -> None:
    """Sends and waits for each answer. Raises the first KafkaError."""
    for key, value in reader.records():
        producer.send(topic, value, key).result()


def send_file(reader: RecordFileReader, producer: Producer, topic: str, failures: Failures, *, sync: bool) -> None:
    """Sends the records of a file, each as it was. With `sync` it waits for each answer, and raises KafkaError."""
    for key, value, headers, timestamp, partition in reader.records():
        try:
            sent = producer.send(topic, value, key, partition, timestamp, headers, failures.answered)
        except KafkaError as error:
            failures.report(error)
        else:
            if sync:
                sent.result()
        failures.raise_refusal()


def _prompt() -> None:
    print(">", end="", flush=True)


def produce(
    properties: Mapping[str, str], options: argparse.Namespace, reader: RecordReader | RecordFileReader
) -> None:
    """Sends all there is; what was handed over is sent even if the reading fails or is interrupted."""
    failures = Failures(options.topic)
    from kafka_py.clients.producer.producer import Producer

    try:
        with Producer(properties) as producer:
            if isinstance(reader, RecordFileReader):
                send_file(reader, producer, options.topic, failures, sync=options.sync)
            elif options.sync:
                send_one_by_one(reader, producer, options.topic)
            else:
                send_all(reader, producer, options.topic, failures)
        failures.raise_refusal()  # of records that were handed over when the last line was read
    finally:
        failures.report_counts()


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    check(options)
    log_warnings()
    properties = producer_properties(options)
    reader_properties = {"topic": options.topic, **pairs(options.property, "property")}
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    reader: RecordReader | RecordFileReader
    if options.input is not None:
        reader = RecordFileReader(options.input)
    else:
        reader = reader_named(options.line_reader, _prompt if on_terminal else None)
    try:
        with interruptible(sys.stdin.buffer) as stream, termination_as_exception():
            reader.configure(stream, reader_properties)
            produce(properties, options, reader)
    except Terminated as terminated:
        return terminated.exit_code
    finally:
        reader.close()
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()

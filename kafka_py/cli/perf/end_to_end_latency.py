"""kafka.tools.EndToEndLatency: how long a record takes from the producer to a consumer, one record at a time.

    kafka-run-class.sh kafka.tools.EndToEndLatency localhost:9092 topic 10000 1 100 [client.properties]

Run by class only; its arguments have no names. Source: docs/reference/tools.md, section 21.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, UsageError, log_warnings, run

if TYPE_CHECKING:
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.producer.producer import Producer

USAGE = (
    "USAGE: kafka.tools.EndToEndLatency broker_list topic num_messages producer_acks message_size_bytes "
    "[optional] properties_file"
)
PATIENCE_S = 60
SHOWN_EVERY = 1000


class LatencyRun(NamedTuple):
    """What the command line asks for. properties: of both clients."""

    servers: str
    topic: str
    messages: int
    acks: str
    size: int
    properties: dict[str, str]


def wanted(arguments: Sequence[str]) -> LatencyRun:
    """The arguments by name. Raises UsageError, CommandFailed; ConfigError for a bad file."""
    if len(arguments) not in (5, 6):
        raise UsageError(USAGE)
    servers, topic, messages, acks, size = arguments[:5]
    if acks not in ("1", "all"):
        raise CommandFailed("Latency testing requires synchronous acknowledgement. Please use 1 or all")
    if not (messages.isdigit() and int(messages) > 0 and size.isdigit()):
        raise CommandFailed(f"{messages} and {size} should be numbers, of messages and of bytes")
    properties = read_properties(arguments[5]) if len(arguments) == 6 else {}
    return LatencyRun(servers, topic, int(messages), acks, int(size), properties)


def random_bytes(size: int) -> bytes:
    """Capital letters."""
    return bytes(random.choices(range(ord("A"), ord("Z") + 1), k=size))


def measure(
    producer: Producer, consumer: Consumer, what: LatencyRun, show: Callable[[str], object] = print
) -> list[float]:
    """The times of all messages, in ms, in order of sending. Raises CommandFailed when one does not come back."""
    times: list[float] = []
    for number in range(what.messages):
        sent = random_bytes(what.size)
        began_s = time.perf_counter()
        producer.send(what.topic, sent).result(PATIENCE_S)
        records = list(consumer.poll(PATIENCE_S))
        took_ms = (time.perf_counter() - began_s) * 1000
        if not records:
            raise CommandFailed(f"poll() timed out before finding a result (timeout:[{PATIENCE_S * 1000}])")
        if records[0].value != sent:
            raise CommandFailed("The message that was read is not the one that was sent")
        if len(records) != 1:
            raise CommandFailed(f"Only one result was expected during this test. We found [{len(records)}]")
        if number % SHOWN_EVERY == 0:
            show(f"{number}\t{took_ms}")
        times.append(took_ms)
    return times


def summary(times: Sequence[float]) -> list[str]:
    """The two lines at the end."""
    ordered = sorted(times)
    shares = [int(ordered[int(len(ordered) * share)]) for share in (0.5, 0.99, 0.999)]
    return [
        f"Avg latency: {sum(times) / len(times):.4f} ms",
        "",
        f"Percentiles: 50th = {shares[0]}, 99th = {shares[1]}, 99.9th = {shares[2]}",
    ]


def main(arguments: Sequence[str]) -> int:
    what = wanted(arguments)
    log_warnings()
    from kafka_py.base.ids import TopicPartition
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.producer.producer import Producer

    common = {**what.properties, "bootstrap.servers": what.servers}
    writing = {"linger.ms": "0", "max.block.ms": str(2**63 - 1), "acks": what.acks}
    reading = {"enable.auto.commit": "false", "auto.offset.reset": "latest", "fetch.max.wait.ms": "0"}
    with Producer({**common, **writing}) as producer, Consumer({**common, **reading}) as consumer:
        make_topic(what, common)
        partitions = [TopicPartition(what.topic, info.partition) for info in producer.partitions_for(what.topic)]
        consumer.assign(partitions)
        consumer.seek_to_end(partitions)
        for partition in partitions:
            consumer.position(partition)
        times = measure(producer, consumer, what)
    for line in summary(times):
        print(line)
    return 0


def make_topic(what: LatencyRun, common: dict[str, str]) -> None:
    """The topic, with one partition, if there is none."""
    from kafka_py.clients.admin.client import AdminClient
    from kafka_py.clients.admin.topics import NewTopic

    with AdminClient(common) as admin:
        if what.topic not in admin.list_topics():
            print(
                f'Topic "{what.topic}" does not exist. '
                "Will create topic with 1 partition(s) and replication factor = 1"
            )
            admin.create_topics([NewTopic(what.topic, 1, 1)]).all()


def cli() -> None:
    if sys.argv[1:] in (["--help"], []):
        print(USAGE, file=sys.stderr)
        sys.exit(1)
    run(main)


if __name__ == "__main__":
    cli()

"""How fast consumers turn a topic into Python objects: ours, kafka-python's and librdkafka's, in turn on one broker.

    python -m benchmarks.consumers [--records N] [--rounds N] [--apache]

Each reads the same topic of one partition, 100-byte records in batches of some thousands, in a process of its own;
records are counted one by one, as an application would touch them. CPU is that process's, all threads, per million
records: the figure to go by on a machine that does other things as well. Best of the rounds counts.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TOPIC = "consumed"
RECORD_BYTES = 100
WARM_UP_SHARE = 0.05


def ours_assigned(bootstrap: str, count: int) -> Iterator[int]:
    """Our consumer, with the partition named. Gives how many records it has after each poll."""
    from kafka_py.clients import Consumer, TopicPartition

    with Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0)])
        seen = 0
        while seen < count:
            for _ in consumer.poll(1.0):
                seen += 1
            yield seen


def ours_in_a_group(bootstrap: str, count: int) -> Iterator[int]:
    """Our consumer as a member of a group, with automatic commits."""
    from kafka_py.clients import Consumer

    group = f"benchmark-{os.getpid()}"
    with Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "group.id": group}) as consumer:
        consumer.subscribe([TOPIC])
        seen = 0
        while seen < count:
            for _ in consumer.poll(1.0):
                seen += 1
            yield seen


def kafka_python(bootstrap: str, count: int) -> Iterator[int]:
    """kafka-python."""
    import kafka

    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    consumer.assign([kafka.TopicPartition(TOPIC, 0)])
    seen = 0
    while seen < count:
        for records in consumer.poll(1000).values():
            for _ in records:
                seen += 1
        yield seen
    consumer.close()


def confluent(bootstrap: str, count: int) -> Iterator[int]:
    """confluent-kafka: C, made into objects 500 at a time."""
    import confluent_kafka

    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    seen = 0
    while seen < count:
        for record in consumer.consume(500, 1.0):
            record.value()
            seen += 1
        yield seen
    consumer.close()


READERS: dict[str, Callable[[str, int], Iterator[int]]] = {
    "kafka_py, assigned": ours_assigned,
    "kafka_py, in a group": ours_in_a_group,
    "kafka-python": kafka_python,
    "confluent-kafka": confluent,
}


def measure(name: str, bootstrap: str, count: int) -> None:
    """Reads everything and prints records/s and CPU seconds per million, without the start."""
    begun, from_record = None, 0
    for seen in READERS[name](bootstrap, count):
        if begun is None and seen > count * WARM_UP_SHARE:
            begun, from_record = (time.perf_counter(), time.process_time()), seen
        if begun is not None and seen >= count:
            read = seen - from_record
            print((read / (time.perf_counter() - begun[0])), (time.process_time() - begun[1]) / read * 1e6)


@contextlib.contextmanager
def broker(*, apache: bool) -> Iterator[str]:
    """Where a fresh broker with an empty topic is."""
    from kafka_py.testing.cluster import KafkaCluster
    from kafka_py.testing.peers.apache import ApacheBroker
    from kafka_py.testing.processes import ZookeeperServer

    if not apache:
        with KafkaCluster() as cluster:
            cluster.create_topic(TOPIC)
            yield cluster.bootstrap_servers
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        zookeeper = ZookeeperServer(Path(folder, "zookeeper")).start()
        stack.callback(zookeeper.end)
        zookeeper.wait_serving(30)
        running = stack.enter_context(ApacheBroker(Path(folder, "broker"), zookeeper.connect))
        running.create_topic(TOPIC)
        yield running.bootstrap


def fill(bootstrap: str, count: int) -> None:
    """Sends the records, in large batches."""
    from kafka_py.clients import Producer

    value = os.urandom(RECORD_BYTES // 2).hex().encode()
    with Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.size": 900_000}) as producer:
        for _ in range(count):
            producer.send(TOPIC, value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--apache", action="store_true", help="read from Apache Kafka 2.8.2 instead of our broker")
    parser.add_argument("--measure", nargs=2, metavar=("READER", "BOOTSTRAP"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        reader, bootstrap = options.measure
        measure(reader, bootstrap, options.records)
        return
    with broker(apache=options.apache) as bootstrap:
        fill(bootstrap, options.records)
        print("| consumer | records/s | CPU s/M records |\n|---|---:|---:|")
        for name in READERS:
            command = [sys.executable, "-m", "benchmarks.consumers", "--records", str(options.records),
                       "--measure", name, bootstrap]  # fmt: skip
            runs = [subprocess.check_output(command, text=True).split() for _ in range(options.rounds)]
            fastest = max(float(rate) for rate, _ in runs)
            cheapest = min(float(cpu) for _, cpu in runs)
            print(f"| {name} | {fastest:,.0f} | {cheapest:.2f} |", flush=True)


if __name__ == "__main__":
    main()

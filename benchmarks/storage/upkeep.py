"""Recovery and compaction of large logs by a real broker.

    python -m benchmarks.storage.upkeep recovery [--gigabytes N] [--partitions N] [--threads N]
    python -m benchmarks.storage.upkeep compaction [--megabytes N]

`recovery` writes to a broker that has never flushed, kills it and measures from its start until it serves. `compaction`
fills one partition with keyed 100-byte records, each key ten times, lets the cleaner loose, and measures the processor
time and the memory of the process that compacts. Prints tables for people.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC = "upkeep"
OF_TOPIC = 2
RECORDS, VALUE = 9_000, bytes(84)  # about 100 bytes a record with its key
TIMES = 10
"""How often each key is written."""
BUFFER_MB = 128
LOOK_S = 0.02
READY_S = 600


def keyed_batches(count: int) -> list[bytes]:
    """Batches of which no two have a key in common."""
    made = []
    for number in range(count):
        builder = BatchBuilder()
        for index in range(RECORDS):
            builder.append(1_700_000_000_000, b"%08d" % (number * RECORDS + index), VALUE)
        made.append(builder.build())
    return made


def write(client: WireClient, batches: Iterator[tuple[int, bytes]]) -> int:
    """Sends batches to partitions, one request at a time; the bytes."""
    total = 0
    for partition, batch in batches:
        data = [PartitionProduceData(index=partition, records=batch)]
        topics = [TopicProduceData(name=TOPIC, partition_data=data)]
        answer = client.ask(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=topics), 7)
        assert answer.responses[0].partition_responses[0].error_code == 0
        total += len(batch)
    return total


def recovery(folder: Path, connect: str, gigabytes: float, partitions: int, threads: int) -> None:
    settings = {
        "num.recovery.threads.per.data.dir": str(threads), "log.retention.ms": "-1", "log.cleaner.enable": "false",
        "log.flush.offset.checkpoint.interval.ms": "3600000",
    }  # fmt: skip
    broker = BrokerProcess(folder / "broker", connect, settings=settings)
    batch = keyed_batches(1)[0]
    count = int(gigabytes * 1e9 / len(batch))
    with broker:
        # Large segments: a roll flushes what is before it, and only what is behind the recovery point is read.
        broker.create_topic(TOPIC, partitions, configs={"segment.bytes": "2147483647"})
        with WireClient(broker.bootstrap) as client:
            size = write(client, ((number % partitions, batch) for number in range(count)))
        broker.kill()
        broker.start(READY_S)
        took_s, cpu_s = broker.started_in_s, broker.cpu_seconds()
        print(f"| {size / 1e9:.1f} GB in {partitions} partitions, {threads} threads | {took_s:.1f} s to serving "
              f"| {size / 1e6 / took_s:.0f} MB/s | {size / 1e6 / cpu_s:.0f} MB/s of processor time |")  # fmt: skip


def compactors(broker: BrokerProcess) -> list[psutil.Process]:
    return list(psutil.Process(broker.pid).children())


def compaction(folder: Path, connect: str, megabytes: int) -> None:
    settings = {
        "log.cleaner.dedupe.buffer.size": str(BUFFER_MB << 20), "log.cleaner.threads": "1",
        "log.cleaner.backoff.ms": "100", "log.retention.ms": "-1",
    }  # fmt: skip
    with BrokerProcess(folder / "broker", connect, settings=settings) as broker:
        broker.create_topic(TOPIC, 1, configs={"segment.bytes": "100000000"})
        batches = keyed_batches(max(int(megabytes * 1e6 / TIMES / RECORDS / 100), 1))
        order = batches * TIMES
        random.Random(1).shuffle(order)
        with WireClient(broker.bootstrap) as client:
            size = write(client, ((0, batch) for batch in order))
            changed = [
                AlterableConfig(name=name, config_operation=0, value=value)
                for name, value in (("cleanup.policy", "compact"), ("min.cleanable.dirty.ratio", "0.01"))
            ]
            resource = AlterConfigsResource(resource_type=OF_TOPIC, resource_name=TOPIC, configs=changed)
            client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
        cpu_s, memory, elapsed_s = watch(broker)
        left = sum(path.stat().st_size for path in (broker.log_dirs[0] / f"{TOPIC}-0").glob("*.log"))
        print(f"| {size / 1e6:.0f} MB to {left / 1e6:.0f} MB | {elapsed_s:.1f} s | {size / 1e6 / elapsed_s:.0f} MB/s"
              f" | {size / 1e6 / cpu_s:.0f} MB/s of processor time "
              f"| {memory / 2**20:.0f} MB resident at most |")  # fmt: skip


def watch(broker: BrokerProcess) -> tuple[float, int, float]:
    """(processor time, most memory, time) of the first compaction, from its start to its end."""
    ends = time.monotonic() + READY_S
    while not compactors(broker):
        assert time.monotonic() < ends, "the cleaner has not begun"
        time.sleep(LOOK_S)
    began_s, cpu_s, memory = time.monotonic(), 0.0, 0
    while running := compactors(broker):
        try:
            times = running[0].cpu_times()
            cpu_s, memory = times.user + times.system, max(memory, running[0].memory_info().rss)
        except psutil.NoSuchProcess:
            continue
        time.sleep(LOOK_S)
    return cpu_s, memory, time.monotonic() - began_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("recovery", "compaction"))
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka_py-upkeep-") as name:
        folder = Path(name)
        zookeeper = ZookeeperServer(folder / "zookeeper").start()
        try:
            zookeeper.wait_serving(60)
            if given.what == "recovery":
                recovery(folder, zookeeper.connect, given.gigabytes, given.partitions, given.threads)
            else:
                compaction(folder, zookeeper.connect, given.megabytes)
        finally:
            zookeeper.end()


if __name__ == "__main__":
    main()

"""Conversion between message formats: how fast one broker converts for an old consumer and for an old producer.

    python -m benchmarks.storage.conversion [--seconds S] [--records N] [--codecs none,lz4] [--rounds N] [--apache]

One connection writes batches of `--records` 100-byte records in format 1 (Produce v2) to a topic in format 2, then one
reads what is there in format 1 (Fetch v2), as fast as the broker answers; another connection asks for the API versions
every 5 ms, before and meanwhile. `--apache` does the same on Apache Kafka 2.8.2. Prints a table for people.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks import servers
from benchmarks.offsets import PROBE_S
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import outline, read_records
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.topics import create_topic
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

VALUE = b"x" * 66  # 100 bytes an entry
SETTINGS = {"log.retention.ms": "-1", "log.cleaner.enable": "false"}
SETTLE_S = 1.0


class Latencies(threading.Thread):
    """Asks every few milliseconds how long the broker keeps other clients waiting."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.took_ms: list[float] = []
        self._over = threading.Event()
        self._where = bootstrap

    def run(self) -> None:
        request = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
        with WireClient(self._where) as client:
            while not self._over.is_set():
                began = time.monotonic()
                client.ask(request, 3)
                self.took_ms.append((time.monotonic() - began) * 1000)
                time.sleep(PROBE_S)

    def finish(self) -> float:
        """The 99th percentile, in ms."""
        self._over.set()
        self.join()
        ordered = sorted(self.took_ms)
        return ordered[int(len(ordered) * 0.99)]


@dataclass
class Row:
    """One case of one server."""

    server: str
    case: str
    records: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    resident_mb: float = 0.0
    p99_ms: float = 0.0
    idle_p99_ms: float = field(default=0.0)

    def __str__(self) -> str:
        return (
            f"| {self.case} | {self.server} | {self.records / self.seconds:,.0f} | "
            f"{self.cpu_s / self.records * 1_000_000:.2f} | {self.resident_mb:.0f} | {self.idle_p99_ms:.1f} | "
            f"{self.p99_ms:.1f} |"
        )


def measured(server: servers.Server, case: str, seconds: float, step: Callable[[], int]) -> Row:
    """Repeats `step`, which returns how many records it has moved."""
    row = Row(server.name, case)
    bootstrap = f"127.0.0.1:{server.port}"
    idle = Latencies(bootstrap)
    idle.start()
    time.sleep(SETTLE_S)
    row.idle_p99_ms = idle.finish()
    step()
    latencies = Latencies(bootstrap)
    latencies.start()
    cpu, began = server.cpu_seconds(), time.monotonic()
    while (now := time.monotonic()) < began + seconds:
        row.records += step()
    row.seconds = now - began
    row.cpu_s = server.cpu_seconds() - cpu
    row.resident_mb = server.resident_mb()
    row.p99_ms = latencies.finish()
    return row


def producing(client: WireClient, topic: str, codec: Codec, records: int) -> Callable[[], int]:
    builder = LegacyBuilder(1, codec)
    now_ms = 1_700_000_000_000
    for number in range(records):
        builder.append(now_ms + number, None, VALUE)
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=builder.build())])
    request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data])

    def step() -> int:
        [row] = client.ask(request, 2).responses[0].partition_responses
        if row.error_code:
            raise AssertionError(f"produce failed with error {row.error_code}")
        return records

    return step


def fetching(client: WireClient, topic: str) -> Callable[[], int]:
    offset = 0

    def step() -> int:
        nonlocal offset
        asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=[asked])]
        )
        [row] = client.ask(request, 2).responses[0].partition_responses
        if row.error_code:
            raise AssertionError(f"fetch failed with error {row.error_code}")
        data = row.record_set or b""
        found = outline(data)
        if not found.entry_count:
            offset = 0
            return 0
        if found.magic != 1:
            raise AssertionError(f"the records have format {found.magic}")
        last = next_offset(data, found.size, found.codec_id) - 1
        count, offset = last + 1 - offset, last + 1
        return count

    return step


def next_offset(data: bytes, size: int, codec_id: int) -> int:
    """The offset behind the last whole entry."""
    pos = last = 0
    while pos < size:
        last = pos
        pos += 12 + int.from_bytes(data[pos + 8 : pos + 12], "big")
    if codec_id:
        return read_records(data, last)[-1].offset + 1
    return int.from_bytes(data[last : last + 8], "big") + 1


def run(server: servers.Server, options: argparse.Namespace) -> None:
    for codec in map(Codec.named, options.codecs.split(",")):
        topic = f"bench-conversion-{codec.label}"
        with WireClient(f"127.0.0.1:{server.port}", timeout_s=120) as client:
            create_topic([f"127.0.0.1:{server.port}"], topic)
            write = producing(client, topic, codec, options.records)
            read = fetching(client, topic)
            for _ in range(options.rounds):
                print(measured(server, f"produce v2, {codec.label}", options.seconds, write), flush=True)
            for _ in range(options.rounds):
                print(measured(server, f"fetch v2, {codec.label}", options.seconds, read), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--records", type=int, default=9_000, help="in one message set")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--codecs", default="none,lz4,gzip")
    parser.add_argument("--apache", action="store_true", help="the same on Apache Kafka 2.8.2")
    options = parser.parse_args()
    print("| case | server | records/s | CPU s/M records | MB resident | p99 idle, ms | p99 meanwhile, ms |")
    print("|---|---|---:|---:|---:|---:|---:|")
    servers.with_each(lambda server: run(server, options), SETTINGS, apache=options.apache)


if __name__ == "__main__":
    main()

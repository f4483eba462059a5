"""A compacted topic under random writes, changes of its message format and kills of its broker equals a map in memory.

One broker process with its cleaner at work. Every kill falls into a write of which nobody knows whether it counted; its
keys are written again afterwards. Apache's own kafka-dump-log.sh goes through every file at the end. With KAFKA_PY_LONG
in the environment there are 100 kills.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kafka_py.records.batch import decode_records, iter_headers, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import read_records
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

KILLS = 100 if "KAFKA_PY_LONG" in os.environ else 6
TOPIC, KEYS, MOST_WRITES, MOST_RECORDS = "compacted", 40, 60, 12
OF_TOPIC = 2
VERSIONS = ("0.9.0", "0.10.2", "2.8")
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
CONFIGS = {
    "cleanup.policy": "compact", "segment.bytes": "6000", "index.interval.bytes": "500", "segment.index.bytes": "10000",
    "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100", "file.delete.delay.ms": "100",
}  # fmt: skip
SETTINGS = {"log.cleaner.backoff.ms": "20", "zookeeper.session.timeout.ms": "1000"}
READY_S = 60.0

Rows = list[tuple[bytes, bytes | None]]


class Writer:
    """Writes batches of every format; knows the value that each key must have, and what may or may not have counted."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.expected: dict[bytes, bytes | None] = {}
        self.written = 0
        self.last_version = VERSIONS[-1]
        self.versions = {self.last_version}
        """Of the topic's format: a change takes effect soon after it is answered."""
        self.client: WireClient

    def rows(self, keys: list[bytes] | None = None) -> Rows:
        drawn = keys or [b"key-%d" % self.rng.randrange(KEYS) for _ in range(self.rng.randrange(1, MOST_RECORDS))]
        made: Rows = []
        for key in drawn:
            self.written += 1
            dies = self.rng.random() < 0.2
            made.append((key, None if dies else b"%d:" % self.written + self.rng.randbytes(self.rng.randrange(200))))
        return made

    def request(self, rows: Rows) -> tuple[ProduceRequest, int]:
        """The rows in one batch of any format and codec, and the version of the request."""
        magic = self.rng.randrange(3)
        knows_zstd = magic == 2 and self.versions == {VERSIONS[-1]}
        codec = self.rng.choice(list(Codec) if knows_zstd else OLD_CODECS)
        builder = BatchBuilder(codec) if magic == 2 else LegacyBuilder(magic, codec)
        for key, value in rows:
            builder.append(1_600_000_000_000 + self.written, key, value)
        data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=builder.build())])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        return request, (self.rng.choice((0, 1)), 2, 7)[magic]

    def write(self, keys: list[bytes] | None = None) -> None:
        rows = self.rows(keys)
        answer = self.client.ask(*self.request(rows))
        [row] = answer.responses[0].partition_responses
        assert row.error_code == 0
        self.expected.update(rows)

    def write_into(self, broker: BrokerProcess) -> list[bytes]:
        """A write during which the broker is killed; the keys of which the value is unknown then."""
        rows = self.rows()
        answered = self.client.begin(*self.request(rows))
        broker.kill()
        try:
            answered()
        except OSError:
            return list(dict(rows))
        self.expected.update(rows)
        return []

    def change_format(self) -> None:
        version = self.rng.choice(VERSIONS)
        change = AlterableConfig(name="message.format.version", config_operation=0, value=version)
        resource = AlterConfigsResource(resource_type=OF_TOPIC, resource_name=TOPIC, configs=[change])
        answer = self.client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
        assert [row.error_code for row in answer.responses] == [0]
        self.versions = {self.last_version, version}
        self.last_version = version


def stored(client: WireClient) -> Iterator[tuple[int, bytes, bytes | None]]:
    """(offset, key, value) of every record, checksums verified."""
    offset = 0
    while True:
        asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20,
            topics=[FetchTopic(topic=TOPIC, partitions=[asked])],
        )  # fmt: skip
        [row] = client.ask(request, 10).responses[0].partition_responses
        assert row.error_code == 0
        data = bytes(row.record_set or b"")
        reached = offset
        for position, header in iter_headers(data):
            verify_crc(data, position, header)
            rows = decode_records(data, position) if header.magic == 2 else read_records(data, position)
            yield from ((each.offset, each.key, each.value) for each in rows if each.offset >= offset)
            reached = header.last_offset + 1
        if reached == offset:
            return
        offset = reached


def living(values: Mapping[bytes, bytes | None]) -> dict[bytes, bytes]:
    return {key: value for key, value in values.items() if value is not None}


def cleaned_to(disk: Path) -> int:
    rows = [line.split() for line in (disk / "cleaner-offset-checkpoint").read_text().splitlines()[2:]]
    return next((int(offset) for topic, _, offset in rows if topic == TOPIC), -1)


def is_compacted(disk: Path) -> bool:
    bases = sorted(int(path.stem) for path in disk.glob(f"{TOPIC}-0/*.log"))
    return cleaned_to(disk) >= bases[-1] > 0


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.timeout(1800)
def test_a_compacted_topic_equals_a_map_through_kills_and_changes_of_its_format(apache_kafka, tmp_path, zk_chroot):
    seed = int(os.environ.get("KAFKA_PY_KILLS_SEED", random.randrange(10**9)))
    print(f"KAFKA_PY_KILLS_SEED={seed}")
    writer = Writer(seed)
    with BrokerProcess(tmp_path, zk_chroot, settings=SETTINGS) as broker:
        disk = broker.log_dirs[0]
        broker.create_topic(TOPIC, configs=CONFIGS)
        for kill in range(KILLS + 1):
            with WireClient(broker.bootstrap) as writer.client:
                found = {key: value for _, key, value in stored(writer.client)}
                assert living(found) == living(writer.expected), f"after kill {kill}"
                writer.change_format()
                for _ in range(writer.rng.randrange(5, MOST_WRITES)):
                    writer.write()
                unknown = writer.write_into(broker)
            broker.start()
            if unknown:
                with WireClient(broker.bootstrap) as writer.client:
                    writer.write(unknown)
        with WireClient(broker.bootstrap) as client:
            wait_until(lambda: is_compacted(disk), READY_S, "the cleaner")
            rows = list(stored(client))
        assert living({key: value for _, key, value in rows}) == living(writer.expected)
        assert [offset for offset, _, _ in rows] == sorted({offset for offset, _, _ in rows})
        assert len(rows) < writer.written / 4
        print(f"{KILLS} kills, {writer.written} records written, {len(rows)} left of {KEYS} keys")
        broker.stop()
    files = [path for path in sorted(disk.glob(f"{TOPIC}-0/*")) if path.suffix in (".log", ".index", ".timeindex")]
    result = apache_kafka.run("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(map(str, files)))
    assert result.exit_code == 0, result.stderr
    assert "isvalid: false" not in result.stdout
    assert [line for line in result.lines if "Mismatch" in line or "Found" in line or "not" in line.split()] == []

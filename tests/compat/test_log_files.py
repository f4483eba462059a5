"""The same appends to Apache's log and to ours leave the same files; Apache's dump tool finds no fault in ours.

Batches are built here, times included, and sent to an Apache broker as they are; our log gets copies. So all that is
not the wall clock's must be equal to the byte: data, offset and time indexes, transaction index, producer snapshots,
leader epochs, checkpoints.
"""

import bisect
import itertools
import json
import random
import re
import struct
import time
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.answers import Origin
from kafka_py.log.configs import LogConfig, LogOptions
from kafka_py.log.files import RealFiles
from kafka_py.log.log_dirs import LogDirs
from kafka_py.log.partition_log import PartitionLog
from kafka_py.log.producer_snapshots import decode_snapshot
from kafka_py.records.batch import iter_headers
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.testing.apache import ApacheBroker
from kafka_py.testing.wire_client import WireClient
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

START_MS = 1_700_000_000_000
SMALL_SEGMENTS = {"segment.bytes": "20000", "index.interval.bytes": "600", "segment.index.bytes": "1000"}
TOPICS = {
    "plain": SMALL_SEGMENTS,
    "dense": {"segment.bytes": "50000", "index.interval.bytes": "0"},
    "full-index": {"segment.bytes": "1000000", "index.interval.bytes": "0", "segment.index.bytes": "240"},
    "codecs": {},
    "idempotent": SMALL_SEGMENTS,
    "transactions": {"segment.bytes": "4000", "index.interval.bytes": "200"},
    "empty": {},
}
READY_S = 30
TIME_ENTRY = struct.Struct(">qi")


def batch(count: int, size: int, timestamp: int, *, codec: Codec = Codec.NONE, rng: random.Random, **fields) -> bytes:
    builder = BatchBuilder(codec, **fields)
    for number in range(count):
        key = None if rng.random() < 0.3 else b"key-%d" % rng.randrange(50)
        value = None if rng.random() < 0.05 else rng.randbytes(size // 2) + b"a" * (size - size // 2)
        headers = [("h", b"%d" % number), ("empty", None)] if rng.random() < 0.1 else []
        builder.append(timestamp + rng.randrange(20), key, value, headers)
    return builder.build()


class Twins:
    """An Apache broker and our log directory, fed alike."""

    def __init__(self, directory: Path, zookeeper_connect: str) -> None:
        self.zookeeper_connect = zookeeper_connect
        self.apache = ApacheBroker(directory / "apache", zookeeper_connect, settings={"log.retention.ms": "-1"})
        [self.their_log_dir] = self.apache.log_dirs
        self.our_log_dir = directory / "ours"
        self.leader_epoch = 0
        self._start_apache()
        answer = self.client.ask(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name, num_partitions=1, replication_factor=1,
                        configs=[CreateableTopicConfig(name=key, value=value) for key, value in configs.items()],
                    ) for name, configs in TOPICS.items()
                ], timeout_ms=30000,
            ), 5,
        )  # fmt: skip
        assert {topic.error_code for topic in answer.topics} == {0}, answer
        self._open_ours()
        for name in TOPICS:
            self._our_log(name)

    def _start_apache(self) -> None:
        self.apache.start()
        self.client = WireClient(self.apache.bootstrap)

    def _raise_leader_epoch(self) -> None:
        """A leader that comes back alone keeps its epoch; so the test plays the controller that elected it anew."""
        self.leader_epoch += 3
        zookeeper = KazooClient(self.zookeeper_connect)
        zookeeper.start()
        try:
            for topic in TOPICS:
                path = f"/brokers/topics/{topic}/partitions/0/state"
                state = json.loads(zookeeper.get(path)[0])
                zookeeper.set(path, json.dumps({**state, "leader_epoch": self.leader_epoch}).encode())
        finally:
            zookeeper.stop()
            zookeeper.close()

    def _open_ours(self) -> None:
        options = LogOptions.parse({"log.dirs": str(self.our_log_dir), "log.retention.ms": "-1"})
        self.ours = LogDirs(options, RealFiles(), SystemClock())
        self.ours.open()
        self.ours.load(lambda topic: LogConfig.for_topic(options, TOPICS[topic]))

    def _our_log(self, topic: str) -> PartitionLog:
        config = LogConfig.for_topic(self.ours.options, TOPICS[topic])
        log = self.ours.get_or_create(TopicPartition(topic, 0), config)
        log.assign_epoch(self.leader_epoch, log.log_end_offset)
        return log

    def _ask(self, request, version: int, result_of):
        """The one partition's result, asked again until the broker leads the partition."""
        deadline = time.monotonic() + READY_S
        while True:
            result = result_of(self.client.ask(request, version))
            if result.error_code not in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                assert result.error_code == 0, result
                return result
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def append(self, topic: str, records: bytes) -> None:
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
        request = ProduceRequest(transactional_id="any", acks=-1, timeout_ms=30000, topic_data=[data])
        result = self._ask(request, 8, lambda answer: answer.responses[0].partition_responses[0])
        log = self._our_log(topic)
        info = log.append_as_leader(memoryview(bytearray(records)), self.leader_epoch, START_MS)
        assert (info.first_offset, info.log_append_time) == (result.base_offset, result.log_append_time_ms)
        log.update_high_watermark(log.log_end_offset)

    def end_transaction(self, topic: str, producer_id: int, epoch: int, *, commit: bool) -> None:
        """Apache's leader makes the marker, with its time; ours gets the same bytes."""
        topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=[0])]
        marker = WritableTxnMarker(producer_id=producer_id, producer_epoch=epoch, transaction_result=commit,
                                   topics=topics, coordinator_epoch=3)  # fmt: skip
        request = WriteTxnMarkersRequest(markers=[marker])
        self._ask(request, 1, lambda answer: answer.markers[0].topics[0].partitions[0])
        log = self._our_log(topic)
        data = b"".join(path.read_bytes() for path in sorted((self.their_log_dir / f"{topic}-0").glob("*.log")))
        [(position, header)] = [found for found in iter_headers(data) if found[1].base_offset == log.log_end_offset]
        made = bytearray(data[position : position + header.size_bytes])
        made[0:8] = bytes(8)
        log.append_as_leader(memoryview(made), self.leader_epoch, START_MS, origin=Origin.COORDINATOR)
        log.update_high_watermark(log.log_end_offset)

    def restart(self) -> None:
        self.stop()
        self._raise_leader_epoch()
        self._start_apache()
        self._open_ours()
        for name in TOPICS:
            self._our_log(name)

    def stop(self) -> None:
        self.client.close()
        self.apache.stop()
        self.ours.shutdown()

    def files(self, pattern: str) -> list[tuple[Path, Path]]:
        """Pairs of Apache's and our path of every file that either has."""
        names = {str(path.relative_to(root)) for root in (self.their_log_dir, self.our_log_dir)
                 for path in root.glob(pattern)}  # fmt: skip
        return [(self.their_log_dir / name, self.our_log_dir / name) for name in sorted(names)]


def feed(twins: Twins, seed: int) -> None:
    """A few hundred appends of every kind to every topic."""
    rng = random.Random(seed)
    clock = itertools.count(START_MS + seed * 1_000_000, 7)
    for _ in range(60):
        # Times wander back now and then, as with several producers.
        timestamp = next(clock) - (500 if rng.random() < 0.2 else 0)
        twins.append("plain", batch(rng.randrange(1, 12), rng.randrange(10, 300), timestamp, rng=rng))
        twins.append("dense", batch(1, 100, timestamp, rng=rng))
        twins.append("full-index", batch(1, 20, timestamp, rng=rng))
    for codec in Codec:
        for count in (1, 50):
            twins.append("codecs", batch(count, 100, next(clock), codec=codec, rng=rng))
    sequences = {7001: 0, 7002: 0}
    for _ in range(60):
        producer_id, count = rng.choice([7001, 7002]), rng.randrange(1, 8)
        records = batch(count, 150, next(clock), rng=rng, producer_id=producer_id, producer_epoch=seed,
                        base_sequence=sequences[producer_id])  # fmt: skip
        twins.append("idempotent", records)
        if rng.random() < 0.2:
            twins.append("idempotent", records)  # a retry
        sequences[producer_id] += count
    for number in range(12):
        for producer_id in (8001, 8002):
            fields = {"producer_id": producer_id, "producer_epoch": 2 * seed, "transactional": True}
            for part in range(2):
                twins.append("transactions", batch(2, 60, next(clock), rng=rng, base_sequence=4 * number + 2 * part,
                                                   **fields))  # fmt: skip
        twins.append("transactions", batch(1, 60, next(clock), rng=rng))
        if number < 11:  # the last two stay open until after the restart
            twins.end_transaction("transactions", 8002, 2 * seed, commit=number % 3 != 0)
            twins.end_transaction("transactions", 8001, 2 * seed, commit=number % 2 == 0)


@pytest.fixture(scope="module")
def twins(apache_kafka, zookeeper, tmp_path_factory):
    """Fed, restarted, fed again, stopped cleanly."""
    made = Twins(tmp_path_factory.mktemp("twins"), f"{zookeeper.connect}/twins")
    try:
        feed(made, 0)
        made.restart()
        for producer_id in (8001, 8002):
            made.end_transaction("transactions", producer_id, 1, commit=False)
        feed(made, 1)
        made.stop()
        yield made
    finally:
        made.apache.kill()


@pytest.mark.parametrize("suffix", ["log", "index", "txnindex"])
def test_segment_files_are_equal_to_the_byte(twins, suffix):
    pairs = twins.files(f"*/*.{suffix}")
    assert len(pairs) > 5
    for theirs, ours in pairs:
        assert ours.read_bytes() == theirs.read_bytes(), theirs


def test_time_indexes_name_the_same_times_and_batches(twins):
    """A leader of Apache's decodes an uncompressed batch to name the record with the largest time stamp; ours names the
    batch's last record, as both do for compressed batches. Lookups start at the batch, so either finds the same."""
    pairs = twins.files("*/*.timeindex")
    assert len(pairs) > 10
    equal = 0
    for theirs, ours in pairs:
        ends = [header.last_offset for _, header in iter_headers(ours.with_suffix(".log").read_bytes())]
        base_offset = int(ours.stem)
        entries = []
        for path in (theirs, ours):
            data = path.read_bytes()
            assert len(data) % TIME_ENTRY.size == 0
            entries.append([
                (timestamp, bisect.bisect_left(ends, base_offset + relative))
                for timestamp, relative in TIME_ENTRY.iter_unpack(data)
            ])  # fmt: skip
        assert entries[1] == entries[0], theirs
        equal += theirs.read_bytes() == ours.read_bytes()
    assert equal > 5


def test_snapshots_hold_the_same_producers(twins):
    pairs = twins.files("*/*.snapshot")
    assert len(pairs) > 10
    for theirs, ours in pairs:
        their_entries, our_entries = (sorted(decode_snapshot(path.read_bytes()), key=lambda entry: entry[0])
                                      for path in (theirs, ours))  # fmt: skip
        assert [(number, vars_of(state)) for number, state in our_entries] == [
            (number, vars_of(state)) for number, state in their_entries
        ], theirs
        assert ours.stat().st_size == theirs.stat().st_size


def vars_of(producer) -> tuple:
    return (producer.epoch, list(producer.batches), producer.last_timestamp, producer.coordinator_epoch,
            producer.txn_first_offset)  # fmt: skip


def test_leader_epochs_are_equal_to_the_byte(twins):
    pairs = twins.files("*/leader-epoch-checkpoint")
    assert len(pairs) == len(TOPICS)
    for theirs, ours in pairs:
        assert ours.read_bytes() == theirs.read_bytes(), theirs


def test_checkpoints_say_the_same(twins):
    for theirs, ours in twins.files("*-checkpoint"):
        if not theirs.name.startswith("cleaner"):
            assert sorted(ours.read_text().splitlines()) == sorted(theirs.read_text().splitlines()), theirs.name


def test_there_are_no_other_files(twins):
    names = [{str(path.relative_to(root)) for path in root.rglob("*")}
             for root in (twins.their_log_dir, twins.our_log_dir)]  # fmt: skip
    # Apache 2.8.2 writes partition.metadata with the second LeaderAndIsr of a partition's leader only.
    differing = {name for name in names[0] ^ names[1] if not name.endswith("partition.metadata")}
    assert differing == {"meta.properties"}


DUMP_LOG = "kafka.tools.DumpLogSegments"
COMPLAINTS = re.compile("mismatch|non-consecutive|out of order|corrupt|exception|invalid bytes|isvalid: false", re.I)


def paths(root: Path, *suffixes: str) -> list[str]:
    return [str(path) for suffix in suffixes for path in sorted(root.glob(f"*/*.{suffix}"))]


def test_apaches_dump_tool_reads_our_records(twins, apache_kafka):
    logs = paths(twins.our_log_dir, "log")
    result = apache_kafka.run(DUMP_LOG, "--deep-iteration", "--files", ",".join(logs))
    assert (result.exit_code, result.stderr) == (0, "")
    assert not COMPLAINTS.search(result.stdout), COMPLAINTS.search(result.stdout)
    assert result.stdout.count("Dumping ") == len(logs)
    stored = [header for path in logs for _, header in iter_headers(Path(path).read_bytes())]
    assert result.stdout.count("\nbaseOffset: ") == len(stored)
    assert result.stdout.count("\n| offset: ") == sum(header.record_count for header in stored)


def test_apaches_dump_tool_finds_our_indexes_sane(twins, apache_kafka):
    indexes = paths(twins.our_log_dir, "index", "timeindex")
    result = apache_kafka.run(DUMP_LOG, "--index-sanity-check", "--files", ",".join(indexes))
    assert (result.exit_code, result.stderr) == (0, "")
    said = [line for line in result.lines if not line.startswith("Dumping ")]
    is_bare = {path: path.endswith(".index") and not Path(path).stat().st_size for path in indexes}
    assert said == [f"{path} is empty." if is_bare[path] else f"{path} passed sanity check." for path in indexes]


def test_apaches_dump_tool_verifies_our_indexes(twins, apache_kafka):
    indexes = paths(twins.our_log_dir, "index", "timeindex")
    result = apache_kafka.run(DUMP_LOG, "--verify-index-only", "--files", ",".join(indexes))
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line for line in result.lines if not line.endswith(" is empty.")] == [f"Dumping {path}" for path in indexes]


def test_apaches_dump_tool_prints_our_state_files_like_its_own(twins, apache_kafka):
    printed = []
    for root in (twins.their_log_dir, twins.our_log_dir):
        result = apache_kafka.run(DUMP_LOG, "--files", ",".join(paths(root, "snapshot", "txnindex", "index")))
        assert (result.exit_code, result.stderr) == (0, "")
        assert not COMPLAINTS.search(result.stdout)
        printed.append(sorted(result.stdout.replace(str(root), "").splitlines()))
    assert printed[1] == printed[0]
    assert any("currentTxnFirstOffset: Some(" in line for line in printed[1])
    assert any("lastStableOffset:" in line for line in printed[1])

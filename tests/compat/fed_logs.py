"""A few hundred appends of every kind, to a log directory of ours alone or to an Apache broker and ours alike.

Batches are built here, times included, so that two logs that get them must come to hold the same bytes.
"""

import itertools
import json
import random
import time
from pathlib import Path

from kazoo.client import KazooClient

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.files import RealFiles
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import iter_headers
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

START_MS = int(time.time() * 1000) - 3_600_000  # producers that were silent for a week would be forgotten on load
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
COORDINATOR_EPOCH = 3
READY_S = 30


def batch(count: int, size: int, timestamp: int, *, codec: Codec = Codec.NONE, rng: random.Random, **fields) -> bytes:
    builder = BatchBuilder(codec, **fields)
    for number in range(count):
        key = None if rng.random() < 0.3 else b"key-%d" % rng.randrange(50)
        value = None if rng.random() < 0.05 else rng.randbytes(size // 2) + b"a" * (size - size // 2)
        headers = [("h", b"%d" % number), ("empty", None)] if rng.random() < 0.1 else []
        builder.append(timestamp + rng.randrange(20), key, value, headers)
    return builder.build()


class OurLogs:
    """A log directory of ours, one partition a topic."""

    def __init__(self, directory: Path) -> None:
        self.our_log_dir = directory / "ours"
        self.leader_epoch = 0
        self._open()

    def _open(self) -> None:
        options = LogOptions.parse({"log.dirs": str(self.our_log_dir), "log.retention.ms": "-1"})
        self.ours = LogManager(options, RealFiles(), SystemClock(), Chance())
        self.ours.open()
        self.ours.load(lambda topic: LogConfig.for_topic(options, TOPICS[topic]))
        for topic in TOPICS:
            self.log(topic)

    def log(self, topic: str) -> PartitionLog:
        config = LogConfig.for_topic(self.ours.options, TOPICS[topic])
        log = self.ours.get_or_create(TopicPartition(topic, 0), config)
        log.assign_epoch(self.leader_epoch, log.log_end_offset)
        return log

    def append(self, topic: str, records: bytes) -> int:
        """The first offset."""
        return self.append_ours(topic, records, Origin.CLIENT)

    def append_ours(self, topic: str, records: bytes, origin: Origin) -> int:
        log = self.log(topic)
        info = log.append_as_leader(memoryview(bytearray(records)), self.leader_epoch, START_MS, origin=origin)
        log.update_high_watermark(log.log_end_offset)
        return info.first_offset

    def end_transaction(self, topic: str, producer_id: int, epoch: int, *, commit: bool) -> None:
        marker = end_txn_marker(
            ControlType.COMMIT if commit else ControlType.ABORT, producer_id=producer_id, producer_epoch=epoch,
            coordinator_epoch=COORDINATOR_EPOCH, timestamp=START_MS,
        )  # fmt: skip
        self.append_ours(topic, marker, Origin.COORDINATOR)

    def restart(self) -> None:
        """Under a new leader epoch."""
        self.stop()
        self.leader_epoch += 3
        self._open()

    def stop(self) -> None:
        self.ours.shutdown()


class Twins(OurLogs):
    """An Apache broker beside it, fed alike."""

    def __init__(self, directory: Path, zookeeper_connect: str) -> None:
        self.zookeeper_connect = zookeeper_connect
        self.apache = ApacheBroker(directory / "apache", zookeeper_connect, settings={"log.retention.ms": "-1"})
        [self.their_log_dir] = self.apache.log_dirs
        self._start_apache()
        answer = self.client.ask(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name, num_partitions=1, replication_factor=1, assignments=[],
                        configs=[CreateableTopicConfig(name=key, value=value) for key, value in configs.items()],
                    ) for name, configs in TOPICS.items()
                ], timeout_ms=30000,
            ), 5,
        )  # fmt: skip
        assert {topic.error_code for topic in answer.topics} == {0}, answer
        super().__init__(directory)

    def _start_apache(self) -> None:
        self.apache.start()
        self.client = WireClient(self.apache.bootstrap)

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

    def append(self, topic: str, records: bytes) -> int:
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
        request = ProduceRequest(transactional_id="any", acks=-1, timeout_ms=30000, topic_data=[data])
        theirs = self._ask(request, 8, lambda answer: answer.responses[0].partition_responses[0]).base_offset
        assert super().append(topic, records) == theirs
        return theirs

    def end_transaction(self, topic: str, producer_id: int, epoch: int, *, commit: bool) -> None:
        """Apache's leader makes the marker, with its time; ours gets the same bytes."""
        topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=[0])]
        marker = WritableTxnMarker(producer_id=producer_id, producer_epoch=epoch, transaction_result=commit,
                                   topics=topics, coordinator_epoch=COORDINATOR_EPOCH)  # fmt: skip
        request = WriteTxnMarkersRequest(markers=[marker])
        self._ask(request, 1, lambda answer: answer.markers[0].topics[0].partitions[0])
        end_offset = self.log(topic).log_end_offset
        data = b"".join(path.read_bytes() for path in sorted((self.their_log_dir / f"{topic}-0").glob("*.log")))
        [(position, header)] = [found for found in iter_headers(data) if found[1].base_offset == end_offset]
        self.append_ours(topic, bytes(8) + data[position + 8 : position + header.size_bytes], Origin.COORDINATOR)

    def restart(self) -> None:
        super().restart()
        self._raise_leader_epoch()
        self._start_apache()

    def _raise_leader_epoch(self) -> None:
        """A leader that comes back alone keeps its epoch; so the test plays the controller that elected it anew."""
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

    def stop(self) -> None:
        self.client.close()
        self.apache.stop()
        super().stop()

    def files(self, pattern: str) -> list[tuple[Path, Path]]:
        """Pairs of Apache's and our path of every file that either has."""
        roots = (self.their_log_dir, self.our_log_dir)
        names = {str(path.relative_to(root)) for root in roots for path in root.glob(pattern)}
        return [(self.their_log_dir / name, self.our_log_dir / name) for name in sorted(names)]


def feed(logs: OurLogs) -> None:
    """Fed, restarted, fed again, stopped cleanly; transactions and sequences go on over the restart."""
    _feed_once(logs, 0)
    logs.restart()
    logs.append("idempotent", batch(2, 50, START_MS, rng=random.Random(2), producer_id=7003, producer_epoch=0,
                                    base_sequence=2))  # fmt: skip
    for producer_id in (8001, 8002):
        logs.end_transaction("transactions", producer_id, 1, commit=False)
    _feed_once(logs, 1)
    logs.stop()


def _feed_once(logs: OurLogs, seed: int) -> None:
    rng = random.Random(seed)
    clock = itertools.count(START_MS + seed * 1_000_000, 7)
    for _ in range(60):
        # Times wander back now and then, as with several producers.
        timestamp = next(clock) - (500 if rng.random() < 0.2 else 0)
        logs.append("plain", batch(rng.randrange(1, 12), rng.randrange(10, 300), timestamp, rng=rng))
        logs.append("dense", batch(1, 100, timestamp, rng=rng))
        logs.append("full-index", batch(1, 20, timestamp, rng=rng))
    for codec in Codec:
        for count in (1, 50):
            logs.append("codecs", batch(count, 100, next(clock), codec=codec, rng=rng))
    _feed_idempotent(logs, seed, rng, clock)
    _feed_transactions(logs, seed, rng, clock)


def _feed_idempotent(logs: OurLogs, seed: int, rng: random.Random, clock) -> None:
    sequences = {7001: 0, 7002: 0}
    for _ in range(60):
        producer_id, count = rng.choice([7001, 7002]), rng.randrange(1, 8)
        records = batch(count, 150, next(clock), rng=rng, producer_id=producer_id, producer_epoch=seed,
                        base_sequence=sequences[producer_id])  # fmt: skip
        logs.append("idempotent", records)
        if rng.random() < 0.2:
            logs.append("idempotent", records)  # a retry
        sequences[producer_id] += count
    if not seed:
        logs.append("idempotent", batch(2, 50, next(clock), rng=rng, producer_id=7003, producer_epoch=0,
                                        base_sequence=0))  # fmt: skip


def _feed_transactions(logs: OurLogs, seed: int, rng: random.Random, clock) -> None:
    for number in range(12):
        for producer_id in (8001, 8002):
            for part in range(2):
                logs.append("transactions", batch(2, 60, next(clock), rng=rng, producer_id=producer_id,
                                                  producer_epoch=2 * seed, transactional=True,
                                                  base_sequence=4 * number + 2 * part))  # fmt: skip
        logs.append("transactions", batch(1, 60, next(clock), rng=rng))
        if number < 11:  # the last two stay open until after the restart, or for good
            logs.end_transaction("transactions", 8002, 2 * seed, commit=number % 3 != 0)
            logs.end_transaction("transactions", 8001, 2 * seed, commit=number % 2 == 0)

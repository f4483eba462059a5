"""A log directory goes from Apache's broker to ours and back; every reader sees the same records on both.

The same ZooKeeper, port, broker id and folders all along; only the software changes, after clean stops and after
kill -9.
"""

import random
import re
import time

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.records.batch import iter_headers
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.peers.java_clients import ToSend
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PRODUCER_ID = 4242
CODECS = tuple(codec.name.lower() for codec in Codec)
SMALL = {"segment.bytes": "30000", "index.interval.bytes": "1000", "retention.ms": "-1"}
"""The records are years old, and on a slow machine a broker runs long enough for its first retention pass."""
TOPICS = {f"of-{codec}": SMALL for codec in CODECS} | {
    "append-time": SMALL | {"message.timestamp.type": "LogAppendTime"},
    "transactional": SMALL,
    "idempotent": SMALL,
}
PARTITIONS = [f"{topic}:{partition}" for topic in TOPICS for partition in range(2)]
READY_S = 30


class Journey:
    """One directory and the broker that has it at the moment."""

    def __init__(self, apache_kafka, folder, zookeeper_connect):
        self.jars = apache_kafka
        log_dirs = [folder / "disk1", folder / "disk2"]
        settings = {"num.recovery.threads.per.data.dir": "2", "zookeeper.session.timeout.ms": "4000"}
        self.apache = ApacheBroker(folder / "apache", zookeeper_connect, broker_id=7, log_dirs=log_dirs,
                                   settings=settings)  # fmt: skip
        self.ours = BrokerProcess(folder / "ours", zookeeper_connect, broker_id=7, log_dirs=log_dirs,
                                  settings=settings)  # fmt: skip
        self.ours.port = self.apache.port
        self.ours.properties["listeners"] = self.apache.properties["listeners"]
        self.bootstrap = self.apache.bootstrap
        self.sequence = 0
        self.sent = 0
        self.running = self.apache

    def start(self, broker):
        self.running = broker
        broker.start()

    def stop(self, how):
        """how: stop, or kill with a torn end."""
        getattr(self.running, how)()
        if how == "kill":
            self.tear()

    def create_topics(self, wanted, partitions=2):
        topics = [
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1,
                           configs=[CreateableTopicConfig(name=key, value=value) for key, value in configs.items()])
            for name, configs in wanted.items()
        ]  # fmt: skip
        with WireClient(self.bootstrap) as client:
            answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=30000), 5)
        assert {topic.error_code for topic in answer.topics} == {0}, answer

    def write(self):
        """Some of everything, with the Java producer and by hand."""
        rng = random.Random(self.sent)
        for codec in CODECS:
            java_clients.produce(self.jars, self.bootstrap, self._records(f"of-{codec}", rng), compression_type=codec,
                                 linger_ms=10, enable_idempotence=True, max_in_flight_requests_per_connection=5,
                                 retries=10)  # fmt: skip
        java_clients.produce(self.jars, self.bootstrap, self._records("append-time", rng), compression_type="lz4")
        script = []
        for number in range(6):
            script += ["begin", *self._records("transactional", rng, 10), "flush", "abort" if number % 3 else "commit"]
        java_clients.produce(self.jars, self.bootstrap, script, transactional_id="journey")
        for _ in range(10):
            assert self.append_idempotent(3).error_code == 0
        left_open = {"producer_id": PRODUCER_ID + 1, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        assert self._append("transactional", 4, **left_open).error_code == 0

    def write_more(self):
        for codec in ("none", "zstd"):
            records = self._records(f"of-{codec}", random.Random(self.sent))
            java_clients.produce(self.jars, self.bootstrap, records, compression_type=codec)

    def _records(self, topic, rng, count=300):
        base = 1_700_000_000_000
        for _ in range(count):
            self.sent += 1
            key = None if rng.random() < 0.3 else b"key-%d" % rng.randrange(40)
            value = None if rng.random() < 0.05 else rng.randbytes(rng.randrange(100)) + b"x" * rng.randrange(200)
            headers = (("trace", b"%d" % self.sent), ("none", None)) if rng.random() < 0.2 else ()
            yield ToSend(topic, rng.randrange(2), key, value, headers, base + self.sent)

    def append_idempotent(self, count, *, sequence=None):
        """One batch of a producer that lives through all changes; the partition's answer."""
        at = self.sequence if sequence is None else sequence
        result = self._append("idempotent", count, producer_id=PRODUCER_ID, producer_epoch=0, base_sequence=at)
        if result.error_code == 0 and sequence is None:
            self.sequence += count
        return result

    def _append(self, topic, count, **fields):
        """A batch made here, to partition 0; asked again until the broker leads the partition."""
        builder = BatchBuilder(**fields)
        now_ms = int(time.time() * 1000)  # a producer whose last time stamp is days ago is forgotten on load
        for number in range(count):
            builder.append(now_ms, None, b"%d" % number)
        partition = PartitionProduceData(index=0, records=builder.build())
        data = TopicProduceData(name=topic, partition_data=[partition])
        request = ProduceRequest(transactional_id="any", acks=-1, timeout_ms=10000, topic_data=[data])
        deadline = time.monotonic() + READY_S
        with WireClient(self.bootstrap) as client:
            while True:
                [result] = client.ask(request, 8).responses[0].partition_responses
                if result.error_code not in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                    return result
                assert time.monotonic() < deadline
                time.sleep(0.02)

    def read(self):
        """Everything; and what of the transactions is committed."""
        everything = java_clients.consume(self.jars, self.bootstrap, PARTITIONS, isolation_level="read_uncommitted")
        committed = java_clients.consume(self.jars, self.bootstrap, ["transactional:0", "transactional:1"],
                                         isolation_level="read_committed")  # fmt: skip
        return everything, committed

    def tear(self):
        """What a power failure may leave at the end of files that were being written."""
        tails = {
            "of-none-0": b"\0" * 200,
            "of-snappy-0": b"\xff" * 90,
            "of-gzip-0": self._torn("of-gzip-0"),
            "of-lz4-0": self._spoilt("of-lz4-0"),
            "idempotent-0": b"\0\0\0",
        }
        for partition, tail in tails.items():
            with open(self._logs(partition)[-1], "ab") as log:
                log.write(tail)

    def _logs(self, partition):
        return self.files(f"{partition}/*.log")

    def files(self, pattern):
        return sorted(path for disk in self.ours.log_dirs for path in disk.glob(pattern))

    def _torn(self, partition):
        """A batch without its end."""
        data = self._logs(partition)[0].read_bytes()
        [(_, header), *_] = iter_headers(data)
        return data[: header.size_bytes - 10]

    def _spoilt(self, partition):
        """The next batch of the partition, with one bit flipped."""
        data = bytearray(b"".join(path.read_bytes() for path in self._logs(partition)))
        headers = list(iter_headers(data))
        position, header = headers[0]
        batch = data[position : position + header.size_bytes]
        batch[:8] = headers[-1][1].next_offset.to_bytes(8, "big")
        batch[70] ^= 1
        return bytes(batch)

    def verify_indexes(self):
        """Apache's dump tool holds offset indexes against their logs; it faults time indexes of its own broker."""
        indexes = [str(path) for path in self.files("*/*.index")]
        result = self.jars.run("kafka.tools.DumpLogSegments", "--verify-index-only", "--files", ",".join(indexes))
        assert (result.exit_code, result.stderr) == (0, "")
        assert {line.split()[0] for line in result.lines if not line.endswith(" is empty.")} == {"Dumping"}

    def complaints(self):
        """What Apache's broker found wrong, but for the append that it was to refuse."""
        found = [line for line in self.apache.output().splitlines() if re.search(r"\b(WARN|ERROR|FATAL)\b", line)]
        return [line for line in found if "Error processing append operation" not in line]

    def check_producer_state(self):
        """The broker that took over knows the producer: it refuses a gap, and tells a repeat from news."""
        last = self.sequence - 3
        repeated = self.append_idempotent(3, sequence=last)
        assert repeated.error_code == 0
        assert repeated.base_offset == last
        gap = self.append_idempotent(1, sequence=self.sequence + 5)
        assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert self.append_idempotent(3).base_offset == last + 3


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["stop", pytest.param("kill", marks=pytest.mark.core)])
def test_a_directory_goes_to_our_broker_and_back(apache_kafka, zk_chroot, tmp_path, how):
    journey = Journey(apache_kafka, tmp_path, zk_chroot)
    try:
        journey.start(journey.apache)
        journey.create_topics(TOPICS)
        journey.write()
        written = journey.read()
        journey.stop(how)

        journey.start(journey.ours)
        assert journey.read() == written
        journey.check_producer_state()
        journey.write_more()
        written = journey.read()
        journey.stop(how)
        if how == "stop":
            journey.verify_indexes()

        journey.start(journey.apache)
        assert journey.read() == written
        journey.check_producer_state()
        if how == "stop":
            assert journey.complaints() == []
        journey.stop("stop")
    finally:
        journey.apache.kill()
        journey.ours.kill()


REWORKED = {
    "compacted": {"cleanup.policy": "compact", "segment.bytes": "4000", "min.cleanable.dirty.ratio": "0.01"},
    "trimmed": {"segment.bytes": "4000"},
    "preallocated": {"preallocate": "true", "segment.bytes": "100000"},
    "recompressed": {"compression.type": "gzip", "segment.bytes": "4000"},
}


def trim_and_delete(journey):
    """Moves the start of one topic and deletes another one."""
    with WireClient(journey.bootstrap) as client:
        trimmed = DeleteRecordsTopic(name="trimmed", partitions=[DeleteRecordsPartition(partition_index=0, offset=123)])
        answer = client.ask(DeleteRecordsRequest(topics=[trimmed], timeout_ms=10000), 2)
        assert answer.topics[0].partitions[0].low_watermark == 123
        answer = client.ask(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=10000), 3)
        assert answer.responses[0].error_code == 0


def wait_until_compacted(journey):
    """Until the cleaner has been through all but the active segment."""

    def is_clean():
        said = "".join(path.read_text() for path in journey.files("cleaner-offset-checkpoint"))
        return f"compacted 0 {int(journey.files('compacted-0/*.log')[-1].stem)}\n" in said

    wait_until(is_clean, READY_S, "compaction")


def wait_until_checkpointed(journey):
    """Until the trimmed log's start is on disk, which Apache's broker writes after half a minute at the earliest."""
    said = "trimmed 0 123"
    wait_until(lambda: any(said in path.read_text() for path in journey.files("log-start-offset-checkpoint")), 40, said)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", [pytest.param("stop", marks=pytest.mark.core), "kill"])
def test_what_apache_compacted_trimmed_and_deleted_is_so_with_us(apache_kafka, zk_chroot, tmp_path, how):
    journey = Journey(apache_kafka, tmp_path, zk_chroot)
    journey.apache.properties["log.cleaner.backoff.ms"] = "50"
    journey.apache.properties["log.flush.start.offset.checkpoint.interval.ms"] = "500"

    def write(count):
        records = [ToSend(topic, 0, b"%d" % (number % 7), b"value %d" % number) for number in range(count)
                   for topic in REWORKED]  # fmt: skip
        java_clients.produce(apache_kafka, journey.bootstrap, records, batch_size=300)

    def read():
        return java_clients.consume(apache_kafka, journey.bootstrap, [f"{topic}:0" for topic in REWORKED])

    try:
        journey.start(journey.apache)
        journey.create_topics(REWORKED | {"gone": {}}, partitions=1)
        write(400)
        trim_and_delete(journey)
        wait_until_compacted(journey)
        if how == "kill":
            wait_until_checkpointed(journey)
        written = read()
        offsets = {topic: [record.offset for record in written if record.topic == topic] for topic in REWORKED}
        assert len(offsets["compacted"]) < 400
        assert offsets["trimmed"] == list(range(123, 400))
        getattr(journey.apache, how)()

        journey.start(journey.ours)
        assert read() == written
        write(5)
        written = read()
        getattr(journey.ours, how)()

        journey.start(journey.apache)
        found = read()
        untouched = [record for record in written if record.topic != "compacted"]
        assert [record for record in found if record.topic != "compacted"] == untouched
        # Its cleaner goes on where it was; what it keeps are records as they were.
        assert set(found) <= set(written)
        assert {record.key for record in found} == {record.key for record in written}
        journey.stop("stop")
    finally:
        journey.apache.kill()
        journey.ours.kill()

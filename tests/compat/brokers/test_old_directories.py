"""A directory that Apache Kafka 0.10.2.2 has written, in log format 0.9 or 0.10, opens in our broker and goes back.

The same ZooKeeper, port, broker id and folder all along; only the software changes. Formats 0 and 1 are all that the
old broker can read, so all that ours appends in between has to be in the topics' format.
"""

import random
import time

import pytest
from old_broker import OldBroker

from kafka_py.base.errors import ErrorCode
from kafka_py.records.batch import iter_headers
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import LEAST_CLEANER_BYTES
from kafka_py.testing.peers.java_clients import ToSend
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

CODECS = {codec.name.lower(): codec for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)}
SMALL = {"segment.bytes": "4000", "index.interval.bytes": "500", "retention.ms": "-1"}
TOPICS = {f"of-{codec}": SMALL for codec in CODECS} | {
    "append-time": SMALL | {"message.timestamp.type": "LogAppendTime"},
    "compacted": SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
}
PARTITIONS = [f"{topic}:0" for topic in TOPICS if topic != "compacted"]
GROUP = "old-group"
KEYS = 20
READY_S = 60


class Journey:
    """One directory and the broker that has it at the moment. version: of the log format."""

    def __init__(self, jars, folder, zookeeper_connect, version):
        self.jars, self.magic = jars, 0 if version.startswith("0.9") else 1
        log_dirs = [folder / "disk"]
        settings = {"log.message.format.version": version, "inter.broker.protocol.version": "0.10.2",
                    "log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES, "log.cleaner.backoff.ms": "200",
                    "zookeeper.session.timeout.ms": "2000"}  # fmt: skip
        self.old = OldBroker(folder / "old", zookeeper_connect, broker_id=7, log_dirs=log_dirs, settings=settings)
        self.ours = BrokerProcess(folder / "ours", zookeeper_connect, broker_id=7, log_dirs=log_dirs,
                                  settings=settings)  # fmt: skip
        self.ours.port = self.old.port
        self.ours.properties["listeners"] = self.old.properties["listeners"]
        self.bootstrap = self.old.bootstrap
        self.sent = 0
        self.values = {}
        self.committed = 0
        self.times = {}

    def create_topics(self):
        topics = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1,
                           configs=[CreateableTopicConfig(name=key, value=value) for key, value in configs.items()])
            for name, configs in TOPICS.items()
        ]  # fmt: skip
        with WireClient(self.bootstrap) as client:
            answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=30000), 0)
        assert {topic.error_code for topic in answer.topics} == {0}, answer

    def write(self):
        """Message sets as producers of 0.9 and 0.10 send them, with every codec, and a commit."""
        rng = random.Random(self.sent)
        base = 1_500_000_000_000
        for _ in range(8):
            for name, codec in CODECS.items():
                self._append(f"of-{name}", codec, [(None, rng.randbytes(rng.randrange(200))) for _ in range(9)], base)
            self._append("append-time", Codec.GZIP, [(b"k", b"v" * 100)] * 5, base)
            for codec in CODECS.values():
                rows = []
                for _ in range(6):
                    key = b"key-%d" % rng.randrange(KEYS)
                    self.values[key] = None if rng.random() < 0.2 else b"%d" % rng.randrange(10_000) * 20
                    rows.append((key, self.values[key]))
                self._append("compacted", codec, rows, base)
        self.commit()

    def _append(self, topic, codec, rows, base):
        builder = LegacyBuilder(self.magic, codec)
        for key, value in rows:
            self.sent += 1
            builder.append(base + self.sent, key, value)
        partition = PartitionProduceData(index=0, records=builder.build())
        data = TopicProduceData(name=topic, partition_data=[partition])
        request = ProduceRequest(acks=-1, timeout_ms=10000, topic_data=[data])
        [result] = self._ask(request, 2, lambda answer: answer.responses[0].partition_responses)
        assert result.error_code == 0, result
        self.times[topic, result.base_offset + len(rows) - 1] = base + self.sent

    def _ask(self, request, version, rows_of):
        """The rows of an answer; asked again while the broker does not lead yet."""
        again = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_COORDINATOR,
                 ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)  # fmt: skip
        deadline = time.monotonic() + READY_S
        with WireClient(self.bootstrap) as client:
            while True:
                rows = rows_of(client.ask(request, version))
                if all(row.error_code not in again for row in rows):
                    return rows
                assert time.monotonic() < deadline, rows
                time.sleep(0.05)

    def commit(self):
        self._ask(FindCoordinatorRequest(key=GROUP), 0, lambda answer: [answer])
        self.committed += 10
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=self.committed,
                                                 committed_metadata="m")  # fmt: skip
        topic = OffsetCommitRequestTopic(name="of-gzip", partitions=[partition])
        request = OffsetCommitRequest(group_id=GROUP, member_id="", topics=[topic])
        [result] = self._ask(request, 2, lambda answer: answer.topics[0].partitions)
        assert result.error_code == 0

    def check_commit(self):
        """The commit of the broker before is known."""
        self._ask(FindCoordinatorRequest(key=GROUP), 0, lambda answer: [answer])
        topic = OffsetFetchRequestTopic(name="of-gzip", partition_indexes=[0])
        request = OffsetFetchRequest(group_id=GROUP, topics=[topic])
        [result] = self._ask(request, 1, lambda answer: answer.topics[0].partitions)
        assert (result.committed_offset, result.metadata) == (self.committed, "m")

    def read(self):
        return java_clients.consume(self.jars, self.bootstrap, PARTITIONS)

    def check_compacted(self):
        found = {}
        for record in java_clients.consume(self.jars, self.bootstrap, ["compacted:0"]):
            found[record.key] = record.value
        wanted = {key: value for key, value in self.values.items() if value is not None}
        assert {key: value for key, value in found.items() if value is not None} == wanted

    def check_times(self):
        """Of each set the time of its last record leads to that record, inside wrappers too."""
        if not self.magic:
            return
        for topic in ("of-none", "of-lz4"):
            (one, offset), timestamp = max((key, time) for key, time in self.times.items() if key[0] == topic)
            found = java_clients.consume(self.jars, self.bootstrap, [f"{one}:0:{timestamp}"])
            assert found[0].offset == offset

    def formats(self):
        """The formats of all batches on disk."""
        return {
            header.magic
            for path in self.ours.log_dirs[0].glob("*/*.log")
            for _, header in iter_headers(path.read_bytes())
        }

    def wait_until_compacted(self):
        def is_clean():
            checkpoint = self.ours.log_dirs[0] / "cleaner-offset-checkpoint"
            active = max(self.ours.log_dirs[0].glob("compacted-0/*.log"))
            return checkpoint.exists() and f"compacted 0 {int(active.stem)}\n" in checkpoint.read_text()

        wait_until(is_clean, READY_S, "compaction")


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("version", ["0.9.0", "0.10.2"])
def test_a_directory_of_an_old_cluster_opens_in_our_broker_and_goes_back(
    apache_kafka, zk_chroot, tmp_path, version, how
):
    journey = Journey(apache_kafka, tmp_path, zk_chroot, version)
    try:
        journey.old.start()
        journey.create_topics()
        journey.write()
        written = journey.read()
        assert len(written) == 8 * (4 * 9 + 5)
        getattr(journey.old, how)()

        journey.ours.start()
        assert journey.read() == written
        journey.check_commit()
        journey.check_compacted()
        journey.check_times()
        journey.write()
        java_clients.produce(journey.jars, journey.bootstrap,
                             [ToSend("of-gzip", 0, None, b"%d" % number) for number in range(30)],
                             compression_type="gzip")  # fmt: skip
        written = journey.read()
        journey.check_times()
        journey.wait_until_compacted()
        journey.check_compacted()
        getattr(journey.ours, how)()
        assert journey.formats() == {journey.magic}

        journey.old.start()
        assert journey.read() == written
        journey.check_commit()
        journey.check_compacted()
        journey.check_times()
        journey.write()
        if how == "stop":
            errors = [line for line in journey.old.output().splitlines() if "ERROR" in line]
            assert [line for line in errors if "(kafka.log" in line] == []
        journey.old.stop()
    finally:
        journey.old.kill()
        journey.ours.kill()

"""Work beside a load while a cluster is in trouble: a compacted topic, a consumer group, an administrator.

Each is a thread that starts when it is made and ends with `stop`. What fails because the cluster is in trouble is
counted and tried again; what must hold in the end is asserted by `finish`. Blocking; needs confluent-kafka.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients import Consumer
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.clients.admin.resources import AlterConfig, AlterOperation, ConfigResource, ConfigResourceType
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.clients.errors import ClientTimeout
from kafka_py.records.batch import decode_records, iter_headers
from kafka_py.testing.peers.load import end_producer
from kafka_py.testing.processes import wait_until

TIMEOUT_S = 120.0
_PRODUCER = {
    "enable.idempotence": True, "acks": "all", "linger.ms": 5, "delivery.timeout.ms": 300_000,
    "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50,
}  # fmt: skip

Values = dict[bytes, bytes]


class SideWork:
    """A thread that repeats `step` every `pause_s` seconds until it is stopped."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._end = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=type(self).__name__)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._end.wait(self._pause_s):
                self.step()
        except BaseException as error:
            self._failure = error

    def step(self) -> None:
        raise AssertionError("each kind of work says what one step is")

    def check(self) -> None:
        """Raises what the thread failed with, if it did."""
        if self._failure is not None:
            raise self._failure

    def pause(self) -> None:
        """Ends the thread; raises what it failed with."""
        self._end.set()
        self._thread.join(TIMEOUT_S)
        self.check()

    def stop(self) -> None:
        """Ends the thread and the clients; never raises."""
        self._end.set()
        self._thread.join(TIMEOUT_S)
        self.close()

    def close(self) -> None:
        """Ends the clients."""
        raise AssertionError("each kind of work says what its clients are")


class Changelog(SideWork):
    """Writes keys, values and tombstones to partition 0 of a compacted topic, and knows what must be left of them.

    One idempotent producer with acks=all writes in one order, so once everything is acknowledged the last value of each
    key is certain, and a key that was deleted last must be gone.
    """

    KEYS = 100

    def __init__(self, bootstrap: str, topic: str, seed: int) -> None:
        super().__init__(0.05)
        self.topic = topic
        self.expected: Values = {}
        self.failed: list[str] = []
        self._bootstrap = bootstrap
        self._draw = random.Random(seed)
        self._written = 0
        settings = {"bootstrap.servers": bootstrap, "batch.size": 30_000, **_PRODUCER}  # below any segment.bytes
        self._producer = confluent_kafka.Producer(settings)
        self.start()

    def step(self) -> None:
        for _ in range(10):
            key = b"key%d" % self._draw.randrange(self.KEYS)
            value = None if self._draw.random() < 0.3 else b"%d " % self._written * 20
            self._producer.produce(self.topic, key=key, value=value, partition=0, on_delivery=self._delivered)
            self._written += 1
            if value is None:
                self.expected.pop(key, None)
            else:
                self.expected[key] = value
        self._producer.poll(0)

    def _delivered(self, error: object, _message: object) -> None:
        if error is not None:
            self.failed.append(str(error))

    def finish(self) -> None:
        """Sends nothing more and waits until all is acknowledged; then what a consumer reads is compared."""
        self.pause()
        assert self._producer.flush(TIMEOUT_S) == 0
        assert self.failed == []
        assert self._read() == self.expected

    def close(self) -> None:
        end_producer(self._producer)

    def _read(self) -> Values:
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self._bootstrap, "group.id": "unused", "enable.auto.commit": False,
            "enable.partition.eof": True, "check.crcs": True, "auto.offset.reset": "error",
        })  # fmt: skip
        found: Values = {}
        try:
            beginning = confluent_kafka.OFFSET_BEGINNING
            consumer.assign([confluent_kafka.TopicPartition(self.topic, 0, beginning)])
            while True:
                record = consumer.poll(TIMEOUT_S)
                assert record is not None, "the changelog could not be read to its end"
                error = record.error()
                if error is not None:
                    assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                    return found
                _take(found, record.key(), record.value())
        finally:
            consumer.close()

    def verify_files(self, directory: Path) -> None:
        """Asserts that the segments of a stopped broker's replica say the same."""
        found: Values = {}
        for path in sorted(directory.glob("*.log")):
            content = path.read_bytes()
            for position, header in iter_headers(content):
                for record in decode_records(content, position, header=header):
                    _take(found, record.key, record.value)
        extra, missing = found.keys() - self.expected.keys(), self.expected.keys() - found.keys()
        assert (sorted(extra), sorted(missing)) == ([], []), f"{directory}: deleted keys returned, or keys were lost"
        assert found == self.expected


def _take(found: Values, key: bytes | None, value: bytes | None) -> None:
    assert key is not None
    if value is None:
        found.pop(key, None)
    else:
        found[key] = value


class GroupWork(SideWork):
    """A slow load and a consumer group of both makes that reads it; members leave and come back.

    With automatic commits nothing may be skipped: in the end each number was handed to some member.
    """

    PER_STEP = 5

    def __init__(self, bootstrap: str, topic: str, partitions: int, seed: int) -> None:
        super().__init__(0.05)
        self._bootstrap, self._topic, self._partitions = bootstrap, topic, partitions
        self._sent = 0
        self._acknowledged = 0
        self._received: set[int] = set()
        self._producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **_PRODUCER})
        kinds: list[type[_OurMember] | type[_ConfluentMember]] = [_OurMember, _OurMember, _ConfluentMember]
        self._members = [
            _WorkingMember(kind, bootstrap, topic, seed + number, self._received) for number, kind in enumerate(kinds)
        ]
        self.start()

    def step(self) -> None:
        for _ in range(self.PER_STEP):
            number = self._sent
            self._producer.produce(
                self._topic, value=b"%d" % number, partition=number % self._partitions, on_delivery=self._delivered
            )
            self._sent += 1
        self._producer.poll(0)

    def _delivered(self, error: object, _message: object) -> None:
        self._acknowledged += error is None

    def finish(self) -> None:
        """Sends nothing more; waits until each number was received."""
        self.pause()
        assert self._producer.flush(TIMEOUT_S) == 0
        assert self._acknowledged == self._sent
        wait_until(self._is_complete, TIMEOUT_S, "all records to reach the group")

    def _is_complete(self) -> bool:
        for member in self._members:
            member.check()
        return len(self._received) == self._sent

    def close(self) -> None:
        end_producer(self._producer)
        for member in self._members:
            member.stop()


class _OurMember:
    """A member that is a consumer of kafka_py."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": "side-work", "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 500, "session.timeout.ms": 6000,
        })  # fmt: skip
        self._consumer.subscribe([topic])

    def poll(self) -> list[int]:
        try:
            return [int(record.value or b"-1") for record in self._consumer.poll(timeout=0.2)]
        except KafkaError as error:
            if not error.retriable:
                raise
            return []

    def close(self) -> None:
        self._consumer.close()


class _ConfluentMember:
    """A member that is librdkafka's consumer."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer: Any = confluent_kafka.Consumer({
            "bootstrap.servers": bootstrap, "group.id": "side-work", "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 500, "session.timeout.ms": 6000, "partition.assignment.strategy": "range",
        })  # fmt: skip
        self._consumer.subscribe([topic])

    def poll(self) -> list[int]:
        records = self._consumer.consume(500, 0.2)
        return [int(record.value() or b"-1") for record in records if record.error() is None]

    def close(self) -> None:
        self._consumer.close()


class _WorkingMember(SideWork):
    """Polls; now and then it leaves the group and joins again."""

    def __init__(
        self, kind: Callable[[str, str], _OurMember | _ConfluentMember], bootstrap: str, topic: str, seed: int,
        received: set[int],
    ) -> None:  # fmt: skip
        super().__init__(0.0)
        self._make: Callable[[], _OurMember | _ConfluentMember] = partial(kind, bootstrap, topic)
        self._draw = random.Random(seed)
        self._received = received
        self._member = self._make()
        self.start()

    def step(self) -> None:
        self._received.update(self._member.poll())
        if self._draw.random() < 0.01:
            self._member.close()
            self._member = self._make()

    def close(self) -> None:
        self._member.close()


class AdminWork(SideWork):
    """Draws operations: replicas to other directories and brokers, moves cancelled, elections, topics and settings.

    log_dirs: the directories of each broker. moved: a topic whose two replicas go from broker to broker. done, refused:
    how often each kind of operation succeeded and failed.
    """

    PASSING = "passing"

    def __init__(
        self, bootstrap: str, log_dirs: Mapping[int, Sequence[Path]], topics: Mapping[str, int], moved: str, seed: int
    ) -> None:
        super().__init__(0.5)
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "default.api.timeout.ms": 8000,
                                   "request.timeout.ms": 4000})  # fmt: skip
        self._log_dirs, self._topics, self._moved = log_dirs, topics, moved
        self._draw = random.Random(seed)
        self.works = [self.move_directory, self.reassign, self.cancel, self.elect, self.remake, self.configure]
        self.start()

    def step(self) -> None:
        work = self._draw.choice(self.works)
        try:
            work()
            self.done[work.__name__] += 1
        except (KafkaError, ClientTimeout) as error:
            self.refused[f"{work.__name__}: {type(error).__name__} {str(error).partition(':')[0][:40]}"] += 1

    def _partition(self, topic: str) -> TopicPartition:
        return TopicPartition(topic, self._draw.randrange(self._topics[topic]))

    def move_directory(self) -> None:
        broker = self._draw.choice(list(self._log_dirs))
        partition = self._partition(self._draw.choice(list(self._topics)))
        replica = TopicPartitionReplica(partition.topic, partition.partition, broker)
        self._admin.alter_replica_log_dirs({replica: str(self._draw.choice(self._log_dirs[broker]))}).all()

    def _target(self) -> list[int]:
        return self._draw.sample(list(self._log_dirs), 2)

    def reassign(self) -> None:
        self._admin.alter_partition_reassignments({self._partition(self._moved): self._target()}).all()

    def cancel(self) -> None:
        partition = self._partition(self._moved)
        self._admin.alter_partition_reassignments({partition: self._target()}).all()
        self._admin.alter_partition_reassignments({partition: None}).all()

    def elect(self) -> None:
        self._admin.elect_leaders(ElectionType.PREFERRED)

    def remake(self) -> None:
        if self.PASSING in self._admin.list_topics():
            self._admin.delete_topics([self.PASSING]).all()
        else:
            self._admin.create_topics([NewTopic(self.PASSING, 3, 2)]).all()

    def configure(self) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, self._draw.choice(list(self._topics)))
        change = AlterConfig("max.message.bytes", str(self._draw.randrange(1 << 20, 1 << 21)), AlterOperation.SET)
        self._admin.incremental_alter_configs({resource: [change]}).all()

    def finish(self) -> None:
        """Waits until every move has ended; each kind of operation must have succeeded."""
        self.pause()
        wait_until(lambda: not self._admin.list_partition_reassignments(), TIMEOUT_S, "the moves between brokers")
        wait_until(self._directories_are_quiet, TIMEOUT_S, "the moves between directories")

    def _directories_are_quiet(self) -> bool:
        found = self._admin.describe_log_dirs(list(self._log_dirs)).all()
        return not any(
            replica.is_future for each in found.values() for part in each.values() for replica in part.replicas.values()
        )

    def close(self) -> None:
        self._admin.close()

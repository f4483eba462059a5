"""Consumer groups for the tests of group tools: librdkafka's consumers, kept alive by threads of their own."""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

import confluent_kafka

from kafka_py.testing.processes import wait_until

JOIN_S = 60


class Reader:
    """A member that reads, and commits what it has read when it is told to."""

    def __init__(self, bootstrap: str, group: str, topics: Sequence[str], **settings: object) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self._consumer = confluent_kafka.Consumer({
            "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "session.timeout.ms": 10_000, "heartbeat.interval.ms": 500, **named,
        })  # fmt: skip
        self._consumer.subscribe(list(topics), on_assign=self._note)
        self.assigned: list[tuple[str, int]] | None = None
        self.seen: set[tuple[str, int, int]] = set()
        self._commit = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _note(self, _consumer, partitions) -> None:
        self.seen = set()
        self.assigned = sorted((each.topic, each.partition) for each in partitions)

    def _work(self) -> None:
        while not self._stopping.is_set():
            record = self._consumer.poll(0.1)
            if record is not None and record.error() is None:
                self.seen.add((record.topic(), record.partition(), record.offset()))
            if self._commit.is_set():
                with contextlib.suppress(confluent_kafka.KafkaException):
                    self._consumer.commit(asynchronous=False)
                self._commit.clear()
        self._consumer.close()

    def has_read(self, counts: Mapping[tuple[str, int], int]) -> "Reader":
        """Waits until it has as many records of each of its partitions as there are, by (topic, partition)."""
        wait_until(lambda: len(self.seen) >= sum(counts[each] for each in self.assigned or ()), JOIN_S, "all records")
        return self

    def commit(self) -> None:
        """Commits what it has read, and waits for that."""
        self._commit.set()
        wait_until(lambda: not self._commit.is_set(), JOIN_S, "the commit")

    def close(self) -> None:
        """Leaves the group."""
        self._stopping.set()
        self._thread.join(JOIN_S)


@contextlib.contextmanager
def readers(bootstrap: str, group: str, topics: Sequence[str], *each: dict[str, object]) -> Iterator[list[Reader]]:
    """Members that have shared the topics' partitions, all with some; each is given by its settings."""
    made = [Reader(bootstrap, group, topics, **settings) for settings in each]
    try:
        wait_until(lambda: _have_shared(made), JOIN_S, "an assignment for every member")
        yield made
    finally:
        for reader in made:
            reader.close()


def _have_shared(members: list[Reader]) -> bool:
    """Every member has partitions, and no partition is still with the member that had it before."""
    assigned = [each for reader in members for each in reader.assigned or ()]
    return all(reader.assigned for reader in members) and len(set(assigned)) == len(assigned)


def commit(bootstrap: str, group: str, *offsets: tuple[str, int, int]) -> None:
    """Commits (topic, partition, offset)s for a group without members."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    with contextlib.closing(consumer):
        consumer.commit(offsets=[confluent_kafka.TopicPartition(*each) for each in offsets], asynchronous=False)

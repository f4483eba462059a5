"""Producers that run transactions while brokers come and go, and the check that each is read whole or not at all."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence

import confluent_kafka

TIMEOUT_S = 60.0


class TransactionalWriter(threading.Thread):
    """A producer that runs one transaction after the other, every third of which it aborts.

    committed, aborted, unknown: the numbers of transactions; unknown is how one ended that the producer gave up.
    """

    def __init__(self, bootstrap: str, name: str, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self.name = name
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self.unknown: set[int] = set()
        self.over = threading.Event()
        self.fault: BaseException | None = None
        self._servers = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._producer: confluent_kafka.Producer | None = None

    def run(self) -> None:
        number = 0
        try:
            while not self.over.is_set():
                self._transaction(number)
                number += 1
        except BaseException as error:
            self.fault = error

    def _transaction(self, number: int) -> None:
        try:
            producer = self._ready()
            producer.begin_transaction()
            for partition in range(self._partitions):
                producer.produce(self._topic, f"{self.name} {number} {partition}", partition=partition)
            if number % 3:
                self._until_done(producer.commit_transaction)
                self.committed.add(number)
            else:
                self._until_done(producer.abort_transaction)
                self.aborted.add(number)
        except confluent_kafka.KafkaException as error:
            self._failed(number, error.args[0])

    def _ready(self) -> confluent_kafka.Producer:
        if self._producer is None:
            self._producer = confluent_kafka.Producer(
                {"bootstrap.servers": self._servers, "transactional.id": self.name, "log_level": 0}
            )
            self._until_done(self._producer.init_transactions)
        return self._producer

    def _failed(self, number: int, error: confluent_kafka.KafkaError) -> None:
        assert self._producer is not None
        if error.txn_requires_abort():
            self._until_done(self._producer.abort_transaction)
            self.aborted.add(number)
        else:
            self.unknown.add(number)
            self._producer = None

    @staticmethod
    def _until_done(call: Callable[[float], object]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                call(TIMEOUT_S)
            except confluent_kafka.KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise
            else:
                return


def read_committed(bootstrap: str, topic: str, partitions: int) -> list[str]:
    """The values that such a reader sees, up to the end it sees."""
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": bootstrap, "group.id": str(uuid.uuid4()), "log_level": 0,
        "isolation.level": "read_committed", "enable.auto.commit": False, "enable.partition.eof": True,
    })  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(partitions)])
    values, ended = [], 0
    while ended < partitions:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error():
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
            ended += 1
        else:
            values.append(message.value().decode())
    consumer.close()
    return values


def wait_progress(writers: Sequence[TransactionalWriter], count: int, within_s: float = TIMEOUT_S) -> None:
    """Returns when each has committed so many more transactions."""
    goals = {writer: len(writer.committed) + count for writer in writers}
    deadline = time.monotonic() + within_s
    while not all(len(writer.committed) >= goal for writer, goal in goals.items()):
        assert [writer.fault for writer in writers if writer.fault] == []
        behind = {writer.name: (len(writer.committed), goal) for writer, goal in goals.items()}
        assert time.monotonic() < deadline, behind
        time.sleep(0.05)


def end(writers: Sequence[TransactionalWriter]) -> None:
    for writer in writers:
        writer.over.set()
    for writer in writers:
        writer.join(2 * TIMEOUT_S)
    assert [writer.fault for writer in writers if writer.fault] == []


def check_whole(values: Sequence[str], writers: Sequence[TransactionalWriter], partitions: int) -> None:
    """values: as `read_committed` gives them; no other than those of committed transactions, all of these, and once."""
    assert len(values) == len(set(values))
    for writer in writers:
        numbers = [int(value.split()[1]) for value in values if value.startswith(f"{writer.name} ")]
        found = set(numbers)
        assert {number for number in found if numbers.count(number) != partitions} == set()
        assert writer.committed <= found <= writer.committed | writer.unknown

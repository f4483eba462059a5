"""A transaction coordinator to test with: over a real log on a disk in memory, on a clock that the test moves.

    world = TransactionWorld()
    asked = world.init()              # answered at once, or when the test lets the record be written
    assert asked.reply.producer_epoch == 0

Markers are sent to a sender that keeps them until the test says how that ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.runtime import Appended, RuntimeServices
from kafka_py.coordinator.transactions.coordinator import TransactionCoordinator
from kafka_py.coordinator.transactions.driver import TransactionServices
from kafka_py.coordinator.transactions.markers import MarkerOutcome, MarkersDone, TransactionMarkers
from kafka_py.coordinator.transactions.requests import (
    AddPartitions,
    EndTransaction,
    InitProducer,
    ProducerIdAndEpoch,
    TransactionReply,
)
from kafka_py.coordinator.transactions.store import TOPIC, TransactionStore
from kafka_py.coordinator.transactions.transaction import Transaction
from kafka_py.log.model.answers import Origin
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.testing.fakes.stored_logs import LogWorld

PARTITION = 0
TIMEOUT_MS = 60_000
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


class AskedTransaction:
    """A request. replies: at most one."""

    def __init__(self) -> None:
        self.replies: list[TransactionReply] = []

    def __call__(self, reply: TransactionReply) -> None:
        assert not self.replies, f"answered {self.replies[0]}, and again {reply}"
        self.replies.append(reply)

    @property
    def reply(self) -> TransactionReply:
        assert self.replies, "the request has no answer yet"
        return self.replies[0]

    @property
    def error(self) -> ErrorCode:
        return self.reply.error


class SentMarkers(NamedTuple):
    """What the sender was given."""

    partition: int
    markers: TransactionMarkers
    on_done: MarkersDone


class HeldSender:
    """Keeps markers until a test ends their sending."""

    def __init__(self) -> None:
        self.sent: list[SentMarkers] = []
        self.forgotten: list[int] = []

    def send(self, partition: int, markers: TransactionMarkers, on_done: MarkersDone, /) -> None:
        self.sent.append(SentMarkers(partition, markers, on_done))

    def forget(self, partition: int, /) -> None:
        self.forgotten.append(partition)
        self.sent = [each for each in self.sent if each.partition != partition]

    def end(self, outcome: MarkerOutcome = MarkerOutcome.COMPLETE) -> TransactionMarkers:
        """Ends the oldest sending."""
        sent = self.sent.pop(0)
        sent.on_done(outcome)
        return sent.markers


class TransactionWorld:
    """One partition of the topic, and the broker that leads it. error: of appends from now on, which reach the log
    only if `is_written_anyway`. waiting: acknowledgements that are held back; None lets them through at once.
    """

    store: TransactionStore
    coordinator: TransactionCoordinator
    sender: HeldSender

    def __init__(self, sender: HeldSender | None = None, **settings: object) -> None:
        self.disk = LogWorld({"cleanup.policy": "compact"}, topic_partition=TopicPartition(TOPIC, PARTITION))
        self.clock = self.disk.clock
        self.options = CoordinatorOptions.parse({name.replace("_", "."): str(each) for name, each in settings.items()})
        self.error = ErrorCode.NONE
        self.is_written_anyway = False
        self.waiting: list[Callable[[], None]] | None = None
        self.asked_of_log: list[tuple[int, int, int]] = []
        self.tasks: list[Coroutine[Any, Any, None]] = []
        self.acknowledged_end = 0
        self.epoch = -1
        self._producer_ids = count(1000)
        self._first_sender = sender
        self.become_coordinator()

    def become_coordinator(self, *, load: bool = True, loses_unacknowledged: bool = False) -> None:
        """Another broker leads the log in the next epoch; acknowledgements of before never come."""
        if self.epoch >= 0:
            self.store.runtime.resigned(PARTITION, None)
            self.run()
        if loses_unacknowledged:
            self.disk.log.truncate_to(self.acknowledged_end)
        if self.waiting is not None:
            self.waiting = []
        self.epoch += 1
        self.sender = self._first_sender or HeldSender()
        self._first_sender = None
        around = RuntimeServices(
            append=self._append,
            log_of=self._log_of,
            in_thread=self._in_thread,
            spawn=self.tasks.append,
            clock=self.clock,
        )
        self.store = TransactionStore(lambda: self.options, 1, around)
        self.coordinator = TransactionCoordinator(
            self.store,
            TransactionServices(self.sender, self.clock, lambda: self.options, self.clock.later),
            next_producer_id=self._next_producer_id,
            spawn=self.tasks.append,
        )
        if load:
            self.store.runtime.elected(PARTITION, self.epoch)
            self.run()

    def run(self) -> None:
        """Lets everything spawned come to its end."""
        while self.tasks:
            asyncio.run(self.tasks.pop(0))

    def acknowledge(self) -> None:
        """The oldest append that is held back is acknowledged."""
        assert self.waiting is not None
        self.waiting.pop(0)()

    def _append(self, partition: int, batch: bytes, acks: int, timeout_ms: int, on_done: Appended) -> None:
        self.asked_of_log.append((partition, acks, timeout_ms))
        error, offset = self.error, -1
        if error is ErrorCode.NONE or self.is_written_anyway:
            offset = self.disk.append(memoryview(bytearray(batch)), origin=Origin.COORDINATOR).first_offset
        end = self.disk.log.log_end_offset

        def done() -> None:
            if error is ErrorCode.NONE:
                self.acknowledged_end = max(self.acknowledged_end, end)
            on_done(error, offset)

        if self.waiting is None:
            done()
        else:
            self.waiting.append(done)

    def _log_of(self, partition: int) -> PartitionLog | None:
        return self.disk.log if partition == PARTITION else None

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return work()

    async def _next_producer_id(self) -> int:
        return next(self._producer_ids)

    # ---- requests

    def init(
        self, transactional_id: str = "tx", expected: ProducerIdAndEpoch | None = None, timeout_ms: int = TIMEOUT_MS
    ) -> AskedTransaction:
        asked = AskedTransaction()
        self.coordinator.init_producer_id(transactional_id, InitProducer(timeout_ms, expected), asked)
        self.run()
        return asked

    def add(
        self, producer: TransactionReply, *partitions: TopicPartition, transactional_id: str = "tx"
    ) -> AskedTransaction:
        asked = AskedTransaction()
        request = AddPartitions(producer.producer_id, producer.producer_epoch, partitions)
        self.coordinator.add_partitions(transactional_id, request, asked)
        return asked

    def end(
        self, producer: TransactionReply, *, is_commit: bool = True, transactional_id: str = "tx"
    ) -> AskedTransaction:
        asked = AskedTransaction()
        request = EndTransaction(producer.producer_id, producer.producer_epoch, is_commit)
        self.coordinator.end(transactional_id, request, asked)
        return asked

    def look(self) -> None:
        """The clock: time-outs and expiry."""
        for _ in self.coordinator.abort_timed_out():
            pass
        for _ in self.coordinator.remove_expired(30_000):
            pass

    def transaction(self, transactional_id: str = "tx") -> Transaction:
        found = self.store.get(PARTITION, transactional_id)
        assert found is not None, f"{transactional_id} is not known"
        return found

"""A partition of the transaction topic read back: what counts, what is skipped, what must not be served."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.records import transaction_key, transaction_value
from kafka_py.coordinator.transactions.replay import TransactionReplay
from kafka_py.coordinator.transactions.requests import TransactionReply
from kafka_py.coordinator.transactions.states import COMPLETE_COMMIT, EMPTY, ONGOING, PREPARE_COMMIT
from kafka_py.coordinator.transactions.transaction import Transaction, TransactionMetadata
from kafka_py.log.model.answers import Origin
from kafka_py.records.batch import Record, read_header
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.fakes.stored_logs import batch
from kafka_py.testing.fakes.transactions import PARTITION, TransactionWorld

HEADER = read_header(batch())
T0 = TopicPartition("t", 0)


def metadata(epoch: int = 0, **changes: object) -> TransactionMetadata:
    return TransactionMetadata(1000, epoch, 60_000, EMPTY, (), 5, -1)._replace(**changes)  # type: ignore[arg-type]


def record(offset: int, key: bytes | None, value: bytes | None) -> Record:
    return Record(offset, 0, key, value, ())


class Reading:
    """One replay and what it handed over."""

    def __init__(self) -> None:
        self.taken: dict[str, Transaction] | None = None
        self.restored: list[str] = []
        self.replay = TransactionReplay(
            "__transaction_state-0",
            lambda transactions: setattr(self, "taken", transactions),
            lambda transaction: self.restored.append(transaction.id),
        )

    def read(self, *pairs: tuple[bytes | None, bytes | None]) -> dict[str, TransactionMetadata]:
        self.replay.records(HEADER, [record(offset, key, value) for offset, (key, value) in enumerate(pairs)])
        for _ in self.replay.finish():
            pass
        assert self.taken is not None
        return {name: transaction.metadata for name, transaction in self.taken.items()}


def test_the_last_word_on_an_id_counts_and_a_tombstone_ends_it() -> None:
    a, b = transaction_key("a"), transaction_key("b")
    read = Reading().read(
        (a, transaction_value(metadata(0))), (b, transaction_value(metadata(4))), (a, transaction_value(metadata(1))),
        (b, None), (transaction_key("never"), None),
    )  # fmt: skip
    assert read == {"a": metadata(1)}


def test_markers_of_what_was_decided_are_missing() -> None:
    reading = Reading()
    reading.read(
        (transaction_key("over"), transaction_value(metadata(state=COMPLETE_COMMIT, start_ms=3))),
        (transaction_key("decided"), transaction_value(metadata(state=PREPARE_COMMIT, start_ms=3, partitions=(T0,)))),
        (transaction_key("running"), transaction_value(metadata(state=ONGOING, start_ms=3, partitions=(T0,)))),
    )
    assert reading.restored == ["decided"]


def test_what_is_damaged_is_skipped_and_named(caplog: pytest.LogCaptureFixture) -> None:
    a = transaction_key("a")
    read = Reading().read(
        (a, transaction_value(metadata(0))), (None, transaction_value(metadata(9))),
        (a, transaction_value(metadata(1))[:-1]), (b"\0\0\0\2\xff\xfe", transaction_value(metadata(9))),
    )  # fmt: skip
    assert read == {"a": metadata(0)}
    assert [line.getMessage().partition(" is left out")[0] for line in caplog.records[:3]] == [
        f"The record at offset {offset} of __transaction_state-0" for offset in (1, 2, 3)
    ]
    assert "3 records of __transaction_state-0 were left out" in caplog.text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0\1" + transaction_key("a")[2:], transaction_value(metadata())),
        (transaction_key("a"), b"\0\1" + transaction_value(metadata())[2:]),
        (transaction_key("a"), transaction_value(metadata())[:16] + b"\x08" + transaction_value(metadata())[17:]),
    ],
)
def test_what_a_newer_broker_has_written_keeps_the_partition_from_being_served(key: bytes, value: bytes) -> None:
    reading = Reading()
    with pytest.raises(KafkaError, match="offset 1 was written by a newer broker"):
        reading.read((transaction_key("b"), transaction_value(metadata())), (key, value))
    assert reading.taken is None


def test_requests_for_such_a_partition_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    world = TransactionWorld()
    world.become_coordinator(load=False)
    newer = BatchBuilder()
    newer.append(0, b"\0\1" + transaction_key("a")[2:], b"")
    world.disk.append(memoryview(bytearray(newer.build())), origin=Origin.COORDINATOR)
    world.store.runtime.elected(PARTITION, 1)
    loading = world.tasks.pop(0)
    with pytest.raises(StopIteration):
        while True:
            loading.send(None)
    assert world.end(TransactionReply()).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "version 1 of a key is not known" in caplog.text
    for waiting in world.tasks:
        waiting.close()


def load_once(world: TransactionWorld) -> None:
    """Has the partition loaded in the next epoch; the next attempt after a failure is not waited for."""
    world.become_coordinator(load=False)
    world.store.runtime.elected(PARTITION, world.epoch)
    loading = world.tasks.pop(0)
    with pytest.raises(StopIteration):
        while True:
            loading.send(None)
    for waiting in world.tasks:
        waiting.close()
    world.tasks.clear()


@pytest.mark.parametrize("rolls", [False, True], ids=["a batch with a wrong checksum", "the rest of a segment"])
def test_a_commit_that_may_be_in_a_damaged_batch_is_not_aborted(rolls: bool, caplog: pytest.LogCaptureFixture) -> None:
    world = TransactionWorld()
    producer = world.init(timeout_ms=1000).reply
    world.add(producer, T0)
    if rolls:
        world.disk.log.roll(0)
    segment = world.disk.log.segments[-1]
    position, offset = segment.size, world.disk.log.log_end_offset
    assert world.end(producer).error is ErrorCode.NONE, "the commit is acknowledged"
    if rolls:
        world.disk.log.roll(0)
    world.sender.sent.clear()
    segment.file().write(b"\xff" * 40, position + (0 if rolls else 70))
    load_once(world)
    assert world.end(producer).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.init().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.clock.advance(1001)
    world.look()
    assert not world.sender.sent, "nothing is aborted"
    [line] = [line for line in caplog.messages if "__transaction_state-0 was not loaded" in line]
    assert f"the batch at offset {offset} cannot be read" in line
    assert "move the partition's folder" in line


def test_without_its_damaged_segment_the_partition_is_served_as_the_rest_says() -> None:
    """The way out of docs/transactions.md where there is no other replica."""
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.disk.log.roll(0)
    damaged = world.disk.log.segments[-1]
    world.end(producer)
    world.disk.log.roll(0)
    world.init("other")
    damaged.file().write(b"\xff" * 40, 0)
    load_once(world)
    assert world.init("other").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    files, folder = world.disk.files, world.disk.directory
    world.disk.log.close()
    for each in files.list(folder):
        if each.name.startswith(f"{damaged.base_offset:020}."):
            files.remove(f"{folder}/{each.name}")
    world.disk.open(is_clean=True)
    world.become_coordinator()
    assert world.transaction().state is ONGOING
    assert world.transaction("other").state is EMPTY


def test_a_partition_lost_while_it_is_read_leaves_no_ids_and_sends_no_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    world = TransactionWorld(transaction_state_log_load_buffer_size=1)  # one batch at a time
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer, is_commit=False)
    reads_to_abort = world.disk.log.log_end_offset
    world.sender.end()
    world.add(producer, T0)
    assert world.transaction().state is ONGOING

    reads = 0

    async def in_thread(work: Callable[[], Any]) -> Any:
        nonlocal reads
        reads += 1
        if reads == reads_to_abort:
            world.store.runtime.resigned(PARTITION, 2)
        return work()

    monkeypatch.setattr(world, "_in_thread", in_thread)
    world.become_coordinator()
    assert reads == reads_to_abort
    assert not world.sender.sent, "the aborted transaction is complete, and the next one runs"
    assert not world.store.transactions(PARTITION)


def test_an_id_costs_at_most_a_kilobyte() -> None:
    count, now_ms = 20_000, 1_600_000_000_000
    values = [
        metadata(number % 1000, producer_id=1_000_000 + number, last_update_ms=now_ms + number, start_ms=now_ms)
        for number in range(count)
    ]
    records = [
        record(number, transaction_key(f"application-{number}"), transaction_value(value))
        for number, value in enumerate(values)
    ]
    reading = Reading()
    tracemalloc.start()
    reading.replay.records(HEADER, records)
    for _ in reading.replay.finish():
        pass
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / count < 1000

"""Requests at the door: who is asked, and what is said before there is a transaction."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.transactions.requests import ProducerIdAndEpoch, TransactionReply
from kafka_py.coordinator.transactions.states import EMPTY, PREPARE_ABORT
from kafka_py.coordinator.transactions.transaction import Transaction
from kafka_py.records.batch import iter_headers
from kafka_py.testing.fakes.stored_logs import LogWorld
from kafka_py.testing.fakes.transactions import PARTITION, T0, TransactionWorld

NOBODY = TransactionReply(ErrorCode.NONE, 7, 0)


def test_an_empty_id_is_no_id() -> None:
    world = TransactionWorld()
    assert world.init("").error is ErrorCode.INVALID_REQUEST
    assert world.add(NOBODY, T0, transactional_id="").error is ErrorCode.INVALID_REQUEST
    assert world.end(NOBODY, transactional_id="").error is ErrorCode.INVALID_REQUEST


def test_time_outs_over_the_limit_are_refused() -> None:
    world = TransactionWorld(transaction_max_timeout_ms=1000)
    assert world.init(timeout_ms=1001).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert world.init(timeout_ms=0).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert world.init(timeout_ms=1000).error is ErrorCode.NONE


def test_an_id_that_never_asked_for_a_producer_has_none() -> None:
    world = TransactionWorld()
    assert world.add(NOBODY, T0).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert world.end(NOBODY).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_another_broker_is_not_spoken_for() -> None:
    world = TransactionWorld()
    world.become_coordinator(load=False)
    assert world.init().error is ErrorCode.NOT_COORDINATOR
    assert world.add(NOBODY, T0).error is ErrorCode.NOT_COORDINATOR
    assert world.end(NOBODY).error is ErrorCode.NOT_COORDINATOR


def test_while_the_partition_is_read_producers_wait() -> None:
    world = TransactionWorld()
    world.become_coordinator(load=False)
    world.store.runtime.elected(PARTITION, 1)
    assert world.end(NOBODY).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.run()
    assert world.end(NOBODY).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_two_producers_that_start_at_once_share_an_id_and_one_waits() -> None:
    world = TransactionWorld()
    world.waiting = []
    first, second = world.init(), world.init()
    assert second.error is ErrorCode.CONCURRENT_TRANSACTIONS
    world.acknowledge()
    assert first.reply.producer_epoch == 0


def test_a_producer_without_epochs_left_gets_another_id() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    transaction = world.transaction()
    transaction.metadata = transaction.metadata._replace(producer_epoch=32_766)
    asked = world.init(expected=ProducerIdAndEpoch(producer.producer_id, 32_766))
    assert (asked.reply.producer_id, asked.reply.producer_epoch) == (1001, 0)


def test_without_producer_ids_nothing_begins() -> None:
    world = TransactionWorld()

    async def none_left() -> int:
        raise OSError("ZooKeeper")

    world.coordinator._next_producer_id = none_left
    with pytest.raises(OSError, match="ZooKeeper"):
        world.init()
    assert world.store.transactions(PARTITION) == []


def test_transactions_that_run_for_too_long_are_ended() -> None:
    world = TransactionWorld()
    slow, quick = world.init("slow", timeout_ms=1000).reply, world.init("quick", timeout_ms=5000).reply
    world.add(slow, T0, transactional_id="slow")
    world.add(quick, T0, transactional_id="quick")
    world.clock.advance(1001)
    world.look()
    assert world.transaction("slow").state is PREPARE_ABORT
    assert [sent.markers.transactional_id for sent in world.sender.sent] == ["slow"]
    assert world.end(slow, transactional_id="slow").error is ErrorCode.PRODUCER_FENCED
    assert world.end(quick, transactional_id="quick").error is ErrorCode.NONE


def test_a_lost_partition_is_not_looked_through() -> None:
    world = TransactionWorld()
    producer = world.init(timeout_ms=1000).reply
    world.add(producer, T0)
    world.clock.advance(1001)
    steps = world.coordinator.abort_timed_out()
    world.store.runtime.resigned(PARTITION, 3)
    assert list(steps) == []
    assert world.sender.sent == []


def test_others_have_their_turn_after_each_transaction_that_is_ended() -> None:
    world = TransactionWorld()
    names = [f"tx-{number}" for number in range(8)]
    for name in names:
        world.add(world.init(name, timeout_ms=1000).reply, T0, transactional_id=name)
    world.clock.advance(1001)
    ended = [len(world.sender.sent) for _ in world.coordinator.abort_timed_out()]
    assert ended == list(range(1, 9))


def test_very_many_ids_of_a_lost_partition_are_freed_in_turns() -> None:
    world = TransactionWorld()
    for number in range(3000):
        world.store.put(PARTITION, Transaction.new(f"tx-{number}", number, 1000, 0))
    left = []
    for rest in world.store.unload(PARTITION):
        assert not world.store.transactions(PARTITION), "nothing is served any more from the first turn on"
        assert isinstance(rest, dict)
        left.append(len(rest))
    assert left == [3000 - 1024, 3000 - 2048]


@pytest.mark.parametrize(("most_bytes", "batches"), [(1_048_588, [8] * 5), (100_000, [3] * 13 + [1])])
def test_tombstones_of_long_ids_fit_into_the_batches_that_the_topic_takes(
    most_bytes: int, batches: list[int]
) -> None:
    world = TransactionWorld()
    world.disk.log.reconfigure(LogWorld({"max.message.bytes": most_bytes}).config)
    names = [f"{number:02}" + "x" * 32_000 for number in range(40)]
    for name in names:
        assert world.init(name).error is ErrorCode.NONE
    before = world.disk.log.log_end_offset
    world.clock.advance(604_800_000)
    world.look()
    assert world.store.transactions(PARTITION) == []
    found = world.disk.log.read(before, 10_000_000, up_to_offset=world.disk.log.log_end_offset)
    assert found.slice is not None
    assert [header.record_count for _, header in iter_headers(found.slice.read())] == batches


def test_a_new_id_that_could_not_be_written_may_be_asked_for_again() -> None:
    world = TransactionWorld()
    world.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.init().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.transaction().state is EMPTY
    world.error = ErrorCode.NONE
    assert world.init().reply == TransactionReply(ErrorCode.NONE, 1000, 0)


def test_an_id_that_makes_the_clock_stumble_does_not_keep_others_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = TransactionWorld()
    names = ("broken", "open")
    for name in names:
        world.add(world.init(name, timeout_ms=1000).reply, T0, transactional_id=name)
    world.clock.advance(1001)
    handle = world.coordinator.driver.handle

    def stumble(partition: int, transaction: Transaction, *rest: Any) -> Any:
        if transaction.id == "broken":
            raise RuntimeError("out of order")
        return handle(partition, transaction, *rest)

    monkeypatch.setattr(world.coordinator.driver, "handle", stumble)
    world.look()
    assert world.transaction("open").state is PREPARE_ABORT
    assert "out of order" in caplog.text
    monkeypatch.undo()
    world.look()
    assert world.transaction("broken").state is PREPARE_ABORT


def test_an_epoch_that_could_not_be_written_is_used_by_the_next_fence_and_by_no_later_one() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.error = ErrorCode.NOT_ENOUGH_REPLICAS
    for _ in range(3):
        assert world.init().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert world.transaction().metadata.producer_epoch == producer.producer_epoch + 1
    world.error = ErrorCode.NONE
    assert world.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.sender.end().producer_epoch == producer.producer_epoch + 1

    successor = world.init().reply
    assert successor.producer_epoch == producer.producer_epoch + 2
    world.add(successor, T0)
    assert world.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.sender.end().producer_epoch == successor.producer_epoch + 1, "its successor is fenced as well"

"""Records, markers and answers: what is done for a transaction, and in what order."""

from __future__ import annotations

import logging

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.transactions import driver
from kafka_py.coordinator.transactions.driver import COMPLETE_AGAIN, COMPLETION_WAIT_MS, DECIDE_AGAIN_MS
from kafka_py.coordinator.transactions.machine import TransactionMoment, handle
from kafka_py.coordinator.transactions.markers import MarkerOutcome, MarkersDone, TransactionMarkers
from kafka_py.coordinator.transactions.outcome import TransactionOutcome
from kafka_py.coordinator.transactions.requests import (
    AddPartitions,
    Appended,
    EndTransaction,
    MarkersEnded,
    TransactionEvent,
    TransactionReply,
)
from kafka_py.coordinator.transactions.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_COMMIT,
)
from kafka_py.coordinator.transactions.transaction import Transaction
from kafka_py.testing.fakes.transactions import PARTITION, T0, T1, HeldSender, TransactionWorld


def test_a_producer_is_answered_when_its_record_is_acknowledged() -> None:
    """S3-091."""
    world = TransactionWorld()
    world.waiting = []
    asked = world.init()
    assert asked.replies == []
    world.acknowledge()
    assert (asked.reply.producer_id, asked.reply.producer_epoch) == (1000, 0)
    assert world.asked_of_log == [(PARTITION, -1, 60_000)]


def test_markers_are_sent_when_the_decision_is_acknowledged() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0, T1)
    world.waiting = []
    asked = world.end(producer)
    assert (asked.replies, world.sender.sent) == ([], [])
    world.acknowledge()
    assert asked.error is ErrorCode.NONE
    assert [sent.markers for sent in world.sender.sent] == [TransactionMarkers("tx", 1000, 0, 0, True, (T0, T1))]
    world.sender.end()
    world.acknowledge()
    assert world.transaction().state is COMPLETE_COMMIT


def test_a_second_producer_ends_what_the_first_began() -> None:
    """S3-093, W7.25."""
    world = TransactionWorld()
    first = world.init().reply
    world.add(first, T0)
    assert world.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert not world.sender.end().is_commit
    second = world.init().reply
    assert second.producer_id == first.producer_id
    assert second.producer_epoch > first.producer_epoch
    assert world.end(first).error is ErrorCode.PRODUCER_FENCED


def test_the_completion_is_written_until_it_is_in_the_log() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    world.error = ErrorCode.NOT_ENOUGH_REPLICAS
    world.sender.end()
    for pause_ms in (100, 200, 400, 800, 1600, 3000, 3000):
        attempts = len(world.asked_of_log)
        assert world.coordinator.driver.waiting_appends == 1
        assert world.transaction().state is PREPARE_COMMIT
        world.clock.advance(pause_ms - 1)
        assert len(world.asked_of_log) == attempts
        world.clock.advance(1)
        assert len(world.asked_of_log) == attempts + 1
    world.error = ErrorCode.NONE
    world.clock.advance(3000)
    assert world.transaction().state is COMPLETE_COMMIT
    assert world.coordinator.driver.waiting_appends == 0


def test_a_completion_that_cannot_be_written_is_logged_when_the_reason_changes_and_when_it_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kafka_py.coordinator.transactions.driver")
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    world.error = ErrorCode.NOT_ENOUGH_REPLICAS
    world.sender.end()
    world.clock.advance(60_000)
    world.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.clock.advance(60_000)
    world.error = ErrorCode.NONE
    attempts = len(world.asked_of_log) - 3
    world.clock.advance(60_000)
    retried = "tx: COMPLETE_COMMIT could not be written (%s); this is retried until it is written"
    assert caplog.messages == [
        retried % "COORDINATOR_NOT_AVAILABLE",
        retried % "NOT_COORDINATOR",
        f"tx: COMPLETE_COMMIT is written, after {attempts} attempts that failed",
    ]


def test_an_append_that_ends_after_the_partition_was_lost_is_answered_not_coordinator() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.waiting = []
    asked = world.add(producer, T0)
    held = world.waiting.pop()
    world.store.runtime.resigned(PARTITION, 5)
    held()
    assert asked.error is ErrorCode.NOT_COORDINATOR
    assert world.sender.forgotten == [PARTITION]


def test_an_append_of_before_does_not_change_what_was_loaded_since() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.waiting = []
    asked = world.add(producer, T0)
    held = world.waiting.pop()
    world.store.runtime.resigned(PARTITION, 5)
    world.store.runtime.elected(PARTITION, 6)
    world.run()
    assert world.transaction().state is ONGOING  # the record is in the log
    held()
    assert asked.error is ErrorCode.NOT_COORDINATOR
    assert world.transaction().pending is None


def test_markers_that_end_after_the_partition_was_lost_lead_to_nothing() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    sent = world.sender.sent[0]
    world.store.runtime.resigned(PARTITION, 5)
    sent.on_done(MarkerOutcome.COMPLETE)
    assert len(world.asked_of_log) == 3


def test_markers_of_before_a_load_do_not_complete_what_was_loaded() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    of_before = world.sender.sent[0]
    world.store.runtime.resigned(PARTITION, 5)
    world.store.runtime.elected(PARTITION, 6)
    world.run()
    records = world.disk.log.log_end_offset
    of_before.on_done(MarkerOutcome.COMPLETE)
    assert world.disk.log.log_end_offset == records, "markers in the new coordinator epoch are on their way"
    assert world.transaction().state is PREPARE_COMMIT
    world.sender.end()
    assert world.transaction().state is COMPLETE_COMMIT
    assert world.disk.log.log_end_offset == records + 1


def test_a_retried_completion_of_a_partition_that_was_lost_is_dropped() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    world.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.sender.end()
    world.store.runtime.resigned(PARTITION, 5)
    world.clock.advance(int(COMPLETE_AGAIN.first_ms))
    assert world.coordinator.driver.waiting_appends == 0


def test_a_coordinator_that_takes_over_sends_the_markers_again() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer, is_commit=False)
    world.become_coordinator()
    [sent] = world.sender.sent
    assert (sent.markers.coordinator_epoch, sent.markers.is_commit) == (1, False)
    world.sender.end()
    assert world.transaction().state is COMPLETE_ABORT


def test_a_sender_may_be_done_at_once() -> None:
    class AtOnce(HeldSender):
        def send(self, partition: int, markers: TransactionMarkers, on_done: MarkersDone, /) -> None:
            on_done(MarkerOutcome.COMPLETE)

    world = TransactionWorld(sender=AtOnce())
    producer = world.init().reply
    world.add(producer, T0)
    assert world.end(producer).error is ErrorCode.NONE
    assert world.transaction().state is COMPLETE_COMMIT
    world.add(producer, T0)
    world.waiting = []
    asked = world.end(producer)
    world.acknowledge()
    assert asked.error is ErrorCode.NONE


def test_an_answer_that_raises_does_not_keep_the_markers_from_being_sent(caplog: pytest.LogCaptureFixture) -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.waiting = []

    def fails(_reply: object) -> None:
        raise RuntimeError("the connection")

    request = EndTransaction(producer.producer_id, producer.producer_epoch, is_commit=True)
    world.coordinator.end("tx", request, fails)
    world.acknowledge()
    assert len(world.sender.sent) == 1
    assert "the connection" in caplog.text


def test_an_append_that_raises_counts_as_failed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = TransactionWorld()
    producer = world.init().reply

    def broken(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(world.store, "append", broken)
    assert world.add(producer, T0).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.transaction().state is EMPTY
    assert world.transaction().pending is None
    assert "out of order" in caplog.text


@pytest.mark.parametrize("result", [Appended, MarkersEnded])
def test_a_result_whose_decision_raises_is_handled_again(
    result: type[TransactionEvent], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that every later request of the id would be answered CONCURRENT_TRANSACTIONS."""
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)

    def fails(transaction: Transaction, event: TransactionEvent, moment: TransactionMoment) -> TransactionOutcome:
        if isinstance(event, result):
            raise ZeroDivisionError("nobody foresaw this")
        return handle(transaction, event, moment)

    with monkeypatch.context() as patched:
        patched.setattr(driver, "handle", fails)
        asked = world.end(producer)
        if world.sender.sent:
            world.sender.end()
        world.clock.advance(DECIDE_AGAIN_MS - 1)
    assert world.transaction().state is (ONGOING if result is Appended else PREPARE_COMMIT)
    assert "nobody foresaw this" in caplog.text
    world.clock.advance(1)
    if result is Appended:
        world.sender.end()
    assert asked.error is ErrorCode.NONE
    assert world.transaction().state is COMPLETE_COMMIT


def test_a_result_whose_decision_raised_is_not_handled_by_the_former_coordinator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    with monkeypatch.context() as patched:
        patched.setattr(driver, "handle", _fails_after_appends)
        asked = world.end(producer)
    world.become_coordinator()
    world.clock.advance(DECIDE_AGAIN_MS)
    assert asked.error is ErrorCode.NOT_COORDINATOR


def test_a_result_that_was_handled_is_not_handled_again_because_its_response_raises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = TransactionWorld()
    producer = world.init().reply

    def answer(_reply: TransactionReply) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    request = AddPartitions(producer.producer_id, producer.producer_epoch, (T0,))
    world.coordinator.add_partitions("tx", request, answer)
    world.clock.advance(DECIDE_AGAIN_MS)
    assert caplog.text.count("tx failed") == 1
    assert world.transaction().state is ONGOING


def _fails_after_appends(
    transaction: Transaction, event: TransactionEvent, moment: TransactionMoment
) -> TransactionOutcome:
    if isinstance(event, Appended):
        raise ZeroDivisionError("nobody foresaw this")
    return handle(transaction, event, moment)


def test_ids_that_expire_are_removed_together() -> None:
    """S3-104: their records go with a tombstone."""
    world = TransactionWorld()
    for number in range(5):
        world.init(f"tx-{number}")
    world.clock.advance(604_800_000)
    busy = world.init("tx-2").reply
    before = len(world.asked_of_log)
    world.look()
    assert world.asked_of_log[before:] == [(PARTITION, -1, 30_000)]
    assert [each.id for each in world.store.transactions(PARTITION)] == ["tx-2"]
    world.become_coordinator()
    assert [each.id for each in world.store.transactions(PARTITION)] == ["tx-2"]
    assert world.transaction("tx-2").metadata.producer_epoch == busy.producer_epoch


def test_ids_stay_when_their_tombstones_could_not_be_written() -> None:
    world = TransactionWorld()
    world.init()
    world.clock.advance(604_800_000)
    world.error = ErrorCode.NOT_ENOUGH_REPLICAS
    world.look()
    assert world.transaction().pending is None
    world.waiting = []
    world.error = ErrorCode.NONE
    world.look()
    pending = world.transaction().pending
    assert pending is not None
    assert pending.metadata.state is DEAD
    world.acknowledge()
    assert world.store.transactions(PARTITION) == []


def test_the_next_transaction_begins_when_the_previous_is_complete() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    asked, second = world.add(producer, T1), world.add(producer, T1)
    assert asked.replies == []
    assert second.error is ErrorCode.CONCURRENT_TRANSACTIONS  # one may wait
    world.sender.end()
    assert asked.error is ErrorCode.NONE
    assert world.transaction().metadata.partitions == (T1,)
    world.clock.advance(COMPLETION_WAIT_MS)


def test_it_does_not_wait_for_long() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    asked = world.add(producer, T1)
    world.clock.advance(COMPLETION_WAIT_MS)
    assert asked.error is ErrorCode.CONCURRENT_TRANSACTIONS
    world.sender.end()
    assert world.transaction().state is COMPLETE_COMMIT


def test_whoever_waits_when_the_partition_is_lost_is_told_to_try_again() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    asked = world.add(producer, T1)
    world.store.runtime.resigned(PARTITION, 5)
    world.clock.advance(COMPLETION_WAIT_MS)
    assert asked.error is ErrorCode.CONCURRENT_TRANSACTIONS


def test_the_wait_ends_with_the_record_of_the_completion() -> None:
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.end(producer)
    asked = world.add(producer, T1)
    world.waiting = []
    world.sender.end()
    assert asked.replies == []
    world.acknowledge()
    assert asked.replies == []  # its own record is on its way now
    world.acknowledge()
    assert asked.error is ErrorCode.NONE

"""Decisions about one transactional id that the transcripts in tests/scenarios/transactions do not show."""

from __future__ import annotations

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.transactions.machine import TransactionMoment, append_error, handle, is_expired, refusal
from kafka_py.coordinator.transactions.outcome import NOTHING
from kafka_py.coordinator.transactions.requests import (
    AbortIfTimedOut,
    AddPartitions,
    InitProducer,
    ProducerIdAndEpoch,
    RemoveIfExpired,
    Restored,
)
from kafka_py.coordinator.transactions.states import MAY_EXPIRE, ONGOING, PREPARE_COMMIT, TransactionState
from kafka_py.coordinator.transactions.transaction import Transaction, TransactionMetadata

LIMITS = CoordinatorOptions.parse({})
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
DAY_MS = 86_400_000


def transaction(state: TransactionState, epoch: int = 0) -> Transaction:
    return Transaction("tx", TransactionMetadata(1000, epoch, 60_000, state, (T0,), 0, 0))


def at(now_ms: int) -> TransactionMoment:
    return TransactionMoment(now_ms, 5, LIMITS)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.CORRUPT_MESSAGE, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_what_producers_are_told_of_an_append(error: ErrorCode, told: ErrorCode) -> None:
    assert append_error(error) is told


@pytest.mark.parametrize(
    ("transactional_id", "timeout_ms", "expected"),
    [
        ("", 60_000, ErrorCode.INVALID_REQUEST),
        ("", 0, ErrorCode.INVALID_REQUEST),
        ("tx", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("tx", 900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("tx", 1, None),
        ("tx", 900_000, None),
    ],
)
def test_what_is_refused_whatever_the_id_is_at(
    transactional_id: str, timeout_ms: int, expected: ErrorCode | None
) -> None:
    assert refusal(transactional_id, timeout_ms, LIMITS) is expected


def test_a_fresh_producer_id_is_asked_for_only_when_it_is_needed() -> None:
    used_up = transaction(TransactionState.COMPLETE_COMMIT, 32_766)
    assert handle(used_up, InitProducer(1000), at(1)).needs_producer_id
    assert used_up.pending is None
    outcome = handle(used_up, InitProducer(1000, None, 2000), at(1))
    assert outcome.record is not None
    assert (outcome.record.producer_id, outcome.record.producer_epoch) == (2000, 0)
    usable = transaction(TransactionState.COMPLETE_COMMIT, 32_765)
    outcome = handle(usable, InitProducer(1000, None, 2000), at(1))
    assert outcome.record is not None
    assert (outcome.record.producer_id, outcome.record.producer_epoch) == (1000, 32_766)


def test_an_epoch_that_is_neither_the_present_nor_the_last_is_fenced_also_when_epochs_are_used_up() -> None:
    used_up = transaction(TransactionState.EMPTY, 32_766)
    outcome = handle(used_up, InitProducer(1000, ProducerIdAndEpoch(1000, 5)), at(1))
    assert outcome.reply is not None
    assert outcome.reply.error is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("state", [ONGOING, PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_a_transaction_that_is_not_over_does_not_expire(state: TransactionState) -> None:
    assert handle(transaction(state), RemoveIfExpired(), at(1000 * DAY_MS)) is NOTHING


@pytest.mark.parametrize("state", sorted(MAY_EXPIRE))
def test_an_id_expires_once(state: TransactionState) -> None:
    idle = transaction(state)
    assert not is_expired(idle, 7 * DAY_MS - 1, 7 * DAY_MS)
    assert handle(idle, RemoveIfExpired(), at(7 * DAY_MS)).tombstone
    assert handle(idle, RemoveIfExpired(), at(8 * DAY_MS)) is NOTHING
    reply = handle(idle, AddPartitions(1000, 0, (T1,)), at(8 * DAY_MS)).reply
    assert reply is not None
    assert reply.error is ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("state", sorted(set(TransactionState) - {ONGOING}))
def test_only_a_running_transaction_times_out(state: TransactionState) -> None:
    assert handle(transaction(state), AbortIfTimedOut(), at(DAY_MS)) is NOTHING


@pytest.mark.parametrize("state", sorted({ONGOING, *MAY_EXPIRE}))
def test_what_was_not_decided_is_left_alone_by_a_new_coordinator(state: TransactionState) -> None:
    assert handle(transaction(state), Restored(), at(0)) is NOTHING


def test_markers_carry_the_epoch_of_the_coordinator_that_sends_them() -> None:
    markers = handle(transaction(PREPARE_COMMIT, 7), Restored(), at(0)).markers
    assert markers is not None
    assert (markers.producer_epoch, markers.coordinator_epoch, markers.is_commit) == (7, 5, True)
    assert markers.partitions == (T0,)

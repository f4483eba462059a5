"""Sequences of a transactional producer: what is sent again, and what fails the transaction."""

from __future__ import annotations

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.producer.batches import ProducerBatch
from kafka_py.clients.producer.lanes import Lane
from kafka_py.clients.producer.transactions.identity import TransactionalIdentity
from kafka_py.clients.producer.transactions.manager import ProducerTransactions
from kafka_py.clients.producer.transactions.states import ProducerTransactionState
from kafka_py.records.batch import read_header
from kafka_py.records.builder import BatchBuilder
from kafka_py.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_py.wire.messages.init_producer_id import InitProducerIdResponse

ADDED = AddPartitionsToTxnResponse(
    throttle_time_ms=0,
    results=[
        AddPartitionsToTxnTopicResult(
            name="t", results=[AddPartitionsToTxnPartitionResult(partition_index=0, error_code=0)]
        )
    ],
)


class OneLane:
    """A producer in a transaction with one partition."""

    def __init__(self) -> None:
        self.identity = TransactionalIdentity()
        self.transactions = self.identity.transactions = ProducerTransactions("tx", 1, self.identity, lambda: None)
        self.lane = Lane("t", 0)
        initialized = self.transactions.initialize()
        request = self.transactions.advance(flushed=False)
        assert request is not None
        self.transactions.take_response(
            request, InitProducerIdResponse(throttle_time_ms=0, error_code=0, producer_id=7, producer_epoch=0)
        )
        self.transactions.claim(initialized)
        self.transactions.begin()

    def add_partition(self) -> None:
        request = self.transactions.advance(flushed=False)
        assert request is not None
        self.transactions.take_response(request, ADDED)

    def add(self) -> ProducerBatch:
        batch = ProducerBatch(self.lane, BatchBuilder(), 1000, 1000, 0.0)
        batch.builder.append(1, None, b"v")
        batch.details = [(1, -1, 1)]
        self.lane.queue.append(batch)
        return batch

    def send(self) -> ProducerBatch | None:
        assert self.identity.settle(self.lane)
        index = self.identity.next_to_send(self.lane)
        if index is None:
            return None
        batch = self.lane.queue[index]
        del self.lane.queue[index]
        self.identity.stamp(batch)
        self.lane.in_flight.append(batch)
        return batch


def three_sent() -> tuple[OneLane, list[ProducerBatch]]:
    world = OneLane()
    first = world.add()
    assert world.send() is None
    world.add_partition()
    assert world.send() is first
    world.lane.in_flight.remove(first)
    world.identity.acknowledge(first)
    batches = [world.add(), world.add(), world.add()]
    assert [world.send() for _ in batches] == batches
    return world, batches


def test_a_batch_waits_for_its_partition_and_is_marked() -> None:
    world = OneLane()
    batch = world.add()
    assert world.send() is None
    world.add_partition()
    assert world.send() is batch
    header = read_header(batch.encode())
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 0, 0)


def test_a_batch_that_was_split_is_marked_in_all_parts() -> None:
    world = OneLane()
    batch = world.add()
    batch.builder.append(1, None, b"w")
    batch.details.append((1, -1, 1))
    world.send()
    world.add_partition()
    world.send()
    assert all(read_header(part.encode()).is_transactional for part in batch.split())


def test_a_successor_is_sent_again_while_its_predecessor_may_arrive() -> None:
    world, [_, second, third] = three_sent()
    for batch in (second, third):
        world.lane.in_flight.remove(batch)
        assert world.identity.refuse(batch)
    assert world.transactions.is_open


def test_a_gap_that_nothing_can_fill_is_not_retried_and_takes_another_epoch() -> None:
    world, [first, second, third] = three_sent()
    for batch in (first, second, third):
        world.lane.in_flight.remove(batch)
    assert not world.identity.refuse(first)
    world.identity.give_up(first, KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert world.transactions.state is ProducerTransactionState.ABORTABLE_ERROR
    assert not world.identity.refuse(second)
    world.transactions.abort()
    request = world.transactions.advance(flushed=True)
    assert request is not None
    assert not request.message.committed


def test_sequences_of_refused_batches_are_used_again_where_there_is_no_other_epoch() -> None:
    world, [first, second, third] = three_sent()
    world.transactions.can_renew = False
    world.lane.in_flight.remove(first)
    world.identity.give_up(first, KafkaError(ErrorCode.MESSAGE_TOO_LARGE))
    for batch in (second, third):
        world.add()
        assert world.send() is None  # its sequence depends on the responses to come
        world.lane.queue.clear()
        world.lane.in_flight.remove(batch)
        assert not world.identity.refuse(batch)
        world.identity.give_up(batch, KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert world.transactions.state is ProducerTransactionState.ABORTABLE_ERROR
    later = world.add()
    assert world.send() is later
    assert later.sequence == first.sequence == 1


def test_a_refused_batch_whose_first_attempt_may_be_stored_is_fatal_where_there_is_no_other_epoch() -> None:
    world, [first, *_] = three_sent()
    world.transactions.can_renew = False
    first.attempts = 2
    world.lane.in_flight.remove(first)
    world.identity.give_up(first, KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert world.transactions.state is ProducerTransactionState.FATAL_ERROR


@pytest.mark.parametrize(
    "code",
    [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.SASL_AUTHENTICATION_FAILED],
)
def test_a_batch_that_may_be_stored_is_fatal_where_there_is_no_other_epoch(code: ErrorCode) -> None:
    world, [first, *_] = three_sent()
    world.transactions.can_renew = False
    world.lane.in_flight.remove(first)
    world.identity.give_up(first, KafkaError(code))
    assert world.transactions.state is ProducerTransactionState.FATAL_ERROR

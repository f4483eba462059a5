"""The state machine of a transactional producer: every call in every state, every error of every request."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.errors import IllegalState, ProducerFenced, TransactionAborted, TransactionFailed
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.clients.producer.idempotence import ProducerIdentity
from kafka_py.clients.producer.transactions.coordinator_requests import CoordinatorRequest, TransactionalRequestResult
from kafka_py.clients.producer.transactions.manager import ProducerTransactions
from kafka_py.clients.producer.transactions.states import ProducerTransactionState
from kafka_py.clients.producer.transactions.treatments import RequestKind, Treatment, treatment
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_py.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_py.wire.messages.end_txn import EndTxnResponse
from kafka_py.wire.messages.init_producer_id import InitProducerIdResponse
from kafka_py.wire.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

S, K, E = ProducerTransactionState, RequestKind, ErrorCode
A, B = TopicPartition("t", 0), TopicPartition("t", 1)
GROUP = GroupMetadata("g", 3, "member")
OFFSETS = {A: OffsetAndMetadata(7)}
LOST = KafkaError(E.NETWORK_EXCEPTION, "cut")


def response(request: CoordinatorRequest, code: int = 0, **codes: int) -> Any:
    """A response with one code for everything, or with codes by partition (`t0=`)."""
    message = request.message
    match request.kind:
        case K.INIT_PRODUCER_ID:
            epoch = message.producer_epoch + 1
            return InitProducerIdResponse(throttle_time_ms=0, error_code=code, producer_id=9, producer_epoch=epoch)
        case K.ADD_PARTITIONS:
            rows = [
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results=[
                        AddPartitionsToTxnPartitionResult(
                            partition_index=number, error_code=codes.get(f"{topic.name}{number}", code)
                        )
                        for number in topic.partitions
                    ],
                )
                for topic in message.topics
            ]
            return AddPartitionsToTxnResponse(throttle_time_ms=0, results=rows)
        case K.ADD_OFFSETS:
            return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code)
        case K.COMMIT_OFFSETS:
            topics = [
                TxnOffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=[
                        TxnOffsetCommitResponsePartition(
                            partition_index=each.partition_index,
                            error_code=codes.get(f"{topic.name}{each.partition_index}", code),
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in message.topics
            ]
            return TxnOffsetCommitResponse(throttle_time_ms=0, topics=topics)
        case _:
            return EndTxnResponse(throttle_time_ms=0, error_code=code)


class Machine(ProducerTransactions):
    """A state machine with a driver by hand."""

    def __init__(self) -> None:
        self.changes = 0
        self.producer = ProducerIdentity()
        super().__init__("tx", 60_000, self.producer, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def due(self, kind: RequestKind, *, flushed: bool = False) -> CoordinatorRequest:
        request = self.advance(flushed=flushed)
        assert request is not None
        assert request.kind is kind
        return request

    def do(self, kind: RequestKind, *, flushed: bool = False) -> CoordinatorRequest:
        """The request that must be due succeeds."""
        request = self.due(kind, flushed=flushed)
        assert self.take_response(request, response(request)) == (False, False, False)
        return request


def ready() -> Machine:
    machine = Machine()
    operation = machine.initialize()
    machine.do(K.INIT_PRODUCER_ID)
    assert operation.done
    machine.claim(operation)
    return machine


def in_transaction(*partitions: TopicPartition) -> Machine:
    machine = ready()
    machine.begin()
    for partition in partitions:
        assert not machine.may_send(partition)
        machine.do(K.ADD_PARTITIONS)
        assert machine.may_send(partition)
    return machine


def committing() -> Machine:
    machine = in_transaction(A)
    machine.commit()
    return machine


def aborting() -> Machine:
    machine = in_transaction(A)
    machine.abort()
    return machine


def failed() -> Machine:
    machine = in_transaction(A)
    machine.batch_failed(KafkaError(E.MESSAGE_TOO_LARGE, "t-0"), has_gap=False)
    return machine


def fatal() -> Machine:
    machine = in_transaction(A)
    machine.fail(KafkaError(E.UNKNOWN_SERVER_ERROR, "broken"))
    return machine


def initializing() -> Machine:
    machine = Machine()
    machine.initialize()
    return machine


MAKE: dict[ProducerTransactionState, Callable[[], Machine]] = {
    S.UNINITIALIZED: Machine,
    S.INITIALIZING: initializing,
    S.READY: ready,
    S.IN_TRANSACTION: lambda: in_transaction(A),
    S.COMMITTING_TRANSACTION: committing,
    S.ABORTING_TRANSACTION: aborting,
    S.ABORTABLE_ERROR: failed,
    S.FATAL_ERROR: fatal,
}
CALLS: dict[str, Callable[[Machine], object]] = {
    "init": Machine.initialize,
    "begin": Machine.begin,
    "commit": Machine.commit,
    "abort": Machine.abort,
    "offsets": lambda machine: machine.send_offsets(OFFSETS, GROUP),
    "send": Machine.check_sending,
}
ALLOWED = {
    ("init", S.UNINITIALIZED), ("init", S.INITIALIZING), ("begin", S.READY),
    ("commit", S.IN_TRANSACTION), ("commit", S.COMMITTING_TRANSACTION),
    ("abort", S.IN_TRANSACTION), ("abort", S.ABORTABLE_ERROR), ("abort", S.ABORTING_TRANSACTION),
    ("offsets", S.IN_TRANSACTION), ("send", S.IN_TRANSACTION),
}  # fmt: skip


@pytest.mark.parametrize("state", ProducerTransactionState)
def test_states_are_reached(state: ProducerTransactionState) -> None:
    assert MAKE[state]().state is state


@pytest.mark.parametrize(("name", "state"), list(itertools.product(CALLS, ProducerTransactionState)))
def test_each_call_in_each_state(name: str, state: ProducerTransactionState) -> None:
    """A call that makes no sense says what does; after an error it says that, and whether an abort helps."""
    machine = MAKE[state]()
    if (name, state) in ALLOWED:
        CALLS[name](machine)
        return
    with pytest.raises((IllegalState, TransactionFailed)) as refused:
        CALLS[name](machine)
    assert machine.state is state
    if state in (S.ABORTABLE_ERROR, S.FATAL_ERROR):
        assert isinstance(refused.value, TransactionFailed)
        assert refused.value.abortable is (state is S.ABORTABLE_ERROR)
        assert "MESSAGE_TOO_LARGE" in str(refused.value) or "broken" in str(refused.value)
    else:
        assert isinstance(refused.value, IllegalState)
        assert any(word in str(refused.value) for word in ("transaction", "before"))


Asked = tuple[Machine, CoordinatorRequest, TransactionalRequestResult | None]


def in_each_state() -> list[tuple[str, Callable[[], Asked]]]:
    """Every request in every state in which it can be in flight, with the call that waits for it."""

    def initial() -> Asked:
        machine = Machine()
        operation = machine.initialize()
        return machine, machine.due(K.INIT_PRODUCER_ID), operation

    def renewing() -> Asked:
        machine = in_transaction(A)
        machine.batch_failed(KafkaError(E.REQUEST_TIMED_OUT), has_gap=True)
        operation = machine.abort()
        machine.do(K.END, flushed=True)
        request = machine.due(K.INIT_PRODUCER_ID)
        assert (request.message.producer_id, request.message.producer_epoch) == (9, 0)
        return machine, request, operation

    def asked(kind: RequestKind, then: Callable[[Machine], TransactionalRequestResult | None]) -> Any:
        def make() -> Asked:
            machine = in_transaction(A)
            waiting: TransactionalRequestResult | None = None
            if kind is K.ADD_PARTITIONS:
                machine.may_send(B)
            elif kind in (K.ADD_OFFSETS, K.COMMIT_OFFSETS):
                waiting = machine.send_offsets(OFFSETS, GROUP)
                if kind is K.COMMIT_OFFSETS:
                    machine.do(K.ADD_OFFSETS)
            if kind is K.END:
                waiting = then(machine)
                return machine, machine.due(kind, flushed=True), waiting
            request = machine.due(kind)
            return machine, request, then(machine) or waiting

        return make

    def stay(machine: Machine) -> None:
        return None

    def break_down(machine: Machine) -> None:
        machine.batch_failed(KafkaError(E.MESSAGE_TOO_LARGE), has_gap=False)

    cases: list[tuple[str, Any]] = [("init", initial), ("renewal", renewing)]
    for kind in (K.ADD_PARTITIONS, K.ADD_OFFSETS, K.COMMIT_OFFSETS):
        cases += [
            (f"{kind.name} open", asked(kind, stay)),
            (f"{kind.name} committing", asked(kind, Machine.commit)),
            (f"{kind.name} aborting", asked(kind, Machine.abort)),
            (f"{kind.name} failed", asked(kind, break_down)),
        ]
    cases += [("END commit", asked(K.END, Machine.commit)), ("END abort", asked(K.END, Machine.abort))]
    return cases


CASES = in_each_state()


@pytest.mark.parametrize("make", [make for _, make in CASES], ids=[name for name, _ in CASES])
@pytest.mark.parametrize("can_renew", [True, False])
def test_each_error_of_each_request_in_each_state(make: Any, can_renew: bool) -> None:
    for code in ErrorCode:
        if code is E.NONE:
            continue
        machine, request, operation = make()
        before = machine.state
        machine.can_renew = can_renew
        how = treatment(request.kind, code)
        reaction = machine.take_response(request, response(request, code))
        fatal_now = how in (Treatment.FATAL, Treatment.FENCED) or (how is Treatment.RENEW and not can_renew)
        if how in (Treatment.RETRY, Treatment.FIND_COORDINATOR):
            assert reaction.pauses, code
            assert reaction.forgets is (how is Treatment.FIND_COORDINATOR), code
            assert machine.state is before, code
            if before in (S.INITIALIZING, S.IN_TRANSACTION, S.COMMITTING_TRANSACTION):
                again = machine.due(request.kind, flushed=True)
                assert again.message == request.message, code
            continue
        assert not reaction.pauses, code
        if fatal_now:
            assert machine.state is S.FATAL_ERROR, code
            with pytest.raises(TransactionFailed) as failure:
                machine.check_sending()
            assert not failure.value.abortable
            assert isinstance(failure.value, ProducerFenced) is (how is Treatment.FENCED), code
            assert machine.advance(flushed=True) is None
        elif before in (S.IN_TRANSACTION, S.COMMITTING_TRANSACTION):
            assert machine.state is S.ABORTABLE_ERROR, code
            assert machine.failure().code is code
        elif request.kind is K.END:  # the coordinator has forgotten the transaction: only the epoch is missing
            assert how is Treatment.RENEW
            machine.due(K.INIT_PRODUCER_ID, flushed=True)
        else:
            assert machine.state is before, code
        if operation is not None and machine.state in (S.FATAL_ERROR, S.ABORTABLE_ERROR):
            assert operation.done
            assert operation.error is not None


@pytest.mark.parametrize("make", [make for _, make in CASES], ids=[name for name, _ in CASES])
def test_a_request_without_a_response_is_sent_again(make: Any) -> None:
    for finding in (False, True):
        machine, request, _ = make()
        before = machine.state
        reaction = machine.take_failure(request, LOST, finding=finding)
        assert reaction.pauses
        assert reaction.forgets
        assert machine.state is before
        if before in (S.INITIALIZING, S.IN_TRANSACTION, S.COMMITTING_TRANSACTION):
            assert machine.due(request.kind, flushed=True).message == request.message


def test_offsets_that_are_stored_are_not_sent_again() -> None:
    machine = in_transaction()
    operation = machine.send_offsets({A: OffsetAndMetadata(1), B: OffsetAndMetadata(2)}, GROUP)
    machine.do(K.ADD_OFFSETS)
    request = machine.due(K.COMMIT_OFFSETS)
    assert machine.take_response(request, response(request, t1=E.COORDINATOR_LOAD_IN_PROGRESS)).pauses
    request = machine.due(K.COMMIT_OFFSETS)
    assert [each.partition_index for each in request.message.topics[0].partitions] == [1]
    assert not operation.done
    machine.do(K.COMMIT_OFFSETS)
    assert operation.done
    assert operation.error is None
    assert (request.message.generation_id, request.message.member_id) == (3, "member")


def test_offsets_wait_for_each_other_and_the_commit_for_them() -> None:
    machine = in_transaction()
    first = machine.send_offsets(OFFSETS, GROUP)
    assert machine.send_offsets(OFFSETS, GROUP) is first
    second = machine.send_offsets({B: OffsetAndMetadata(1)}, GroupMetadata("h"))
    commit = machine.commit()
    for each in (first, second):
        machine.do(K.ADD_OFFSETS, flushed=True)
        machine.do(K.COMMIT_OFFSETS, flushed=True)
        assert each.done
    machine.do(K.END, flushed=True)
    assert commit.done


def test_no_offsets_need_no_request() -> None:
    machine = in_transaction()
    assert machine.send_offsets({}, GROUP).done
    assert machine.advance(flushed=True) is None


def test_the_end_waits_for_batches_and_partitions() -> None:
    machine = in_transaction(A)
    machine.commit()
    assert machine.advance(flushed=False) is None
    assert not machine.may_send(B)
    machine.do(K.ADD_PARTITIONS)
    assert machine.due(K.END, flushed=True).message.committed


@pytest.mark.parametrize("end", [Machine.commit, Machine.abort])
def test_an_empty_transaction_needs_no_request(end: Callable[[Machine], TransactionalRequestResult]) -> None:
    machine = in_transaction()
    operation = end(machine)
    assert machine.advance(flushed=False) is None
    assert machine.advance(flushed=True) is None
    assert machine.state is S.READY
    assert operation.done
    assert operation.error is None


def test_what_is_not_allowed_for_one_partition_fails_the_transaction_and_names_all() -> None:
    machine = in_transaction()
    machine.may_send(A)
    machine.may_send(B)
    request = machine.due(K.ADD_PARTITIONS)
    machine.take_response(
        request, response(request, t0=E.OPERATION_NOT_ATTEMPTED, t1=E.TOPIC_AUTHORIZATION_FAILED)
    )  # fmt: skip
    assert machine.state is S.ABORTABLE_ERROR
    assert "t-0 OPERATION_NOT_ATTEMPTED, t-1 TOPIC_AUTHORIZATION_FAILED" in str(machine.failure())
    assert machine.failure().code is E.TOPIC_AUTHORIZATION_FAILED
    abort = machine.abort()
    assert machine.advance(flushed=True) is None
    assert abort.done
    machine.claim(abort)
    machine.begin()


def test_a_topic_that_is_not_known_yet_is_retried_though_others_were_not_attempted() -> None:
    machine = in_transaction()
    machine.may_send(A)
    machine.may_send(B)
    request = machine.due(K.ADD_PARTITIONS)
    reaction = machine.take_response(
        request, response(request, t0=E.OPERATION_NOT_ATTEMPTED, t1=E.UNKNOWN_TOPIC_OR_PARTITION)
    )
    assert reaction.pauses
    assert machine.due(K.ADD_PARTITIONS).partitions == (A, B)


def test_only_the_first_partitions_are_retried_soon_while_markers_are_written() -> None:
    machine = in_transaction()
    machine.may_send(A)
    request = machine.due(K.ADD_PARTITIONS)
    assert machine.take_response(request, response(request, E.CONCURRENT_TRANSACTIONS)).soon
    machine.do(K.ADD_PARTITIONS)
    machine.may_send(B)
    request = machine.due(K.ADD_PARTITIONS)
    assert not machine.take_response(request, response(request, E.CONCURRENT_TRANSACTIONS)).soon


def test_a_gap_in_the_sequences_takes_the_next_epoch_after_the_abort() -> None:
    machine = in_transaction(A)
    machine.batch_failed(KafkaError(E.REQUEST_TIMED_OUT), has_gap=True)
    abort = machine.abort()
    machine.do(K.END, flushed=True)
    assert not abort.done
    assert machine.state is S.INITIALIZING
    machine.do(K.INIT_PRODUCER_ID)
    assert abort.done
    assert machine.producer.epoch == 1
    machine.claim(abort)
    machine.begin()


def test_a_gap_during_the_abort_counts_too() -> None:
    machine = in_transaction(A)
    machine.abort()
    machine.batch_failed(KafkaError(E.REQUEST_TIMED_OUT), has_gap=True)
    machine.do(K.END, flushed=True)
    assert machine.state is S.INITIALIZING


def test_a_gap_is_the_end_with_coordinators_that_give_no_next_epoch() -> None:
    machine = in_transaction(A)
    machine.can_renew = False
    machine.batch_failed(KafkaError(E.REQUEST_TIMED_OUT), has_gap=True)
    assert machine.state is S.FATAL_ERROR


def test_after_an_unknown_id_the_end_is_left_out() -> None:
    """The coordinator would refuse it; the id is registered again instead."""
    machine = in_transaction(A)
    machine.may_send(B)
    request = machine.due(K.ADD_PARTITIONS)
    machine.take_response(request, response(request, E.INVALID_PRODUCER_ID_MAPPING))
    assert machine.state is S.ABORTABLE_ERROR
    machine.abort()
    machine.do(K.INIT_PRODUCER_ID, flushed=True)
    assert machine.state is S.READY


def test_an_abort_ends_what_may_have_begun() -> None:
    """Whether the coordinator has the transaction is not known: the abort may find none, and a new epoch is taken."""
    for code in (E.NONE, E.INVALID_TXN_STATE):
        machine = in_transaction()
        machine.may_send(A)
        machine.take_failure(machine.due(K.ADD_PARTITIONS), LOST)
        machine.abort()
        request = machine.due(K.END, flushed=True)
        machine.take_response(request, response(request, code))
        assert machine.state is S.INITIALIZING
    machine = in_transaction(A)
    machine.abort()
    request = machine.due(K.END, flushed=True)
    machine.take_response(request, response(request, E.INVALID_TXN_STATE))
    assert machine.state is S.FATAL_ERROR


def test_offsets_that_are_pending_end_with_the_abort() -> None:
    machine = in_transaction()
    operation = machine.send_offsets(OFFSETS, GROUP)
    request = machine.due(K.ADD_OFFSETS)
    machine.abort()
    assert isinstance(operation.error, TransactionAborted)
    machine.take_response(request, response(request))
    machine.do(K.END, flushed=True)
    assert machine.state is S.READY


def test_a_call_whose_outcome_was_not_seen_comes_first() -> None:
    machine = committing()
    first = machine.operation
    for state in ("under way", "succeeded"):
        for name in ("begin", "abort", "init"):
            with pytest.raises(IllegalState, match="commit_transaction is not over"):
                CALLS[name](machine)
        assert machine.commit() is first, state
        if state == "under way":
            machine.do(K.END, flushed=True)
    assert first is not None
    machine.claim(first)
    machine.begin()


def test_a_failed_call_whose_outcome_was_not_seen_leaves_the_abort() -> None:
    machine = committing()
    machine.batch_failed(KafkaError(E.MESSAGE_TOO_LARGE), has_gap=False)
    assert machine.abort() is machine.operation
    machine.do(K.END, flushed=True)
    assert machine.state is S.READY


def test_batches_are_dropped_once_the_transaction_cannot_succeed() -> None:
    assert in_transaction(A).drops_batches is None
    assert committing().drops_batches is None
    assert isinstance(aborting().drops_batches, TransactionAborted)
    machine = failed()
    for _ in range(2):
        assert "MESSAGE_TOO_LARGE" in str(machine.drops_batches)
        if machine.state is S.ABORTABLE_ERROR:
            machine.abort()


def test_the_driver_is_woken_when_a_request_may_be_due() -> None:
    machine = in_transaction()
    for change in (
        lambda: machine.may_send(A),
        lambda: machine.send_offsets(OFFSETS, GROUP),
        lambda: machine.batch_failed(KafkaError(E.MESSAGE_TOO_LARGE), has_gap=False),
        machine.abort,
    ):
        before = machine.changes
        change()
        assert machine.changes > before


def test_w7_25_a_fenced_producer_says_why_and_what_to_do() -> None:
    """W7.25: the first of two producers with one transactional.id is fenced."""
    machine = committing()
    request = machine.due(K.END, flushed=True)
    machine.take_response(request, response(request, E.PRODUCER_FENCED))
    with pytest.raises(ProducerFenced) as fenced:
        machine.begin()
    for word in ("'tx'", "producer id 9, epoch 0", "transaction.timeout.ms, 60000 ms", "Close it"):
        assert word in str(fenced.value)

"""The transactional id as a state machine: an event is the input, a TransactionOutcome the output.

`handle` changes the transaction, a value in memory, and returns an outcome; driver.py supplies the events and carries
out the outcomes. Pure: no store, no clock, no callbacks. A change is pending until its record is acknowledged; other
requests are refused with CONCURRENT_TRANSACTIONS until then.
Source: docs/reference/transactions.md, sections 1 to 5, 7 and 8; KIP-98, KIP-360.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.transactions.markers import MarkerOutcome, TransactionMarkers
from kafka_py.coordinator.transactions.outcome import NOTHING, TransactionOutcome
from kafka_py.coordinator.transactions.requests import (
    AbortIfTimedOut,
    AddPartitions,
    Appended,
    EndTransaction,
    InitProducer,
    MarkersEnded,
    ProducerIdAndEpoch,
    RemoveIfExpired,
    Restored,
    TransactionEvent,
    TransactionReply,
)
from kafka_py.coordinator.transactions.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    IS_DECIDED,
    MAY_EXPIRE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from kafka_py.coordinator.transactions.transaction import (
    EXHAUSTED_EPOCH,
    LAST_EPOCH,
    Pending,
    Transaction,
    TransactionMetadata,
)
from kafka_py.records.batch import NO_PRODUCER_EPOCH

_APPEND_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
_CONCURRENT = TransactionReply(ErrorCode.CONCURRENT_TRANSACTIONS)


class TransactionLimits(Protocol):
    """The settings of transactions, as coordinator/configs.py names them."""

    @property
    def transaction_max_timeout_ms(self) -> int: ...

    @property
    def transactional_id_expiration_ms(self) -> int: ...


class TransactionMoment(NamedTuple):
    """now_ms: wall clock. coordinator_epoch: leader epoch of the id's partition of `__transaction_state`."""

    now_ms: int
    coordinator_epoch: int
    limits: TransactionLimits


def append_error(code: ErrorCode) -> ErrorCode:
    """The error for a producer when a record could not be appended."""
    return _APPEND_ERRORS.get(code, code)


def refusal(transactional_id: str, timeout_ms: int, limits: TransactionLimits) -> ErrorCode | None:
    """The error of an InitProducerId that is invalid in any state; None if it is valid."""
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    if not 0 < timeout_ms <= limits.transaction_max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return None


def handle(transaction: Transaction, event: TransactionEvent, moment: TransactionMoment) -> TransactionOutcome:
    """Decides what follows from one event. The transaction has already changed when this returns."""
    match event:
        case InitProducer():
            return _init_producer(transaction, event, moment.now_ms)
        case AddPartitions():
            return _add_partitions(transaction, event, moment.now_ms)
        case EndTransaction():
            return _end(transaction, event, moment.now_ms)
        case AbortIfTimedOut():
            return _abort_if_timed_out(transaction, moment.now_ms)
        case RemoveIfExpired():
            return _remove_if_expired(transaction, moment)
        case Appended(error):
            return _appended(transaction, error, moment)
        case MarkersEnded(outcome):
            return _markers_ended(transaction, outcome)
        case Restored():
            return _send_markers(transaction, moment) if transaction.state in IS_DECIDED else NOTHING


def _refused(error: ErrorCode, note: str = "") -> TransactionOutcome:
    return TransactionOutcome(TransactionReply(error), note=note)


def _write(
    transaction: Transaction, metadata: TransactionMetadata, reply: TransactionReply, note: str = "", *,
    is_fence: bool = False,
) -> TransactionOutcome:  # fmt: skip
    """Makes the change pending until its record is acknowledged; `reply` is sent then."""
    transaction.pending = Pending(metadata, reply, is_fence)
    return TransactionOutcome(record=metadata, note=note)


# ---- InitProducerId


def _init_producer(transaction: Transaction, request: InitProducer, now_ms: int) -> TransactionOutcome:
    metadata, expected = transaction.metadata, request.expected
    if transaction.pending is not None:
        return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if expected is not None and not _is_known(metadata, expected):
        return _refused(
            ErrorCode.PRODUCER_FENCED,
            f"{transaction.id}: InitProducerId names producer id {expected.producer_id} in epoch "
            f"{expected.producer_epoch}, but the id has {metadata.producer_id} in epoch {metadata.producer_epoch}",
        )
    if transaction.state in IS_DECIDED:
        return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if transaction.state is ONGOING:
        return _fence(
            transaction, now_ms, _CONCURRENT, f"{transaction.id}: a new producer ends the transaction of the previous"
        )
    return _begin(transaction, request, now_ms)


def _is_known(metadata: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """Whether the producer may be the latest one; its epoch is checked later, unless its producer id was replaced.

    A producer id without epoch belongs to a producer that has lost its state. The previous producer id is accepted if
    its epochs were exhausted, because the response with the new one may have been lost.
    """
    return (
        metadata.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == metadata.producer_id
        or (expected.producer_id == metadata.last_producer_id and expected.producer_epoch >= EXHAUSTED_EPOCH)
    )


def _begin(transaction: Transaction, request: InitProducer, now_ms: int) -> TransactionOutcome:
    """Assigns an epoch to a producer; the id has no open transaction."""
    metadata = transaction.metadata
    epoch = metadata.producer_epoch
    expected_epoch = None if request.expected is None else request.expected.producer_epoch
    if metadata.is_epoch_exhausted and expected_epoch in (None, epoch):
        if request.fresh_producer_id is None:
            return TransactionOutcome(needs_producer_id=True)
        begun = metadata.initialized(
            request.fresh_producer_id, 0, _last_epoch(expected_epoch, epoch), request.timeout_ms, now_ms
        )
    elif expected_epoch is None or expected_epoch == epoch or epoch == NO_PRODUCER_EPOCH:
        begun = metadata.initialized(
            metadata.producer_id, epoch + 1, _last_epoch(expected_epoch, epoch), request.timeout_ms, now_ms
        )
    elif expected_epoch == metadata.last_producer_epoch:
        begun = metadata.initialized(
            metadata.producer_id, epoch, metadata.last_producer_epoch, request.timeout_ms, now_ms
        )
    else:
        return _refused(
            ErrorCode.PRODUCER_FENCED,
            f"{transaction.id}: InitProducerId names epoch {expected_epoch} of producer id {metadata.producer_id}; "
            f"it is in epoch {epoch}, before that in {metadata.last_producer_epoch}",
        )
    reply = TransactionReply(ErrorCode.NONE, begun.producer_id, begun.producer_epoch)
    return _write(transaction, begun, reply)


def _last_epoch(expected_epoch: int | None, epoch: int) -> int:
    """The epoch that a retry may name; only a request that named an epoch can be recognised when it is retried."""
    return NO_PRODUCER_EPOCH if expected_epoch is None else epoch


def _fence(transaction: Transaction, now_ms: int, reply: TransactionReply, note: str) -> TransactionOutcome:
    """Aborts the transaction in a higher epoch, which fences its producer from now on, even if the record fails."""
    metadata = transaction.metadata
    is_raised = transaction.has_failed_fence or metadata.producer_epoch >= LAST_EPOCH
    transaction.metadata = metadata.fenced(metadata.producer_epoch + (not is_raised))
    aborted = transaction.metadata.moved(PREPARE_ABORT, now_ms)
    return _write(transaction, aborted, reply, note, is_fence=True)


# ---- AddPartitionsToTxn, AddOffsetsToTxn, EndTxn


def _stranger(transaction: Transaction, producer_id: int, producer_epoch: int) -> TransactionOutcome | None:
    """The refusal of a request that is not from the latest producer of the id."""
    metadata = transaction.metadata
    if producer_id != metadata.producer_id:
        return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer_epoch != metadata.producer_epoch:
        return _refused(
            ErrorCode.PRODUCER_FENCED,
            f"{transaction.id}: a producer speaks in epoch {producer_epoch}, it is {metadata.producer_epoch}",
        )
    return None


def _add_partitions(transaction: Transaction, request: AddPartitions, now_ms: int) -> TransactionOutcome:
    refused = _stranger(transaction, request.producer_id, request.producer_epoch)
    if refused is not None:
        return refused
    metadata = transaction.metadata
    if metadata.state in IS_DECIDED:
        return TransactionOutcome(_CONCURRENT, may_wait=True)
    if transaction.pending is not None:
        return TransactionOutcome(_CONCURRENT)
    partitions = tuple(dict.fromkeys((*metadata.partitions, *request.partitions)))
    if metadata.state is ONGOING:
        if len(partitions) == len(metadata.partitions):
            return _refused(ErrorCode.NONE)
        start_ms = metadata.start_ms
    else:
        start_ms = now_ms
    grown = metadata.moved(ONGOING, now_ms)._replace(partitions=partitions, start_ms=start_ms)
    return _write(transaction, grown, TransactionReply())


def _end(transaction: Transaction, request: EndTransaction, now_ms: int) -> TransactionOutcome:
    refused = _stranger(transaction, request.producer_id, request.producer_epoch)
    if refused is not None:
        return refused
    if transaction.pending is not None:
        return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    decided, complete = (PREPARE_COMMIT, COMPLETE_COMMIT) if request.is_commit else (PREPARE_ABORT, COMPLETE_ABORT)
    state = transaction.state
    if state is ONGOING:
        return _write(transaction, transaction.metadata.moved(decided, now_ms), TransactionReply())
    if state is complete:
        return _refused(ErrorCode.NONE)
    if state is decided:
        return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    asked = "commit" if request.is_commit else "abort"
    return _refused(
        ErrorCode.INVALID_TXN_STATE, f"{transaction.id}: a producer wants to {asked}, but the id is in {state.name}"
    )


# ---- time


def _abort_if_timed_out(transaction: Transaction, now_ms: int) -> TransactionOutcome:
    if not is_timed_out(transaction, now_ms):
        return NOTHING
    took_ms = now_ms - transaction.metadata.start_ms
    note = (
        f"{transaction.id}: the transaction of producer id {transaction.metadata.producer_id} is aborted: it has run "
        f"for {took_ms} ms, and its producer's transaction.timeout.ms is {transaction.metadata.timeout_ms}"
    )
    return _fence(transaction, now_ms, TransactionReply(), note)


def is_timed_out(transaction: Transaction, now_ms: int) -> bool:
    """Whether AbortIfTimedOut does anything."""
    metadata = transaction.metadata
    return (
        metadata.state is ONGOING
        and transaction.pending is None
        and metadata.start_ms + metadata.timeout_ms < now_ms
    )


def _remove_if_expired(transaction: Transaction, moment: TransactionMoment) -> TransactionOutcome:
    metadata = transaction.metadata
    if not is_expired(transaction, moment.now_ms, moment.limits.transactional_id_expiration_ms):
        return NOTHING
    transaction.pending = Pending(metadata.moved(DEAD, metadata.last_update_ms))
    return TransactionOutcome(tombstone=True)


def is_expired(transaction: Transaction, now_ms: int, expiration_ms: int) -> bool:
    """Whether RemoveIfExpired does anything."""
    metadata = transaction.metadata
    return (
        metadata.last_update_ms <= now_ms - expiration_ms
        and transaction.pending is None
        and metadata.state in MAY_EXPIRE
    )


# ---- results of appends and markers


def _appended(transaction: Transaction, error: ErrorCode, moment: TransactionMoment) -> TransactionOutcome:
    pending = transaction.pending
    assert pending is not None, f"{transaction.id}: no record was to be appended"
    state = pending.metadata.state
    if error is not ErrorCode.NONE:
        return _append_failed(transaction, pending, append_error(error))
    transaction.pending = None
    if state is DEAD:
        return TransactionOutcome(is_removed=True)
    transaction.metadata = pending.metadata
    if pending.failures:
        note = f"{transaction.id}: {state.name} is written, after {pending.failures} attempts that failed"
        return TransactionOutcome(pending.reply, note=note)
    if state in IS_DECIDED:
        return _send_markers(transaction, moment)._replace(reply=pending.reply)
    return TransactionOutcome(pending.reply)


def _append_failed(transaction: Transaction, pending: Pending, error: ErrorCode) -> TransactionOutcome:
    state = pending.metadata.state
    if state in {COMPLETE_COMMIT, COMPLETE_ABORT}:
        # Every partition has its marker: nothing else can become of the transaction. A coordinator that has lost the
        # partition drops it with all of its transactions.
        failures = pending.failures + 1
        transaction.pending = pending._replace(failures=failures, last_error=error)
        note = "" if error is pending.last_error else (
            f"{transaction.id}: {state.name} could not be written ({error.name}); this is retried until it is written"
        )
        return TransactionOutcome(append_failures=failures, note=note, is_warning=True)
    transaction.pending = None
    if pending.is_fence:
        transaction.has_failed_fence = True
    note = f"{transaction.id}: {state.name} could not be written ({error.name}); it is in {transaction.state.name}"
    return TransactionOutcome(TransactionReply(error), note=note)


def _send_markers(transaction: Transaction, moment: TransactionMoment) -> TransactionOutcome:
    """The decision is in the log: sends the markers to the partitions; the completion waits for them."""
    metadata = transaction.metadata
    is_commit = metadata.state is PREPARE_COMMIT
    complete = metadata.moved(COMPLETE_COMMIT if is_commit else COMPLETE_ABORT, moment.now_ms)
    transaction.has_failed_fence = False
    transaction.pending = Pending(complete._replace(partitions=()))
    return TransactionOutcome(
        markers=TransactionMarkers(
            transaction.id,
            metadata.producer_id,
            metadata.producer_epoch,
            moment.coordinator_epoch,
            is_commit,
            metadata.partitions,
        )
    )


def _markers_ended(transaction: Transaction, outcome: MarkerOutcome) -> TransactionOutcome:
    pending = transaction.pending
    assert pending is not None, f"{transaction.id}: no markers were sent"
    if outcome is MarkerOutcome.COMPLETE:
        return TransactionOutcome(record=pending.metadata)
    note = f"{transaction.id}: its markers were refused, for another coordinator has taken over; they are dropped"
    return TransactionOutcome(note=note, is_warning=True)

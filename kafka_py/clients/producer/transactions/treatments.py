"""What a transactional producer does about each error in a response, as a table: one row per request.

An error that a row does not list is fatal, but for AddPartitionsToTxn, where it fails only the transaction.
Source: KIP-98, KIP-360, KIP-447, KIP-588; TransactionManager (the handlers of its requests).
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode


class RequestKind(Enum):
    """The requests of a transactional producer, by their names."""

    FIND_TRANSACTION_COORDINATOR = "FindCoordinator"
    FIND_GROUP_COORDINATOR = "FindCoordinator of the group"
    INIT_PRODUCER_ID = "InitProducerId"
    ADD_PARTITIONS = "AddPartitionsToTxn"
    ADD_OFFSETS = "AddOffsetsToTxn"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    END = "EndTxn"


class Treatment(Enum):
    """What follows from an error."""

    RETRY = "the same request is sent again after a back-off"
    FIND_COORDINATOR = "as RETRY, after the coordinator was found again"
    ABORT = "the transaction has failed; the next one may succeed"
    RENEW = "as ABORT; the next transaction needs a new epoch. Fatal where brokers cannot give one (before 2.5)"
    FENCED = "another producer has taken over the transactional id"
    FATAL = "this producer cannot be used any longer"


RETRY = Treatment.RETRY
FIND_COORDINATOR = Treatment.FIND_COORDINATOR
ABORT = Treatment.ABORT
RENEW = Treatment.RENEW
FENCED = Treatment.FENCED
FATAL = Treatment.FATAL

_UNREACHED = {
    ErrorCode.NETWORK_EXCEPTION: FIND_COORDINATOR,  # no response, or no connection
    ErrorCode.BROKER_NOT_AVAILABLE: FIND_COORDINATOR,
}
_MOVED = {
    **_UNREACHED,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: FIND_COORDINATOR,
    ErrorCode.NOT_COORDINATOR: FIND_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: RETRY,
}
_FENCING = {ErrorCode.INVALID_PRODUCER_EPOCH: FENCED, ErrorCode.PRODUCER_FENCED: FENCED}
_FORGOTTEN = {ErrorCode.UNKNOWN_PRODUCER_ID: RENEW, ErrorCode.INVALID_PRODUCER_ID_MAPPING: RENEW}

TREATMENTS: dict[RequestKind, dict[ErrorCode, Treatment]] = {
    RequestKind.FIND_TRANSACTION_COORDINATOR: {
        **_UNREACHED,
        ErrorCode.COORDINATOR_NOT_AVAILABLE: RETRY,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: RETRY,
    },
    RequestKind.FIND_GROUP_COORDINATOR: {
        **_UNREACHED,
        ErrorCode.COORDINATOR_NOT_AVAILABLE: RETRY,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: RETRY,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: ABORT,
    },
    RequestKind.INIT_PRODUCER_ID: {**_MOVED, **_FENCING, ErrorCode.CONCURRENT_TRANSACTIONS: RETRY},
    RequestKind.ADD_PARTITIONS: {
        **_MOVED,
        **_FENCING,
        **_FORGOTTEN,
        ErrorCode.CONCURRENT_TRANSACTIONS: RETRY,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: RETRY,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: FATAL,
        ErrorCode.INVALID_TXN_STATE: FATAL,
        ErrorCode.UNSUPPORTED_VERSION: FATAL,
        ErrorCode.SASL_AUTHENTICATION_FAILED: FATAL,  # of the connection (TransactionManager.authenticationFailed)
    },
    RequestKind.ADD_OFFSETS: {
        **_MOVED,
        **_FENCING,
        **_FORGOTTEN,
        ErrorCode.CONCURRENT_TRANSACTIONS: RETRY,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: ABORT,
    },
    RequestKind.COMMIT_OFFSETS: {
        **_MOVED,
        **_FENCING,
        ErrorCode.REQUEST_TIMED_OUT: FIND_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: RETRY,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: ABORT,
        ErrorCode.FENCED_INSTANCE_ID: ABORT,
        ErrorCode.UNKNOWN_MEMBER_ID: ABORT,
        ErrorCode.ILLEGAL_GENERATION: ABORT,
    },
    RequestKind.END: {**_MOVED, **_FENCING, **_FORGOTTEN, ErrorCode.CONCURRENT_TRANSACTIONS: RETRY},
}

_FATAL_FOR_BATCHES = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
)


def treatment(request: RequestKind, code: ErrorCode) -> Treatment:
    """How an error in the response to a request is treated."""
    unlisted = ABORT if request is RequestKind.ADD_PARTITIONS else FATAL
    return TREATMENTS[request].get(code, unlisted)


def batch_treatment(code: ErrorCode) -> Treatment:
    """What follows for the transaction when a batch of it could not be delivered.

    INVALID_PRODUCER_EPOCH fails the transaction only: the coordinator then tells whether the producer is fenced
    (KIP-588).
    """
    if code is ErrorCode.PRODUCER_FENCED:
        return FENCED
    return FATAL if code in _FATAL_FOR_BATCHES else ABORT


class Reaction(NamedTuple):
    """What the driver does before the next request.

    pauses: it waits for retry.backoff.ms; only shortly when `soon`. forgets: the coordinator is looked for again.
    """

    pauses: bool = False
    soon: bool = False
    forgets: bool = False


DONE = Reaction()


def is_refusal(code: ErrorCode) -> bool:
    """Whether the leader says with this error that it has not stored the batch, nor will.

    The sequence of such a batch may be used again by a producer that cannot have another epoch.
    """
    return not code.retriable and code not in (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.SASL_AUTHENTICATION_FAILED,  # of a connection: the attempt before it may be stored
    )


_ORDER = (FATAL, FENCED, FIND_COORDINATOR, RETRY, RENEW, ABORT)


def strongest(treatments: Iterable[Treatment]) -> Treatment:
    """The treatment that prevails in a response with several errors: fatal ones, then retries, then aborts."""
    return min(treatments, key=_ORDER.index)

"""How each error of each request is treated: the whole table, against the handlers of Apache's producer."""

import itertools

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.clients.producer.transactions.treatments import (
    RequestKind,
    Treatment,
    batch_treatment,
    strongest,
    treatment,
)

E, K, T = ErrorCode, RequestKind, Treatment
COORDINATORS = {
    E.COORDINATOR_NOT_AVAILABLE: T.FIND_COORDINATOR,
    E.NOT_COORDINATOR: T.FIND_COORDINATOR,
    E.NETWORK_EXCEPTION: T.FIND_COORDINATOR,
    E.BROKER_NOT_AVAILABLE: T.FIND_COORDINATOR,
    E.COORDINATOR_LOAD_IN_PROGRESS: T.RETRY,
}
FENCED = {E.INVALID_PRODUCER_EPOCH: T.FENCED, E.PRODUCER_FENCED: T.FENCED}
LOST = {E.UNKNOWN_PRODUCER_ID: T.RENEW, E.INVALID_PRODUCER_ID_MAPPING: T.RENEW}
FINDING = {
    E.NETWORK_EXCEPTION: T.FIND_COORDINATOR,
    E.BROKER_NOT_AVAILABLE: T.FIND_COORDINATOR,
    E.COORDINATOR_NOT_AVAILABLE: T.RETRY,
    E.COORDINATOR_LOAD_IN_PROGRESS: T.RETRY,
}
EXPECTED = {
    K.FIND_TRANSACTION_COORDINATOR: FINDING,
    K.FIND_GROUP_COORDINATOR: {**FINDING, E.GROUP_AUTHORIZATION_FAILED: T.ABORT},
    K.INIT_PRODUCER_ID: {**COORDINATORS, **FENCED, E.CONCURRENT_TRANSACTIONS: T.RETRY},
    K.ADD_PARTITIONS: {
        **dict.fromkeys(E, T.ABORT),
        **COORDINATORS, **FENCED, **LOST,
        E.CONCURRENT_TRANSACTIONS: T.RETRY,
        E.UNKNOWN_TOPIC_OR_PARTITION: T.RETRY,
        E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: T.FATAL,
        E.INVALID_TXN_STATE: T.FATAL,
        E.SASL_AUTHENTICATION_FAILED: T.FATAL,
        E.UNSUPPORTED_VERSION: T.FATAL,
    },
    K.ADD_OFFSETS: {
        **COORDINATORS, **FENCED, **LOST,
        E.CONCURRENT_TRANSACTIONS: T.RETRY,
        E.GROUP_AUTHORIZATION_FAILED: T.ABORT,
    },
    K.COMMIT_OFFSETS: {
        **COORDINATORS, **FENCED,
        E.REQUEST_TIMED_OUT: T.FIND_COORDINATOR,
        E.UNKNOWN_TOPIC_OR_PARTITION: T.RETRY,
        E.GROUP_AUTHORIZATION_FAILED: T.ABORT,
        E.FENCED_INSTANCE_ID: T.ABORT,
        E.UNKNOWN_MEMBER_ID: T.ABORT,
        E.ILLEGAL_GENERATION: T.ABORT,
    },
    K.END: {**COORDINATORS, **FENCED, **LOST, E.CONCURRENT_TRANSACTIONS: T.RETRY},
}  # fmt: skip


@pytest.mark.parametrize("kind", RequestKind)
def test_each_error_of_each_request(kind: RequestKind) -> None:
    for code in ErrorCode:
        if code is not ErrorCode.NONE:
            assert treatment(kind, code) is EXPECTED[kind].get(code, T.FATAL), code


def test_each_error_of_a_batch() -> None:
    fatal = {E.CLUSTER_AUTHORIZATION_FAILED, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.UNSUPPORTED_VERSION}
    for code in ErrorCode:
        expected = T.FENCED if code is E.PRODUCER_FENCED else T.FATAL if code in fatal else T.ABORT
        assert batch_treatment(code) is expected, code


def test_of_several_errors_a_fatal_one_prevails_then_a_retry() -> None:
    order = [T.FATAL, T.FENCED, T.FIND_COORDINATOR, T.RETRY, T.RENEW, T.ABORT]
    for first, second in itertools.combinations(order, 2):
        assert strongest([second, first]) is strongest([first, second]) is first

"""The states of a transactional producer, and the moves between them.

Source: KIP-98, KIP-360; TransactionManager.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class ProducerTransactionState(Enum):
    """Where a transactional producer is."""

    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"  # InitProducerId is under way: at the start, or for the next epoch after an abort
    READY = "ready"  # no transaction is open
    IN_TRANSACTION = "in a transaction"
    COMMITTING_TRANSACTION = "committing"
    ABORTING_TRANSACTION = "aborting"
    ABORTABLE_ERROR = "in a failed transaction"  # nothing is possible but an abort
    FATAL_ERROR = "failed"  # nothing is possible but to close the producer


UNINITIALIZED = ProducerTransactionState.UNINITIALIZED
INITIALIZING = ProducerTransactionState.INITIALIZING
READY = ProducerTransactionState.READY
IN_TRANSACTION = ProducerTransactionState.IN_TRANSACTION
COMMITTING = ProducerTransactionState.COMMITTING_TRANSACTION
ABORTING = ProducerTransactionState.ABORTING_TRANSACTION
ABORTABLE_ERROR = ProducerTransactionState.ABORTABLE_ERROR
FATAL_ERROR = ProducerTransactionState.FATAL_ERROR

MOVES = moves_between("transactional producer", {
    UNINITIALIZED:   [INITIALIZING, FATAL_ERROR],
    INITIALIZING:    [READY, FATAL_ERROR],
    READY:           [IN_TRANSACTION, FATAL_ERROR],
    IN_TRANSACTION:  [COMMITTING, ABORTING, ABORTABLE_ERROR, FATAL_ERROR],
    COMMITTING:      [READY, ABORTABLE_ERROR, FATAL_ERROR],
    ABORTING:        [READY, INITIALIZING, FATAL_ERROR],
    ABORTABLE_ERROR: [ABORTING, FATAL_ERROR],
    FATAL_ERROR:     [],
})  # fmt: skip
"""From each state, the states it may move to. ABORTING to INITIALIZING: a new epoch has to be had (KIP-360)."""

"""The states of a transactional id and the legal moves between them; the only place that lists them.

What happens on a move is machine.py's. Source: docs/reference/transactions.md, section 1.
"""

from enum import IntEnum

from kafka_py.base.moves import moves_between


class TransactionState(IntEnum):
    """The state of an id's latest transaction; the number is its code in records."""

    EMPTY = 0  # a producer has its id and epoch, but no transaction yet
    ONGOING = 1
    PREPARE_COMMIT = 2  # decided; markers are being written
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4  # every partition has its marker
    COMPLETE_ABORT = 5
    DEAD = 6  # being removed; never written
    PREPARE_EPOCH_FENCE = 7  # precedes an abort that the producer did not request; never written


EMPTY = TransactionState.EMPTY
ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
PREPARE_ABORT = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
DEAD = TransactionState.DEAD
PREPARE_EPOCH_FENCE = TransactionState.PREPARE_EPOCH_FENCE

MOVES = moves_between("transaction", {
    EMPTY:               [EMPTY, ONGOING, DEAD],
    ONGOING:             [ONGOING, PREPARE_COMMIT, PREPARE_ABORT, PREPARE_EPOCH_FENCE],
    PREPARE_EPOCH_FENCE: [PREPARE_ABORT],
    PREPARE_COMMIT:      [COMPLETE_COMMIT],
    PREPARE_ABORT:       [COMPLETE_ABORT],
    COMPLETE_COMMIT:     [EMPTY, ONGOING, DEAD],
    COMPLETE_ABORT:      [EMPTY, ONGOING, DEAD],
})  # fmt: skip
"""From each state, the states it may move to. EMPTY to EMPTY: another producer, or another epoch, before any write."""

IS_DECIDED = frozenset((PREPARE_COMMIT, PREPARE_ABORT))
MAY_EXPIRE = frozenset(MOVES.before(DEAD))
NEVER_WRITTEN = frozenset((DEAD, PREPARE_EPOCH_FENCE))

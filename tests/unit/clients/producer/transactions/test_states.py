"""The moves between the states of a transactional producer, all of them."""

import itertools
from pathlib import Path

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.clients.producer.transactions.states import MOVES, ProducerTransactionState

S = ProducerTransactionState
ROOT = Path(__file__).resolve().parents[5]
ALLOWED = {
    (S.UNINITIALIZED, S.INITIALIZING),
    (S.INITIALIZING, S.READY),
    (S.READY, S.IN_TRANSACTION),
    (S.IN_TRANSACTION, S.COMMITTING_TRANSACTION),
    (S.IN_TRANSACTION, S.ABORTING_TRANSACTION),
    (S.IN_TRANSACTION, S.ABORTABLE_ERROR),
    (S.COMMITTING_TRANSACTION, S.READY),
    (S.COMMITTING_TRANSACTION, S.ABORTABLE_ERROR),
    (S.ABORTING_TRANSACTION, S.READY),
    (S.ABORTING_TRANSACTION, S.INITIALIZING),
    (S.ABORTABLE_ERROR, S.ABORTING_TRANSACTION),
}


@pytest.mark.parametrize(("state", "target"), list(itertools.product(S, S)))
def test_every_move_is_allowed_or_refused_as_in_apache_kafka(
    state: ProducerTransactionState, target: ProducerTransactionState
) -> None:
    if (state, target) in ALLOWED or (target is S.FATAL_ERROR and state is not S.FATAL_ERROR):
        assert MOVES.after(state, target) is target
    else:
        with pytest.raises(IllegalMove):
            MOVES.after(state, target)


def test_the_picture_in_the_documentation_is_this_table() -> None:
    assert MOVES.diagram() in (ROOT / "docs" / "transactions.md").read_text()

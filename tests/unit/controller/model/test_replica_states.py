"""The table of legal moves of a replica, walked in full."""

import itertools

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.controller.model.replica_states import MOVES, ReplicaState
from kafka_py.controller.model.replica_states import ReplicaState as R

VALID_PREVIOUS = {  # as docs/reference/controller.md has it, by target
    R.NEW: {R.NON_EXISTENT},
    R.ONLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.OFFLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.DELETION_STARTED: {R.OFFLINE},
    R.DELETION_SUCCESSFUL: {R.DELETION_STARTED},
    R.DELETION_INELIGIBLE: {R.OFFLINE, R.DELETION_STARTED},
    R.NON_EXISTENT: {R.DELETION_SUCCESSFUL},
}


@pytest.mark.parametrize(("state", "target"), list(itertools.product(ReplicaState, repeat=2)))
def test_every_legal_move_works_and_every_other_raises(state: ReplicaState, target: ReplicaState) -> None:
    if state in VALID_PREVIOUS[target]:
        assert MOVES.after(state, target) is target
    else:
        with pytest.raises(IllegalMove):
            MOVES.after(state, target)

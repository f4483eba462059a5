"""The tables of legal moves, walked in full."""

import itertools

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.partition_states import PartitionState as P
from kafka_py.controller.model.replica_states import ReplicaState as R

VALID_PREVIOUS = {  # as controller.md has it, by target
    P.NEW: {P.NON_EXISTENT},
    P.ONLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.OFFLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.NON_EXISTENT: {P.OFFLINE},
    R.NEW: {R.NON_EXISTENT},
    R.ONLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.OFFLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.DELETION_STARTED: {R.OFFLINE},
    R.DELETION_SUCCESSFUL: {R.DELETION_STARTED},
    R.DELETION_INELIGIBLE: {R.OFFLINE, R.DELETION_STARTED},
    R.NON_EXISTENT: {R.DELETION_SUCCESSFUL},
}


@pytest.mark.parametrize(("table", "states"), [(partition_states.MOVES, P), (replica_states.MOVES, R)])
def test_every_legal_move_works_and_every_other_raises(table, states):
    for state, target in itertools.product(states, states):
        if state in VALID_PREVIOUS[target]:
            assert table.after(state, target) is target
        else:
            with pytest.raises(IllegalMove):
                table.after(state, target)

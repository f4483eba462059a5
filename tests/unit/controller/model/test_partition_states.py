"""The table of legal moves of a partition, walked in full."""

import itertools

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.controller.model.partition_states import MOVES, PartitionState

VALID_PREVIOUS = {  # as docs/reference/controller.md has it, by target
    PartitionState.NEW: {PartitionState.NON_EXISTENT},
    PartitionState.ONLINE: {PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE},
    PartitionState.OFFLINE: {PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE},
    PartitionState.NON_EXISTENT: {PartitionState.OFFLINE},
}


@pytest.mark.parametrize(("state", "target"), list(itertools.product(PartitionState, repeat=2)))
def test_every_legal_move_works_and_every_other_raises(state: PartitionState, target: PartitionState) -> None:
    if state in VALID_PREVIOUS[target]:
        assert MOVES.after(state, target) is target
    else:
        with pytest.raises(IllegalMove):
            MOVES.after(state, target)

"""The table of the states of a move, walked in full."""

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.replication.move_states import COPYING, DONE, FAILED, MOVES, STOPPED, UNALIGNED, MoveState
from kafka_py.replication.mover import FutureLogMove
from kafka_py.testing.fakes.logs import MemoryLog

WAY = {UNALIGNED: [], COPYING: [COPYING], DONE: [COPYING, DONE], STOPPED: [STOPPED], FAILED: [FAILED]}
"""From the beginning to each state."""


@pytest.mark.parametrize("to", MoveState)
@pytest.mark.parametrize("state", MoveState)
def test_every_change_of_the_table_can_be_made_and_no_other(state: MoveState, to: MoveState) -> None:
    move = FutureLogMove(MemoryLog())  # type: ignore[arg-type]
    for each in WAY[state]:
        move.become(each)
    if MOVES.allows(state, to):
        move.become(to)
        assert move.state is to
    else:
        with pytest.raises(IllegalMove):
            move.become(to)

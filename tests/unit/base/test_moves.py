"""State tables."""

import enum

import pytest

from kafka_py.base.moves import IllegalMove, Move, Moves, moves_between


class State(enum.Enum):
    EMPTY = 0
    ONGOING = 1
    PREPARED = 2
    DONE = 3


class AddPartitions:
    pass


class Commit:
    pass


TABLE: Moves[State, type] = Moves(
    "transaction",
    {
        State.EMPTY: {AddPartitions: State.ONGOING},
        State.ONGOING: {AddPartitions: State.ONGOING, Commit: State.PREPARED},
    },
)


def test_every_legal_move_works_and_every_other_raises() -> None:
    legal = {(move.state, move.event): move.next_state for move in TABLE}
    assert len(legal) == 3
    for state in State:
        for event in (AddPartitions, Commit):
            if (state, event) in legal:
                assert TABLE.allows(state, event)
                assert TABLE.after(state, event) is legal[(state, event)]
            else:
                assert not TABLE.allows(state, event)
                with pytest.raises(IllegalMove):
                    TABLE.after(state, event)


def test_the_error_names_table_state_and_event() -> None:
    with pytest.raises(IllegalMove, match=r"transaction: no move 'Commit' from 'EMPTY'"):
        TABLE.after(State.EMPTY, Commit)


def test_states_that_are_only_reached_are_states_too() -> None:
    assert TABLE.states == (State.EMPTY, State.ONGOING, State.PREPARED)
    assert TABLE.events(State.PREPARED) == ()


def test_before_gives_the_valid_previous_states() -> None:
    assert TABLE.before(State.ONGOING) == (State.EMPTY, State.ONGOING)


def test_moves_between_states() -> None:
    table = moves_between("partition", {"NEW": ["ONLINE", "OFFLINE"], "ONLINE": ["OFFLINE"]})
    assert table.after("NEW", "ONLINE") == "ONLINE"
    assert next(iter(table)) == Move("NEW", "ONLINE", "ONLINE")
    with pytest.raises(IllegalMove):
        table.after("OFFLINE", "NEW")


def test_the_diagram_shows_every_move() -> None:
    assert TABLE.diagram().splitlines() == [
        "stateDiagram-v2",
        "    EMPTY --> ONGOING: AddPartitions",
        "    ONGOING --> ONGOING: AddPartitions",
        "    ONGOING --> PREPARED: Commit",
    ]
    assert "    NEW --> ONLINE\n" in moves_between("partition", {"NEW": ["ONLINE"]}).diagram()

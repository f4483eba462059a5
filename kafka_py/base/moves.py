"""State tables: which moves between states are legal, and the one error for all others.

A table is data; this file is what reads it. Two shapes are common: {state: {event: next state}} (a coordinator), and
{state: states it may go to} (a partition on the controller). Nothing here knows what a state means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

S = TypeVar("S")
E = TypeVar("E")


class IllegalMove(Exception):
    """A state was asked for a move that its table does not have: a bug in the caller, never bad input."""

    def __init__(self, table: str, state: object, event: object) -> None:
        super().__init__(f"{table}: no move {label(event)!r} from {label(state)!r}")
        self.table = table
        self.state = state
        self.event = event


class Move(NamedTuple, Generic[S, E]):
    """One row of a table."""

    state: S
    event: E
    next_state: S


class Moves(Generic[S, E]):
    """A state table.

    moves: for each state its events and where they lead. A state that is only reached needs no row of its own: it
        has no moves. The table is copied, so that later changes to the argument change nothing.
    """

    def __init__(self, name: str, moves: Mapping[S, Mapping[E, S]]) -> None:
        self.name = name
        self._moves: dict[S, dict[E, S]] = {state: dict(row) for state, row in moves.items()}
        for row in list(self._moves.values()):
            for reached in row.values():
                self._moves.setdefault(reached, {})

    def after(self, state: S, event: E) -> S:
        """The state that `event` leads to. Raises IllegalMove."""
        try:
            return self._moves[state][event]
        except KeyError:
            raise IllegalMove(self.name, state, event) from None

    def allows(self, state: S, event: E) -> bool:
        return event in self._moves.get(state, ())

    def events(self, state: S) -> tuple[E, ...]:
        """What may happen in `state`, in the order of the table."""
        return tuple(self._moves.get(state, ()))

    @property
    def states(self) -> tuple[S, ...]:
        """Every state of the table, those with a row first."""
        return tuple(self._moves)

    def before(self, state: S) -> tuple[S, ...]:
        """The states with a move to `state`: Kafka's "valid previous states"."""
        return tuple(origin for origin, row in self._moves.items() if state in row.values())

    def __iter__(self) -> Iterator[Move[S, E]]:
        for state, row in self._moves.items():
            for event, next_state in row.items():
                yield Move(state, event, next_state)

    def diagram(self) -> str:
        """The table as a Mermaid state diagram, for docs."""
        lines = ["stateDiagram-v2"]
        for move in self:
            arrow = f"    {label(move.state)} --> {label(move.next_state)}"
            lines.append(arrow if move.event == move.next_state else f"{arrow}: {label(move.event)}")
        return "\n".join(lines) + "\n"


def moves_between(name: str, targets: Mapping[S, Iterable[S]]) -> Moves[S, S]:
    """A table where the event is simply the state to become: `table.after(state, ONLINE)` is ONLINE or IllegalMove."""
    return Moves(name, {state: {target: target for target in row} for state, row in targets.items()})


def label(value: Any) -> str:
    """How a state or event shows in errors and diagrams: an enum member or class by its name."""
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else str(value)

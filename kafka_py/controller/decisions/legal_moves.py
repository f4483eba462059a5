"""Selects the partitions or replicas that may move to a state; illegal moves are logged and left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from kafka_py.base.moves import Moves, label
from kafka_py.base.steps import slices
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.plan import Plan, Worked

S = TypeVar("S")
T = TypeVar("T")


def legal(
    moves: Moves[S, S], kind: str, subjects: Collection[T], state_of: Callable[[T], S], target: S, notes: LogLines
) -> Plan[dict[T, S]]:
    """The subjects that may move to `target`, each with its present state."""
    found: dict[T, S] = {}
    for some in slices(subjects):
        for subject in some:
            state = state_of(subject)
            if moves.allows(state, target):
                found[subject] = state
            else:
                yield from notes.error(
                    "Illegal move of %s %s from %s to %s", kind, subject, label(state), label(target)
                )
        yield from Worked(len(some))
    return found

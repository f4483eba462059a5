"""The form of a decision: a plan, which asks for one step after the other and gets what came of each.

A plan is a generator over values: it looks at the controller context and changes it, and yields what is to be done
outside, in ZooKeeper or at brokers, as a Step. Whoever drives it, executor.py or a test, does the step and resumes the
plan with the outcome, or raises in it what went wrong. So all that follows from an event can be read, and tested,
without ZooKeeper, brokers or a loop.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

R = TypeVar("R")
T = TypeVar("T")

SLICE = 256
"""So many elements are dealt with before others have the loop; each may cost some 10 microseconds."""


class Step(Generic[R]):
    """Something that a plan cannot do itself. `outcome = yield from step` is how a plan asks for it."""

    __slots__ = ()

    def __iter__(self) -> Generator[Step[Any], Any, R]:
        outcome: R = yield self
        return outcome


Plan: TypeAlias = Generator[Step[Any], Any, T]
"""Steps, and what the decision comes to in the end."""


@dataclass(frozen=True, slots=True)
class Worked(Step[None]):
    """So many elements were dealt with; `of` such elements are a turn, after which others have the loop."""

    elements: int
    of: int = SLICE


def slices(elements: Iterable[T], size: int = SLICE) -> Iterator[list[T]]:
    """The elements in their order, in lists of at most `size`. A plan asks for `Worked` after each of them.

    The collection must not change meanwhile.
    """
    remaining = iter(elements)
    while some := list(islice(remaining, size)):
        yield some

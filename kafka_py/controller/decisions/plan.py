"""The form of a decision: a plan, which yields one step after the other and gets the outcome of each.

A plan is a generator over values: it reads and changes the controller context, and yields what is to be done elsewhere,
in ZooKeeper or at brokers, as a Step. The driver, executor.py or a test, carries out the step and resumes the plan with
the outcome, or raises the error in it. So everything that follows from an event can be read, and tested, without
ZooKeeper, brokers or a loop.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

R = TypeVar("R")
T = TypeVar("T")

SLICE = 256
"""The number of elements processed between two yields to other work on the loop; each may take some 10 microseconds."""


class Step(Generic[R]):
    """Something that a plan cannot do itself; it writes `outcome = yield from step`."""

    __slots__ = ()

    def __iter__(self) -> Generator[Step[Any], Any, R]:
        outcome: R = yield self
        return outcome


Plan: TypeAlias = Generator[Step[Any], Any, T]
"""A generator of steps that returns the result of the decision."""


@dataclass(frozen=True, slots=True)
class Worked(Step[None]):
    """Reports processed elements; after `of` such elements the executor yields to other work on the loop."""

    elements: int
    of: int = SLICE


def slices(elements: Iterable[T], size: int = SLICE) -> Iterator[list[T]]:
    """The elements in order, in lists of at most `size`. A plan yields `Worked` after each list.

    The collection must not change meanwhile.
    """
    remaining = iter(elements)
    while some := list(islice(remaining, size)):
        yield some

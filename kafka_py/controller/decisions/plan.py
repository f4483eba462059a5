"""The form of a decision: a plan, which yields one step after the other and gets the outcome of each.

A plan is a generator over values: it reads and changes the controller context, and yields what is to be done elsewhere,
in ZooKeeper or at brokers, as a Step. The driver, executor.py or a test, carries out the step and resumes the plan with
the outcome, or raises the error in it. So everything that follows from an event can be read, and tested, without
ZooKeeper, brokers or a loop.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from kafka_py.base.steps import SLICE

R = TypeVar("R")
T = TypeVar("T")


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
    """Reports processed elements; after `of` such elements the executor yields to other work on the loop.

    A plan yields it after each list of `slices` (base/steps.py).
    """

    elements: int
    of: int = SLICE

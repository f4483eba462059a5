"""Long work as a generator that stops after every few elements; who drives it decides what happens between (turns.py).

Pure: without a loop and without a clock.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

SLICE = 256
"""So many elements are dealt with before others have the loop; each may cost some 10 microseconds."""


def slices(elements: Iterable[T], size: int = SLICE) -> Iterator[list[T]]:
    """The elements in their order, in lists of at most `size`; a generator yields after each of them.

    The collection must not change meanwhile.
    """
    remaining = iter(elements)
    while some := list(islice(remaining, size)):
        yield some


def to_end(steps: Generator[None, None, T]) -> T:
    """What the generator returns, without a stop. Raises what it raises."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result

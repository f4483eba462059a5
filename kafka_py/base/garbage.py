"""Keeps the pieces small in which the garbage collector looks at new objects.

The collector begins when so many more objects were made than freed since it last looked. While many old objects are
freed, as those of a large request are, it therefore does not begin, however many new ones are made meanwhile: it would
look at all of them later, in one piece that holds the loop for tens of milliseconds.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

COLLECT_AFTER = 2048
"""Elements freed between two looks. Each is a few objects, and may have hidden as many new ones."""
_UP_TO_MIDDLE = 1
"""The generations that are looked at: one piece of the objects that are not old yet."""


class Freed:
    """Counts what is freed in turns, and has the collector look at the new objects after each COLLECT_AFTER."""

    __slots__ = ("_collect", "_count")

    def __init__(self, collect: Callable[[int], object] = gc.collect) -> None:
        self._collect = collect
        self._count = 0

    def add(self, elements: int) -> None:
        self._count += elements
        if self._count >= COLLECT_AFTER:
            self._count = 0
            self._collect(_UP_TO_MIDDLE)

"""Takes messages of very many structs apart in turns: to free them at once would hold the loop as long as to make them.

Only objects without another reference are taken apart, by the interpreter's own count of references: a row that a
cache, a group or a fetch session has kept stays as it is, with all that is in it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from sys import getrefcount
from typing import Any

from kafka_py.base.garbage import Freed
from kafka_py.wire.schema import Message, schema_of

STEP_VALUES = 128
"""So many elements of an array are freed between two stops."""
_FEW = 5
"""An array with fewer elements, which have no arrays in turn, is freed with what holds it."""


def dismantle(messages: list[Any]) -> Generator[None, None, None]:
    """Empties the list and the arrays of the messages in it, and stops after every few elements.

    Whatever is in the list and is no message, or is held by others too, is only dropped.
    """
    return _dismantle(messages, Freed())


def _dismantle(messages: list[Any], freed: Freed) -> Generator[None, None, None]:
    while messages:
        part = messages[-STEP_VALUES:]
        del messages[-STEP_VALUES:]
        arrays = _arrays_of(part)
        while arrays:
            yield from _dismantle(arrays.pop(), freed)
        freed.add(len(part))
        part.clear()
        yield


def _arrays_of(items: list[Any]) -> list[list[Any]]:
    """The arrays in those items that have no other reference, and too many values to be freed with the item."""
    found, least = [], []
    for item, count in zip(items, _counts(items), strict=True):
        if count <= _ALONE:
            for name, is_nested in _array_names(type(item)):
                found.append(getattr(item, name))
                least.append(1 if is_nested else _FEW)
    return [
        array for array, count, at_least in zip(found, _counts(found), least, strict=True)
        if count <= _ALONE + 1 and type(array) is list and len(array) >= at_least
    ]  # fmt: skip


_known: dict[type, tuple[tuple[str, bool], ...]] = {}


def _array_names(cls: type) -> tuple[tuple[str, bool], ...]:
    """The arrays of a struct, and whether their elements have arrays in turn."""
    names = _known.get(cls)
    if names is None:
        names = _known[cls] = tuple(_find_arrays(cls)) if issubclass(cls, Message) else ()
    return names


def _find_arrays(cls: type) -> Iterator[tuple[str, bool]]:
    arrays = [(field.name, field.element) for field in schema_of(cls).fields if field.is_array]
    for name, element in arrays:
        yield name, isinstance(element, type) and bool(_array_names(element))


def _counts(items: list[Any]) -> list[int]:
    """How many references there are to each."""
    return [getrefcount(item) for item in items]


_ALONE = _counts([object()])[0]
"""The count of what is nowhere but in the list that was asked about."""

"""Whether a message has very many structs in its arrays: one short function for each class, written on first use.

Asked for every response, so a class without arrays of structs costs one look-up and a short message little more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_py.wire.encoding import STEP_ELEMENTS
from kafka_py.wire.schema import Scalar, schema_of
from kafka_py.wire.source import Source

_made: dict[type, Callable[[Any], bool]] = {}


def needs_turns(message: Any) -> bool:
    """Whether its encoder in turns would stop on the way; a message for which it would not is better encoded at once.

    Structs are counted in every version's fields, so it may be true where a version leaves some out.
    """
    counts = _made.get(type(message))
    if counts is None:
        counts = _made[type(message)] = _written(type(message))
    return counts(message)


def _written(cls: type) -> Callable[[Any], bool]:
    src = Source(f"count {schema_of(cls).name}", "def count(o0):", {})
    if _has_structs(cls):
        src.line(f"left = {STEP_ELEMENTS - 1}")
        _count(src, cls, 0)
    src.line("return False")
    return src.build("count")


def _has_structs(cls: type) -> bool:
    """Whether there are arrays of structs anywhere in it."""
    elements = [(field, field.element) for field in schema_of(cls).fields if not isinstance(field.element, Scalar)]
    return any(field.is_array or _has_structs(element) for field, element in elements)


def _count(src: Source, cls: type, depth: int) -> None:
    """Counts what is in o<depth>, the elements of an array before what they hold; ends as soon as there are many."""
    for field in schema_of(cls).fields:
        if isinstance(field.element, Scalar):
            continue
        inner = f"o{depth + 1}"
        if field.is_array:
            src.line(f"a{depth} = o{depth}.{field.name}")
            with src.block(f"if a{depth}:"):
                src.line(f"left -= len(a{depth})")
                with src.block("if left < 0:"):
                    src.line("return True")
                if _has_structs(field.element):
                    with src.block(f"for {inner} in a{depth}:"):
                        _count(src, field.element, depth + 1)
        elif _has_structs(field.element):
            src.line(f"{inner} = o{depth}.{field.name}")
            with src.block(f"if {inner} is not None:"):
                _count(src, field.element, depth + 1)

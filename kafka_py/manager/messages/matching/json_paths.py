"""Paths into JSON documents: `$.order.items[0].price`, `$['a b']`, `[*]`, `.*`, and `..name` at any depth.

A document is what a JSON text (or Avro, or MessagePack) decodes to. Reading and replacing go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

MOST_PATH_CHARACTERS = 300
MOST_PATH_STEPS = 30
MOST_VALUES = 200
"""So many values of one path are looked at."""
MOST_VISITED = 20_000
"""So many members and elements are visited for them, which bounds paths such as `$..*..*`."""


class InvalidPath(ValueError):
    """A path that is malformed or too long."""


class PathStep(NamedTuple):
    """One step: a member's name, an index, or (None) every member and element. deep: at any depth below."""

    name: str | int | None
    deep: bool = False


class JsonPath(NamedTuple):
    """The steps from the whole document, which a path without steps is."""

    text: str
    steps: tuple[PathStep, ...]

    def values(self, document: Any) -> list[Any]:
        """What the path leads to, at most MOST_VALUES."""
        found, visits = [document], iter(range(MOST_VISITED))
        for step in self.steps:
            found = list(islice((value for each in found for value in _reached(each, step, visits)), MOST_VALUES))
        return found

    def replaced(self, document: Any, change: Callable[[Any], Any]) -> Any:
        """A copy of the document with what the path leads to changed."""
        return _replaced(document, self.steps, change)


def parse_path(text: str) -> JsonPath:
    """The path that is written there. Raises InvalidPath."""
    text = text.strip()
    if len(text) > MOST_PATH_CHARACTERS:
        raise InvalidPath(f"the path has {len(text)} characters, at most {MOST_PATH_CHARACTERS} are read")
    position = 1 if text.startswith("$") else 0
    if not text.startswith(("$", ".", "[")):
        text, position = f".{text}", 0
    steps: list[PathStep] = []
    while position < len(text):
        step, position = _next_step(text, position)
        steps.append(step)
        if len(steps) > MOST_PATH_STEPS:
            raise InvalidPath(f"the path has more than {MOST_PATH_STEPS} steps")
    return JsonPath(text, tuple(steps))


def _next_step(text: str, position: int) -> tuple[PathStep, int]:
    """(the step at `position`, where it ends)."""
    if text[position] == "[":
        name, position = _in_brackets(text, position)
        return PathStep(name), position
    deep = text.startswith("..", position)
    if text[position] != ".":
        raise InvalidPath(f"a step begins with a dot or a bracket, not {text[position]!r} at character {position + 1}")
    position += 2 if deep else 1
    if deep and text[position : position + 1] == "[":
        bracketed, position = _in_brackets(text, position)
        return PathStep(bracketed, deep=True), position
    end = position
    while end < len(text) and text[end] not in ".[":
        end += 1
    name = text[position:end]
    if not name:
        raise InvalidPath(f"a step without a name at character {position + 1}")
    return PathStep(None if name == "*" else name, deep), end


def _in_brackets(text: str, position: int) -> tuple[str | int | None, int]:
    """(the name or index in the brackets at `position`, where they end)."""
    quote = text[position + 1 : position + 2]
    if quote in ("'", '"'):
        end = text.find(f"{quote}]", position + 2)
        if end < 0:
            raise InvalidPath(f"a name in brackets has no end, from character {position + 1} on")
        return text[position + 2 : end], end + 2
    end = text.find("]", position)
    inside = text[position + 1 : end] if end > 0 else ""
    if inside == "*":
        return None, end + 1
    digits = inside.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 9:
        raise InvalidPath(f"brackets hold an index, a name in quotes or *, at character {position + 1}")
    return int(inside), end + 1


def _children(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list):
        return list(enumerate(value))
    return []


def _is_at(value: Any, key: str | int, step: PathStep) -> bool:
    """Whether `key` of `value` is what the step names."""
    if step.name is None or key == step.name:
        return True
    return isinstance(step.name, int) and isinstance(value, list) and step.name < 0 and key == len(value) + step.name


def _reached(value: Any, step: PathStep, visits: Iterator[int]) -> Iterator[Any]:
    """What one step leads to, while there are visits left."""
    for key, child in _children(value):
        if next(visits, None) is None:
            return
        if _is_at(value, key, step):
            yield child
        if step.deep:
            yield from _reached(child, step, visits)


def _replaced(value: Any, steps: tuple[PathStep, ...], change: Callable[[Any], Any]) -> Any:
    if not steps:
        return change(value)
    if not isinstance(value, dict | list):
        return value
    step, rest = steps[0], steps[1:]
    made = dict(value) if isinstance(value, dict) else list(value)
    for key, child in _children(value):
        if step.deep:
            child = _replaced(child, steps, change)
        if _is_at(value, key, step):
            child = _replaced(child, rest, change)
        made[key] = child  # type: ignore[index]
    return made

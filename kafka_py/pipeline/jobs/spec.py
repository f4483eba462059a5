"""A pipeline's file as values: YAML or TOML, every key checked, every error naming the key.

Pure, but for reading the file. What a key means is with the job that reads it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from kafka_py.base.errors import ConfigError

T = TypeVar("T")

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


class Section:
    """One mapping of the file. Keys are read one by one; `finish` refuses those that were not read."""

    def __init__(self, values: Mapping[str, Any], path: str = "") -> None:
        self._values = dict(values)
        self._path = path
        self._taken: set[str] = set()

    def full_name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def error(self, key: str, what: str) -> ConfigError:
        return ConfigError(f"{self.full_name(key)} {what}")

    def has(self, key: str) -> bool:
        """Whether there is a value; a key without one (`every_s:`) is as good as none."""
        if self._values.get(key) is None:
            self._taken.add(key)
            return False
        return True

    def raw(self, key: str) -> Any:
        self._taken.add(key)
        return self._values.get(key)

    def _checked(self, key: str, default: T | None, kinds: tuple[type, ...], what: str) -> Any:
        value = self.raw(key)
        if value is None:
            if default is None:
                raise self.error(key, f"is missing: {what}")
            return default
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            # What should be a mapping may be settings with a password among them.
            raise self.error(key, f"must be {what}, not {type(value).__name__ if dict in kinds else repr(value)}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Raises ConfigError when it is missing and there is no default."""
        return str(self._checked(key, default, (str, int, float), "text"))

    def maybe_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def number(self, key: str, default: float | None = None) -> float:
        return float(self._checked(key, default, (int, float), "a number"))

    def flag(self, key: str, default: bool) -> bool:
        return bool(self._checked(key, default, (bool,), "true or false"))

    def choice(self, key: str, *words: str, default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in words:
            raise self.error(key, f"must be one of {', '.join(words)}, not {value!r}")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of texts, or one text; empty when it is missing."""
        value = self.raw(key)
        if value is None:
            return []
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(key, f"must be a list of texts, not {value!r}")
        return list(value)

    def settings(self, key: str) -> dict[str, str]:
        """A mapping of names to plain values, as text."""
        value = self._checked(key, {}, (dict,), "a mapping")
        return {str(name): _plain(each) for name, each in value.items()}

    def section(self, key: str) -> Section:
        """A mapping; an empty one when it is missing."""
        return Section(self._checked(key, {}, (dict,), "a mapping"), self.full_name(key))

    def finish(self) -> None:
        """Raises ConfigError for a key that was not read."""
        extra = sorted(set(self._values) - self._taken)
        if extra:
            known = ", ".join(sorted(self._taken))
            near = get_close_matches(extra[0], self._taken, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise self.error(extra[0], f"is not a key of this place{meant}; those are {known}")


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_file(path: Path, variables: Mapping[str, str] | None = None) -> Section:
    """The file as a section; ${NAME} and ${NAME:-default} stand for variables. Raises ConfigError."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    text = _filled(text, {**os.environ, **(variables or {})}, path)
    parse = _toml if path.suffix == ".toml" else _yaml
    try:
        values = parse(text)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must be a mapping of keys")
    return Section(values)


def _toml(text: str) -> Any:
    return tomllib.loads(text)


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ConfigError("PyYAML is missing: pip install 'kafka_py[spark]', or write the file as .toml") from None
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        # Its text quotes the line, in which there may be a password.
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise ValueError(f"is not YAML: {error.problem}{line}") from None
    except yaml.YAMLError:
        raise ValueError("is not YAML: it has characters that YAML does not allow") from None


def _filled(text: str, variables: Mapping[str, str], path: Path) -> str:
    def value(found: re.Match[str]) -> str:
        given = variables.get(found[1], found[2])
        if given is None:
            raise ConfigError(f"{path}: {found[0]} has no value: set the variable, or pass --set {found[1]}=...")
        return given

    return _VARIABLE.sub(value, text)


def each_of(section: Section, key: str, make: Callable[[Section], T]) -> list[T]:
    """A list of mappings, each made a value and finished."""
    found = []
    for number, each in enumerate(section.raw(key) or []):
        name = f"{section.full_name(key)}[{number}]"
        if not isinstance(each, dict):
            raise ConfigError(f"{name} must be a mapping, not {each!r}")
        part = Section(each, name)
        found.append(make(part))
        part.finish()
    return found

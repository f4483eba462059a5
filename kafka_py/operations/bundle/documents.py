"""Any value as what JSON knows: dataclasses and named tuples by their fields, enums by value, errors as text."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Mapping
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """The value in dicts, lists, texts, numbers and None."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(each) for name, each in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {str(_key(name)): plain(each) for name, each in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return str(value) if isinstance(value, uuid.UUID | BaseException) else repr(value)


def _key(name: Any) -> Any:
    return name.value if isinstance(name, Enum) else name


def json_text(value: Any) -> str:
    """Indented, with a line end."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False) + "\n"

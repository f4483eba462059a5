"""Models as JSON: dataclasses and named tuples become objects, enums their names, bytes base64."""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
from collections.abc import Mapping, Set
from pathlib import PurePath
from typing import Any


def to_json(value: Any) -> Any:
    """The value with nothing but JSON's own types in it. Raises TypeError for what has no form there."""
    if value is None or isinstance(value, bool | float) or type(value) in (int, str):
        return value
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value, str) else value.name
    if isinstance(value, int | str):
        return int(value) if isinstance(value, int) else str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: to_json(getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {_key(key): to_json(each) for key, each in value.items()}
    if isinstance(value, Set):
        return [to_json(each) for each in sorted(value)]
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, BaseException | PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _key(key: Any) -> str:
    return key.name.lower() if isinstance(key, enum.Enum) and not isinstance(key, str) else str(key)


def to_bytes(value: Any) -> bytes:
    """The model as a JSON document. Lone surrogates, which are not valid in UTF-8, are escaped."""
    return json.dumps(to_json(value), ensure_ascii=True).encode()

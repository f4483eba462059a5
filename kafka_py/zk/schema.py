"""Declaration of znodes: @znode(path, version) over a class whose annotated fields are the JSON keys.

A declared class is a frozen dataclass with `path(...)`, `encode()` and `decode(data)`. Types are checked strictly on
reading (a string is never accepted for a number, nor a number for a string), unknown keys are ignored, and an optional
key (annotated `| None`) that is None is left out of the JSON, never written as null.
Knows no znode by name: znodes.py is the table. Source: docs/reference/zookeeper.md, section 1.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
import uuid
from collections.abc import Callable, Mapping
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from kafka_py.base.ids import uuid_from_text, uuid_to_text

T = TypeVar("T", bound="ZNode")

_PARAMETER = re.compile(r"\{(\w+)\}")
_SHOWN_BYTES = 200


class MalformedZNode(ValueError):
    """The data does not match the declaration of the znode."""


class NumberText(int):
    """A number that JSON holds as a string."""


class JsonType(NamedTuple):
    """Both directions of one field type; `read` raises ValueError for a JSON value of another type."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class ZNode:
    """Base of the declared znodes; the decorator sets the attributes listed here."""

    TEMPLATE: ClassVar[str] = ""
    VERSION: ClassVar[int | str | None] = None
    STRICT: ClassVar[bool] = False
    ORDER: ClassVar[tuple[str, ...]] = ()
    FIELDS: ClassVar[Mapping[str, tuple[JsonType, bool]]] = {}
    FORMAT: ClassVar[str] = ""

    @classmethod
    def path(cls, *parameters: object) -> str:
        """The path, its parameters in the order of the template; a sequential znode's lacks the number."""
        return cls.FORMAT % parameters

    def to_json(self) -> dict[str, Any]:
        """The JSON object, with the keys in the order in which Kafka writes them."""
        row: dict[str, Any] = {}
        for key in self.ORDER:
            if key == "version" and key not in self.FIELDS:
                row[key] = self.VERSION
                continue
            value = getattr(self, key)
            if value is not None:
                row[key] = self.FIELDS[key][0].write(value)
        return row

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        """The value of a JSON object. Raises MalformedZNode for a missing key or a wrong type."""
        values = {}
        unknown = row.keys() - {"version", *cls.FIELDS} if cls.STRICT else None
        if unknown:
            raise MalformedZNode(f"{cls.__name__}: unknown key {', '.join(sorted(unknown))} in {row}")
        for key, (kind, optional) in cls.FIELDS.items():
            value = row.get(key)
            if value is None:
                if not optional:
                    raise MalformedZNode(f"{cls.__name__}: no {key!r} in {row}")
                continue
            try:
                values[key] = kind.read(value)
            except ValueError as error:
                raise MalformedZNode(f"{cls.__name__}: {key!r} {error}") from None
        return cls(**values)

    def encode(self) -> bytes:
        """The znode's data."""
        return dump_json(self.to_json())

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        """The value of a znode's data. Raises MalformedZNode."""
        return cls.from_json(load_json(data, cls.__name__))


def dump_json(row: Mapping[str, Any]) -> bytes:
    """Compact JSON, UTF-8, keys in the order given."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()


def load_json(data: bytes | None, name: str) -> dict[str, Any]:
    """A JSON object. Raises MalformedZNode for anything else; `name` is for the message."""
    try:
        row = json.loads(data or b"")
    except (ValueError, RecursionError):  # the latter for thousands of nested brackets
        raise MalformedZNode(f"{name}: not JSON: {_beginning(data)}") from None
    if not isinstance(row, dict):
        raise MalformedZNode(f"{name}: not a JSON object: {_beginning(data)}")
    return row


def is_json(data: bytes | None) -> bool:
    """Whether the data is any JSON value."""
    try:
        json.loads(data or b"")
    except (ValueError, RecursionError):
        return False
    return True


def _beginning(data: bytes | None) -> str:
    """Data for a log line, truncated."""
    return repr(data) if data is None or len(data) <= _SHOWN_BYTES else f"{data[:_SHOWN_BYTES]!r}..."


@dataclass_transform(frozen_default=True, kw_only_default=False)
def znode(
    path: str, *, version: int | str | None = None, keys: str | None = None, strict: bool = False
) -> Callable[[type[T]], type[T]]:
    """Declares a znode.

    path: template; `{name}` are the parameters of `path()`; a trailing `_` marks a sequential znode.
    version: the value of the "version" key as written. keys: the JSON keys as Kafka orders them; default: version,
        then the fields as declared. strict: an unknown key makes the whole znode malformed.
    """

    def declare(cls: type[T]) -> type[T]:
        declared = dataclasses.dataclass(frozen=True)(cls)
        hints = get_type_hints(cls)
        fields = {
            field.name: _field(hints[field.name], _has_default(field), strict)
            for field in dataclasses.fields(declared)  # type: ignore[arg-type]
        }
        declared.TEMPLATE = path
        declared.FORMAT = _PARAMETER.sub("%s", path.replace("%", "%%"))
        declared.VERSION = version
        declared.STRICT = strict
        declared.FIELDS = fields
        first = () if version is None or "version" in fields else ("version",)
        declared.ORDER = tuple(keys.split()) if keys else (*first, *fields)
        return declared

    return declare


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _field(hint: Any, has_default: bool, strict: bool) -> tuple[JsonType, bool]:
    """(type, whether the key may be absent) of an annotation."""
    if get_origin(hint) in (types.UnionType, Union):
        (inner,) = [part for part in get_args(hint) if part is not type(None)]
        return _json_type(inner, strict), True
    return _json_type(hint, strict), has_default


def _json_type(hint: Any, strict: bool) -> JsonType:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is list:
        return _list_of(_json_type(arguments[0], strict))
    if origin is dict:
        return _map_of(arguments[0], _json_type(arguments[1], strict))
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _row_of(hint, strict)
    return _SCALARS[hint]


def _read_int(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"is not a number: {value!r}")
    return value


def _read_str(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"is not a string: {value!r}")
    return value


def _read_number_text(value: Any) -> NumberText:
    return NumberText(_read_str(value))


def _read_uuid(value: Any) -> uuid.UUID:
    return uuid_from_text(_read_str(value))


_SCALARS: dict[Any, JsonType] = {
    int: JsonType(int, _read_int),
    str: JsonType(str, _read_str),
    NumberText: JsonType(str, _read_number_text),
    uuid.UUID: JsonType(uuid_to_text, _read_uuid),
}


def _list_of(item: JsonType) -> JsonType:
    def read(value: Any) -> list[Any]:
        if type(value) is not list:
            raise ValueError(f"is not a list: {value!r}")
        return [item.read(one) for one in value]

    return JsonType(lambda values: [item.write(one) for one in values], read)


def _map_of(key: type, item: JsonType) -> JsonType:
    """JSON objects; integer keys are written as text."""

    def read(value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
            raise ValueError(f"is not an object: {value!r}")
        return {key(name): item.read(one) for name, one in value.items()}

    return JsonType(lambda values: {str(name): item.write(one) for name, one in values.items()}, read)


def _row_of(cls: type, strict: bool) -> JsonType:
    """NamedTuples as JSON objects with their field names as keys."""
    hints = {name: _json_type(hint, strict) for name, hint in get_type_hints(cls).items()}

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise ValueError(f"is not an object: {value!r}")
        wrong = hints.keys() ^ value.keys() if strict else hints.keys() - value.keys()
        if wrong:
            raise ValueError(f"missing or unknown key {', '.join(sorted(wrong))}: {value!r}")
        return cls(**{name: kind.read(value[name]) for name, kind in hints.items()})

    def write(row: Any) -> dict[str, Any]:
        return {name: kind.write(getattr(row, name)) for name, kind in hints.items()}

    return JsonType(write, read)

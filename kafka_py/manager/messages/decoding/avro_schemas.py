"""Avro schemas from files: by the id of a schema registry or by fingerprint; and which are safe to decode with.

The files of a folder: `<id>.avsc` is the schema with that id (as Confluent's serializers write it in front of a value),
and every file is also found by the CRC-64-AVRO fingerprint of its schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

_PRIMITIVES = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
MOST_BYTES_OF_RECURSION = 1_000
"""Of a schema that contains itself each byte may be one level, and too many of them crash the decoder."""

MOST_VALUES_OF_A_RECORD = 10_000


class UnsafeSchema(ValueError):
    """A schema with which a few bytes decode to something without bound."""


class AvroSchema(NamedTuple):
    """A schema that is safe to decode with. parsed: as fastavro wants it."""

    name: str
    parsed: Any
    is_recursive: bool


class AvroSchemas(NamedTuple):
    """Schemas by id and by fingerprint (8 bytes, as they are in front of a message)."""

    by_id: Mapping[int, AvroSchema]
    by_fingerprint: Mapping[bytes, AvroSchema]


NO_SCHEMAS = AvroSchemas({}, {})


def load_schemas(files: Mapping[str, str]) -> AvroSchemas:
    """The schemas of files, given as name to text. Raises ValueError with the name of a file that cannot be used.

    Needs fastavro: raises ImportError without it.
    """
    by_id: dict[int, AvroSchema] = {}
    by_fingerprint: dict[bytes, AvroSchema] = {}
    for name, text in sorted(files.items()):
        try:
            raw = json.loads(text)
            schema = checked_schema(raw, name)
            print_of_it = _fingerprint(raw)
        except Exception as error:
            raise ValueError(f"the Avro schema {name} cannot be used: {error}") from None
        by_fingerprint[print_of_it] = schema
        stem = name.removesuffix(".avsc")
        if stem.isascii() and stem.isdecimal():
            by_id[int(stem)] = schema
    return AvroSchemas(by_id, by_fingerprint)


def checked_schema(raw: Any, name: str) -> AvroSchema:
    """The schema, parsed. Raises UnsafeSchema, and whatever fastavro raises for what is no schema."""
    walk = _SchemaWalk()
    walk.visit(raw, ())
    parsed = import_module("fastavro").parse_schema(raw)
    return AvroSchema(name, parsed, walk.is_recursive)


def _fingerprint(raw: Any) -> bytes:
    schemas = import_module("fastavro.schema")
    digits: str = schemas.fingerprint(schemas.to_parsing_canonical_form(raw), "CRC-64-AVRO")
    return bytes.fromhex(digits)


class _Extent(NamedTuple):
    """What one value of a type takes at least: bytes, and values inside it."""

    least_bytes: int = 1
    values: int = 1


_NOTHING = _Extent(0)


class _SchemaWalk:
    """Looks for types that contain themselves, and for few bytes that stand for very many values."""

    def __init__(self) -> None:
        self.is_recursive = False
        self._named: dict[str, _Extent] = {}

    def visit(self, schema: Any, enclosing: tuple[str, ...]) -> _Extent:
        """Raises UnsafeSchema. enclosing: the names of records around this one, without namespaces."""
        if isinstance(schema, str):
            return self._visit_name(schema, enclosing)
        if isinstance(schema, list):
            return _Extent(1, max((self.visit(branch, enclosing).values for branch in schema), default=1))
        if not isinstance(schema, dict):
            raise UnsafeSchema(f"{schema!r} is no type")
        kind = schema.get("type")
        if kind in ("record", "error"):
            return self._visit_record(schema, enclosing)
        if kind == "array":
            if self.visit(schema.get("items"), enclosing).least_bytes < 1:
                raise UnsafeSchema("it has a list whose items may take no bytes")
            return _Extent()
        if kind == "map":
            self.visit(schema.get("values"), enclosing)
            return _Extent()
        if kind in ("fixed", "enum"):
            size = 1 if kind == "enum" else schema.get("size")
            self._named[_short(schema.get("name"))] = found = _Extent(size if isinstance(size, int) else 0)
            return found
        return self.visit(kind, enclosing)

    def _visit_name(self, name: str, enclosing: tuple[str, ...]) -> _Extent:
        if name in _PRIMITIVES:
            return _Extent({"null": 0, "float": 4, "double": 8}.get(name, 1))
        if _short(name) in enclosing:
            self.is_recursive = True
            return _NOTHING
        return self._named.get(_short(name), _NOTHING)

    def _visit_record(self, schema: dict[str, Any], enclosing: tuple[str, ...]) -> _Extent:
        name = _short(schema.get("name"))
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
            raise UnsafeSchema(f"the record {name} has no list of fields")
        extents = [self.visit(field.get("type"), (*enclosing, name)) for field in fields]
        found = _Extent(sum(each.least_bytes for each in extents), 1 + sum(each.values for each in extents))
        if found.values > MOST_VALUES_OF_A_RECORD:
            raise UnsafeSchema(f"the record {name} has more than {MOST_VALUES_OF_A_RECORD} fields, with those inside")
        self._named[name] = found
        return found


def _short(name: object) -> str:
    return str(name).rpartition(".")[2]

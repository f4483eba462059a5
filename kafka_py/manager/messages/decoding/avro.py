"""Avro values to documents, in the three framings that are found in topics. Needs fastavro, which is optional.

Layout: an object container file begins with `Obj` and 1; a single object with C3 01 and the 8 bytes of its schema's
fingerprint, little-endian; Confluent's serializers write 0 and an int32 schema id, big-endian.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from kafka_py.manager.messages.decoding.avro_schemas import (
    MOST_BYTES_OF_RECURSION,
    AvroSchema,
    AvroSchemas,
    checked_schema,
)
from kafka_py.manager.messages.decoding.documents import MOST_DOCUMENT_BYTES, NoDocument, plain

CONTAINER, SINGLE_OBJECT, CONFLUENT = b"Obj\x01", b"\xc3\x01", b"\x00"
MOST_CONTAINED = 100
"""Values of a container that are shown."""
MOST_COMPRESSED_BYTES = 16 * 1024
"""A compressed container may grow a thousandfold."""


def looks_like_avro(data: bytes, schemas: AvroSchemas) -> bool:
    """Whether the first bytes are those of a framing, with a schema that is known where one is named."""
    if data.startswith(CONTAINER):
        return True
    return _named_schema(data, schemas) is not None


def read_avro(data: bytes, schemas: AvroSchemas) -> Any:
    """The document. Raises NoDocument, also where fastavro is not installed."""
    if len(data) > MOST_DOCUMENT_BYTES:
        raise NoDocument(f"an Avro value of more than {MOST_DOCUMENT_BYTES} bytes is not decoded")
    try:
        if data.startswith(CONTAINER):
            return plain(_contained(data))
        named = _named_schema(data, schemas)
        if named is None:
            raise NoDocument("no schema is known for this value, and it is no object container")
        schema, start = named
        return plain(_one(data, start, schema))
    except NoDocument:
        raise
    except ImportError:
        raise NoDocument("Avro needs the package fastavro, which is not installed") from None
    except Exception as error:  # fastavro raises what its parts raise for malformed bytes
        raise NoDocument(f"not Avro of that schema: {type(error).__name__} {error}") from None


def _named_schema(data: bytes, schemas: AvroSchemas) -> tuple[AvroSchema, int] | None:
    """The schema that the first bytes name, and where the value begins."""
    if data.startswith(SINGLE_OBJECT) and len(data) >= 10:
        schema = schemas.by_fingerprint.get(data[2:10])
        return None if schema is None else (schema, 10)
    if data.startswith(CONFLUENT) and len(data) >= 5:
        schema = schemas.by_id.get(int.from_bytes(data[1:5], "big"))
        return None if schema is None else (schema, 5)
    return None


def _one(data: bytes, start: int, schema: AvroSchema) -> Any:
    _check_recursion(schema, data)
    source = io.BytesIO(data)
    source.seek(start)
    value = import_module("fastavro").schemaless_reader(source, schema.parsed)
    if source.tell() != len(data):
        raise NoDocument(f"{len(data) - source.tell()} bytes are left behind the value")
    return value


def _contained(data: bytes) -> list[Any]:
    reader = import_module("fastavro").reader(io.BytesIO(data))
    if reader.codec != "null" and len(data) > MOST_COMPRESSED_BYTES:
        raise NoDocument(f"a compressed container of more than {MOST_COMPRESSED_BYTES} bytes is not decoded")
    schema = checked_schema(reader.writer_schema, "of the container")
    _check_recursion(schema, data)
    if schema.is_recursive and reader.codec != "null":
        raise NoDocument("a compressed container is not decoded with a schema that contains itself")
    values = []
    for value in reader:
        values.append(value)
        if len(values) >= MOST_CONTAINED:
            break
    return values


def _check_recursion(schema: AvroSchema, data: bytes) -> None:
    if schema.is_recursive and len(data) > MOST_BYTES_OF_RECURSION:
        raise NoDocument(f"of a schema that contains itself at most {MOST_BYTES_OF_RECURSION} bytes are decoded")

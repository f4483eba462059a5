"""Documents: what JSON, Avro and MessagePack decode to, and their text. Bounded in size and depth.

A document holds None, booleans, numbers, texts, lists, and objects whose names are texts; nothing else.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

from kafka_py.manager.messages.message import printable

MOST_DOCUMENT_BYTES = 256 * 1024
"""What is larger is shown as text or hex: decoding it would hold the event loop for too long."""
DEEPEST_DOCUMENT = 100
MOST_DIGITS = 1_000


class NoDocument(ValueError):
    """Data that is no document, or one that is too large or too deep."""


def read_json(data: bytes) -> Any:
    """The document that a JSON text stands for. Raises NoDocument."""
    if len(data) > MOST_DOCUMENT_BYTES:
        raise NoDocument(f"a JSON text of more than {MOST_DOCUMENT_BYTES} bytes is not decoded")
    try:
        document = json.loads(data, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise NoDocument(f"not a JSON text: {error}") from None
    check_depth(document)
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """The number; JSON has no text for one that is too large for it, so that the document could not be sent."""
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def check_depth(document: Any) -> None:
    """Raises NoDocument for lists and objects that are nested too deeply."""
    level, depth = [document], 0
    while level:
        if depth > DEEPEST_DOCUMENT:
            raise NoDocument(f"the document is nested more than {DEEPEST_DOCUMENT} deep")
        level = [child for value in level for child in _children_of(value)]
        depth += 1


def _children_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, list | tuple):
        return [*value]
    return []


def json_text(document: Any) -> str:
    """The document as JSON on one line, which any page and any UTF-8 file can hold."""
    return printable(json.dumps(document, ensure_ascii=False, separators=(", ", ": ")))


def plain(value: Any) -> Any:
    """The value as a document: what JSON does not have becomes text. Raises NoDocument when nested too deeply."""
    check_depth(value)
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if value.bit_length() < MOST_DIGITS * 3 else hex(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {key if isinstance(key, str) else str(_plain(key)): _plain(child) for key, child in value.items()}
        case list() | tuple():
            return [_plain(child) for child in value]
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(value)).decode()
    return str(value)

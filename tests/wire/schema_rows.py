"""Message schemas as rows, one a field, in a form in which two equal schemas have equal rows.

Columns: message, path of the field (names in lower camel case joined by dots, `[]` behind an array), type (`struct` for
a structure), versions, versions in which it may be null, tag (with the versions in which it is tagged), default.
Versions are cut to those in which the message, and the structure that the field is in, exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = ("message", "field", "type", "versions", "nullable", "tagged", "default")

Span = tuple[int, int]
Row = tuple[str, ...]

_ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
_IMPLIED = {"bool": "false", "string": "", "bytes": "", "records": "null", "uuid": _ZERO_UUID}


def rows_of(message: Mapping[str, Any]) -> list[Row]:
    """The rows of one message, spelled as `python -m kafka_py.wire describe` prints it. The first is the message's."""
    valid = _span(message["validVersions"], (0, 1 << 15))
    assert valid is not None
    flexible = _text(_span(message.get("flexibleVersions"), valid))
    kind = f"{message['type']} {message.get('apiKey', '')}".strip()
    head = (message["name"], "", kind, _text(valid), "", f"flexible {flexible}" if flexible else "", "")
    structs = {each["name"]: each["fields"] for each in message.get("commonStructs", ())}
    return [head, *sorted(_fields(message["name"], "", message["fields"], valid, structs))]


def _fields(
    message: str, prefix: str, fields: Sequence[Mapping[str, Any]], valid: Span, structs: Mapping[str, Any]
) -> Iterator[Row]:
    for field in fields:
        span = _span(field["versions"], valid)
        if span is None:
            continue
        array = field["type"].startswith("[]")
        name = field["type"].removeprefix("[]")
        inner = field.get("fields") or structs.get(name)
        path = f"{prefix}{field['name'][0].lower()}{field['name'][1:]}{'[]' if array else ''}"
        nullable = _text(_span(field.get("nullableVersions"), span))
        tagged = _text(_span(field.get("taggedVersions"), span))
        tag = f"{field['tag']} in {tagged}" if tagged else ""
        default = "" if array or inner else _default(field)
        yield message, path, "struct" if inner else name, _text(span), nullable, tag, default
        if inner:
            yield from _fields(message, f"{path}.", inner, span, structs)


def _span(text: str | None, within: Span) -> Span | None:
    """The versions of both, first and last; None when there are none."""
    if not text or text == "none":
        return None
    low, _, high = text.removesuffix("+").partition("-")
    last = within[1] if text.endswith("+") else int(high or low)
    span = max(int(low), within[0]), min(last, within[1])
    return span if span[0] <= span[1] else None


def _text(span: Span | None) -> str:
    if span is None:
        return ""
    return str(span[0]) if span[0] == span[1] else f"{span[0]}-{span[1]}"


def _default(field: Mapping[str, Any]) -> str:
    kind, given = field["type"], field.get("default")
    if given == "null" or (given is None and "default" in field):
        return "null"
    if kind.startswith(("int", "uint")):
        return str(int(str(given), 0)) if given is not None else "0"
    if kind.startswith("float"):
        return str(float(given or 0))
    if given is None:
        return _IMPLIED[kind]
    return str(given).lower() if kind == "bool" else str(given)

"""Bodies of requests as fields: forms of browsers, and JSON objects, whose members become fields of the same name."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from kafka_py.manager.web.requests import BadParameter, Fields, Forbidden

LONGEST_BODY = 16 << 20
"""A produced record may be large."""
LONGEST_OPEN_BODY = 64 << 10
"""Of whoever is not logged in."""
MOST_FIELDS = 20_000


async def read_fields(request: Request, *, is_api: bool, most: int = LONGEST_BODY) -> Fields:
    """The fields of the body. most: bytes. Raises BadParameter; Forbidden for JSON calls that are not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if is_api and kind != "application/json":
        raise Forbidden("A change through the JSON interface is sent as application/json")
    body = await _read(request, most)
    if is_api:
        return fields_of_json(body)
    if kind not in ("application/x-www-form-urlencoded", ""):
        raise BadParameter(f"A form is sent as application/x-www-form-urlencoded, not {kind[:100]}")
    return fields_of_form(body)


async def _read(request: Request, most: int) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise BadParameter(f"The request is longer than {most} bytes")
    return bytes(body)


def fields_of_form(body: bytes) -> Fields:
    """The fields of a form as browsers send it."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise BadParameter(f"The form cannot be read: {error}") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields


def fields_of_json(body: bytes) -> Fields:
    """The members of an object: texts stay, lists become many fields, objects remain JSON; null is left out."""
    try:
        members = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise BadParameter(f"The body is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise BadParameter("The body is a JSON object")
    fields: dict[str, list[str]] = {}
    for name, value in members.items():
        values = value if isinstance(value, list) else [value]
        texts = [_text(each) for each in values if each is not None]
        if texts:
            fields[name] = texts
    return fields


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)

"""A message from a form: key, value and headers as text, JSON, hex or base64, to the bytes that are sent."""

from __future__ import annotations

import base64
import binascii
import json
from typing import NamedTuple

ENCODINGS = ("text", "json", "hex", "base64", "null")
MOST_PRODUCED_BYTES = 4 * 1024 * 1024
MOST_HEADERS = 100


class InvalidInput(ValueError):
    """A field of the form that cannot become bytes; the text names it."""


class NewMessage(NamedTuple):
    """What is sent. partition: None lets the producer choose."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None


def encode_field(name: str, text: str, encoding: str) -> bytes | None:
    """The bytes that a field of the form stands for. Raises InvalidInput."""
    if encoding not in ENCODINGS:
        raise InvalidInput(f"{name}: the encoding is one of {', '.join(ENCODINGS)}")
    if encoding == "null":
        return None
    try:
        data = _encoded(text, encoding)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is no {encoding}: {error}") from None
    if len(data) > MOST_PRODUCED_BYTES:
        raise InvalidInput(f"{name} has {len(data)} bytes, at most {MOST_PRODUCED_BYTES} are sent from here")
    return data


def _encoded(text: str, encoding: str) -> bytes:
    if encoding == "hex":
        return bytes.fromhex(text)
    if encoding == "base64":
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except binascii.Error as error:
            raise ValueError(str(error)) from None
    if encoding == "json":
        json.loads(text)  # sent as it was written
    return text.encode()


def line_ends(text: str) -> str:
    """The text of a form, whose line ends a browser sends as CR LF."""
    return text.replace("\r\n", "\n")


def parse_headers(text: str) -> tuple[tuple[str, bytes | None], ...]:
    """One header a line, `name: value`; a name alone has no value. Raises InvalidInput."""
    headers: list[tuple[str, bytes | None]] = []
    for line in line_ends(text).split("\n"):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not name.strip():
            raise InvalidInput(f"headers: a header has no name in {line[:60]!r}")
        try:
            headers.append((name.strip(), value.strip().encode() if colon else None))
            name.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"headers: {error}") from None
    if len(headers) > MOST_HEADERS:
        raise InvalidInput(f"headers: there are {len(headers)}, at most {MOST_HEADERS} are sent from here")
    return tuple(headers)


def parse_partition(text: str) -> int | None:
    """A partition, or None for an empty text. Raises InvalidInput."""
    text = text.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise InvalidInput(f"partition is a number, not {text[:40]!r}")
    return int(text)

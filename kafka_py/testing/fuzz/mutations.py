"""Bytes changed at random, and messages with random values. Everything comes from one random.Random: a seed repeats it.

Knows message declarations, no reader.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from kafka_py.wire.schema import Field, Message, Scalar, schema_of

_NASTY = [
    *(bytes([byte]) for byte in (0x00, 0x01, 0x7F, 0x80, 0xC3, 0xFE, 0xFF)),
    *(bytes.fromhex(text) for text in ("7fff", "8000", "ffff", "7fffffff", "ffffffff", "fffffffe", "80000000")),
    *(bytes.fromhex(text) for text in ("ffffffff0f", "8080808080", "ffffffffffffffffff01", "7fffffffffffffff")),
]
_INTEGERS = (0, 0, 1, 1, 2, 3, 5, 10, 100, 1000, 30_000, -1, -1, -2, -3)
_RANGES = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q"}


def mutate(data: bytes, chance: Random) -> bytearray:
    """A copy with one to four changes: bits flipped, bytes overwritten, cut out, put in or repeated, or cut short."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        size = len(out)
        place = chance.randint(0, size)
        kind = chance.randrange(7)
        if kind == 0 and size:
            out[place - 1] ^= 1 << chance.randrange(8)
        elif kind == 1:
            nasty = chance.choice(_NASTY)
            out[place : place + len(nasty)] = nasty
        elif kind == 2:
            out[place:place] = chance.choice(_NASTY)
        elif kind == 3:
            del out[place : place + chance.randint(1, 8)]
        elif kind == 4:
            piece = out[place : place + chance.randint(1, 16)]
            out[place:place] = piece * chance.randint(1, 3)
        elif kind == 5:
            out[place : place + 4] = chance.randbytes(4)
        elif chance.random() < 0.3:
            del out[place:]
    return out


class MessageMaker:
    """Messages with random values.

    strings: what strings are taken from. special: by field name, what makes the value of a scalar field instead.
    """

    def __init__(
        self, chance: Random, strings: Sequence[str], special: Mapping[str, Callable[[], Any]] | None = None
    ) -> None:
        self._chance = chance
        self._strings = strings
        self._special = special or {}

    def make(self, cls: type[Message], version: int) -> Message:
        """A message that the version can carry: fields that it lacks keep their defaults."""
        fields = [field for field in schema_of(cls).fields if version in field.versions]
        return cls(**{field.name: self._value(field, version) for field in fields})

    def _value(self, field: Field, version: int) -> Any:
        chance = self._chance
        if field.is_nullable(version) and chance.random() < 0.2:
            return None
        if field.is_array:
            return [self._element(field, version) for _ in range(chance.choice((0, 1, 1, 1, 2)))]
        return self._element(field, version)

    def _element(self, field: Field, version: int) -> Any:
        element = field.element
        if not isinstance(element, Scalar):
            return self.make(element, version)
        special = self._special.get(field.name)
        if special is not None:
            return special()
        return self._scalar(element.name)

    def _scalar(self, kind: str) -> Any:
        chance = self._chance
        if kind in _RANGES:
            value = chance.choice(_INTEGERS)
            code = _RANGES[kind]
            low, high = (0, 255) if code.isupper() else (-128, 127)
            return min(max(value, low), high) if struct.calcsize(code) == 1 else max(value, low if low == 0 else value)
        if kind == "string":
            return chance.choice(self._strings)
        if kind == "uuid":
            return uuid.UUID(int=chance.choice((0, chance.getrandbits(128))))
        if kind == "bool":
            return chance.random() < 0.5
        if kind == "float64":
            return chance.choice((0.0, -1.0, 1e300, float("inf")))
        return chance.randbytes(chance.choice((0, 5, 130)))  # bytes, records

"""Models as JSON, and their description."""

import enum
import json
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from kafka_py.manager.web.openapi import SchemaNames
from kafka_py.manager.web.values import to_bytes, to_json


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    one: int
    two: str | None


@dataclass(frozen=True)
class Tree:
    """A tree of pairs."""

    pairs: list[Pair]
    by_number: dict[int, Colour]
    children: list["Tree"]
    raw: bytes = b""


TREE = Tree([Pair(1, None)], {2: Colour.RED}, [Tree([], {}, [])], b"\xff")


def test_a_model_becomes_plain_json() -> None:
    assert to_json(TREE) == {
        "pairs": [{"one": 1, "two": None}],
        "by_number": {"2": "RED"},
        "children": [{"pairs": [], "by_number": {}, "children": [], "raw": ""}],
        "raw": "/w==",
    }


def test_a_lone_surrogate_is_valid_json() -> None:
    assert json.loads(to_bytes(Pair(1, "\ud800"))) == {"one": 1, "two": "\ud800"}


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object has no form in JSON"):
        to_json(object())


def test_a_schema_names_every_field_and_a_model_may_contain_itself() -> None:
    names = SchemaNames()
    assert names.schema(Tree) == {"$ref": "#/components/schemas/Tree"}
    tree = names.schemas["Tree"]
    assert tree["description"] == "A tree of pairs."
    assert tree["properties"]["children"] == {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}
    assert tree["properties"]["by_number"] == {"type": "object", "additionalProperties": {"enum": ["RED"]}}
    assert names.schemas["Pair"]["properties"]["two"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}

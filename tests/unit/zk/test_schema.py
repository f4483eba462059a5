"""How declared znodes become JSON and back."""

import dataclasses
import uuid
from typing import NamedTuple

import pytest

from kafka_py.zk.schema import MalformedZNode, NumberText, ZNode, dump_json, znode


class Row(NamedTuple):
    name: str
    number: int


@znode("/things/{kind}/{name}", version=2)
class ThingZNode(ZNode):
    count: int
    label: str
    rows: list[Row]
    by_number: dict[int, list[int]] = dataclasses.field(default_factory=dict)
    big: NumberText | None = None
    identity: uuid.UUID | None = None


@znode("/strict", version=1, strict=True)
class StrictZNode(ZNode):
    rows: list[Row]


@znode("/ordered", version=1, keys="b version a")
class OrderedZNode(ZNode):
    a: int
    b: int


THING = ThingZNode(1, "ü", [Row("r", 2)], {0: [1, 2]}, NumberText(1 << 62), uuid.UUID(int=5))


def test_a_path_takes_its_parameters_in_order_and_leaves_them_as_they_are():
    assert ThingZNode.path("k", "100%") == "/things/k/100%"
    assert StrictZNode.path() == "/strict"


def test_version_comes_first_then_the_fields_as_declared():
    assert (
        THING.encode()
        == (
            '{"version":2,"count":1,"label":"ü","rows":[{"name":"r","number":2}],"by_number":{"0":[1,2]},'
            '"big":"4611686018427387904","identity":"AAAAAAAAAAAAAAAAAAAABQ"}'
        ).encode()
    )


def test_keys_are_in_the_order_asked_for():
    assert OrderedZNode(1, 2).encode() == b'{"b":2,"version":1,"a":1}'


def test_what_was_encoded_is_decoded():
    assert ThingZNode.decode(THING.encode()) == THING


def test_an_optional_key_is_left_out_and_never_null():
    assert ThingZNode(1, "", []).encode() == b'{"version":2,"count":1,"label":"","rows":[],"by_number":{}}'


def test_absent_optional_keys_get_their_default_and_unknown_ones_are_ignored():
    read = ThingZNode.decode(b'{"count":1,"label":"x","rows":[{"name":"r","number":2,"more":3}],"more":[]}')
    assert read == ThingZNode(1, "x", [Row("r", 2)])
    assert ThingZNode.decode(b'{"count":1,"label":"x","rows":[],"big":null}').big is None


@pytest.mark.parametrize(
    "row",
    [
        {"label": "x", "rows": []},
        {"count": "1", "label": "x", "rows": []},
        {"count": 1.0, "label": "x", "rows": []},
        {"count": True, "label": "x", "rows": []},
        {"count": 1, "label": 5, "rows": []},
        {"count": 1, "label": "x", "rows": {}},
        {"count": 1, "label": "x", "rows": [5]},
        {"count": 1, "label": "x", "rows": [{"name": "r"}]},
        {"count": 1, "label": "x", "rows": [{"name": "r", "number": "2"}]},
        {"count": 1, "label": "x", "rows": [], "by_number": [1]},
        {"count": 1, "label": "x", "rows": [], "by_number": {"x": [1]}},
        {"count": 1, "label": "x", "rows": [], "by_number": {"1": ["1"]}},
        {"count": 1, "label": "x", "rows": [], "big": 5},
        {"count": 1, "label": "x", "rows": [], "big": "five"},
        {"count": 1, "label": "x", "rows": [], "identity": "short"},
    ],
)
def test_types_are_exact_and_required_keys_are_required(row):
    """No coercion: a number is never taken from a string, nor the other way round."""
    with pytest.raises(MalformedZNode, match="ThingZNode"):
        ThingZNode.decode(dump_json(row))


@pytest.mark.parametrize("data", [None, b"", b"x", b"[]", b"5", b"null", b'{"a":', b"\xff"])
def test_data_that_is_no_json_object_is_malformed(data):
    with pytest.raises(MalformedZNode):
        ThingZNode.decode(data)


def test_a_strict_znode_has_no_unknown_keys_at_any_level():
    assert StrictZNode.decode(b'{"version":7,"rows":[{"name":"r","number":2}]}').rows == [Row("r", 2)]
    for data in (b'{"rows":[],"more":1}', b'{"rows":[{"name":"r","number":2,"more":1}]}'):
        with pytest.raises(MalformedZNode, match="more"):
            StrictZNode.decode(data)


def test_values_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        THING.count = 2

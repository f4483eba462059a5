"""Avro in its three framings, with damaged bytes, and with schemas made to crash or to fill the memory."""

import io
import json
import struct

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.decoding.avro import looks_like_avro, read_avro
from kafka_py.manager.messages.decoding.avro_schemas import NO_SCHEMAS, UnsafeSchema, checked_schema, load_schemas
from kafka_py.manager.messages.decoding.documents import NoDocument

ORDER = {
    "type": "record", "name": "shop.Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]},
               {"name": "raw", "type": "bytes"}],
}  # fmt: skip
LINKED = {"type": "record", "name": "Linked", "fields": [{"name": "next", "type": ["null", "Linked"]}]}
SCHEMAS = load_schemas({"7.avsc": json.dumps(ORDER), "8.avsc": json.dumps(LINKED), "named.avsc": '"string"'})
VALUE = {"id": 5, "note": "<script>", "raw": b"\x00\xff"}
SHOWN = {"id": 5, "note": "<script>", "raw": "AP8="}


def body(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def container(schema, values, codec="null"):
    out = io.BytesIO()
    fastavro.writer(out, schema, values, codec=codec)
    return out.getvalue()


CONFLUENT = b"\x00" + struct.pack(">i", 7) + body(ORDER, VALUE)
SINGLE = b"\xc3\x01" + next(each for each, schema in SCHEMAS.by_fingerprint.items() if schema.name == "7.avsc") + body(
    ORDER, VALUE
)


@pytest.mark.parametrize("data", [CONFLUENT, SINGLE])
def test_a_value_with_its_schema_in_front(data):
    assert looks_like_avro(data, SCHEMAS)
    assert read_avro(data, SCHEMAS) == SHOWN


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_an_object_container(codec):
    data = container(ORDER, [VALUE] * 3, codec)
    assert looks_like_avro(data, NO_SCHEMAS)
    assert read_avro(data, NO_SCHEMAS) == [SHOWN] * 3


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00\x00\x00\x63x", b"\xc3\x01" + bytes(20), b"text"])
def test_what_names_no_known_schema_is_not_taken_for_avro(data):
    assert not looks_like_avro(data, SCHEMAS)
    with pytest.raises(NoDocument):
        read_avro(data, SCHEMAS)


@given(st.integers(0, len(CONFLUENT) - 1), st.integers(0, 255))
def test_a_damaged_value_is_a_document_or_refused(position, byte):
    damaged = bytearray(CONFLUENT)
    damaged[position] = byte
    for data in (bytes(damaged), bytes(damaged[:position])):
        try:
            read_avro(data, SCHEMAS)
        except NoDocument:
            pass


@given(st.data())
def test_a_damaged_container_is_a_document_or_refused(data):
    whole = bytearray(container(ORDER, [VALUE] * 2))
    position = data.draw(st.integers(4, len(whole) - 1))
    whole[position] = data.draw(st.integers(0, 255))
    try:
        read_avro(bytes(whole), SCHEMAS)
    except NoDocument:
        pass


def test_bytes_behind_the_value_are_refused():
    with pytest.raises(NoDocument, match="1 bytes are left"):
        read_avro(CONFLUENT + b"x", SCHEMAS)


def test_a_value_nested_too_deeply_is_refused_before_it_is_decoded():
    for levels in (300, 100_000):
        data = b"\x00" + struct.pack(">i", 8) + b"\x02" * levels + b"\x00"
        with pytest.raises(NoDocument):
            read_avro(data, SCHEMAS)
    shallow = b"\x00" + struct.pack(">i", 8) + b"\x02\x00"
    assert read_avro(shallow, SCHEMAS) == {"next": {"next": None}}


def test_a_container_with_a_schema_that_contains_itself_is_bounded():
    deep: dict[str, object] = {"next": None}
    for _ in range(50):
        deep = {"next": deep}
    with pytest.raises(NoDocument, match="contains itself"):
        read_avro(container(LINKED, [deep] * 40), NO_SCHEMAS)
    with pytest.raises(NoDocument, match="contains itself"):
        read_avro(container(LINKED, [{"next": None}], "deflate"), NO_SCHEMAS)


def doubling(levels):
    fields: object = {"type": "record", "name": "L0", "fields": [{"name": "a", "type": "null"}]}
    for level in range(1, levels):
        fields = {"type": "record", "name": f"L{level}",
                  "fields": [{"name": "a", "type": fields}, {"name": "b", "type": f"L{level - 1}"}]}  # fmt: skip
    return fields


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": "null"},
        {"type": "array", "items": {"type": "record", "name": "E", "fields": []}},
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}},
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "R"}}]},
        doubling(30), 5, {"type": "record", "name": "R"},
    ],
)  # fmt: skip
def test_schemas_of_which_few_bytes_are_very_many_values_are_refused(schema):
    with pytest.raises(UnsafeSchema):
        checked_schema(schema, "x")


def test_a_compressed_container_that_may_grow_is_refused():
    data = container(ORDER, [{**VALUE, "raw": bytes(range(256)) * 1_000}] * 20, "deflate")
    if len(data) <= 16 * 1024:
        data += b"x" * 20_000
    with pytest.raises(NoDocument, match="compressed"):
        read_avro(data, NO_SCHEMAS)


def test_a_file_that_is_no_schema_is_named():
    with pytest.raises(ValueError, match=r"bad\.avsc cannot be used"):
        load_schemas({"bad.avsc": '{"type": "nothing"}'})

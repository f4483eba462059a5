"""Messages from a form: what each encoding stands for, and what is refused with the name of its field."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.producing import (
    MOST_PRODUCED_BYTES,
    InvalidInput,
    encode_field,
    line_ends,
    parse_headers,
    parse_partition,
)


@given(st.binary(max_size=50))
def test_any_bytes_can_be_sent(data):
    assert encode_field("value", data.hex(), "hex") == data
    assert encode_field("value", base64.encodebytes(data).decode(), "base64") == data


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_any_text_can_be_sent(text):
    assert encode_field("key", text, "text") == text.encode()
    assert encode_field("key", json.dumps(text), "json") == json.dumps(text).encode()


def test_null_is_no_empty_text():
    assert encode_field("key", "ignored", "null") is None
    assert encode_field("key", "", "text") == b""


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("{", "json"), ("[" * 100_000, "json"), ("abc", "hex"), ("zz", "hex"), ("a===", "base64"), ("\ud800", "text"),
     ("x", "rot13"), ("x" * (MOST_PRODUCED_BYTES + 1), "text")],
)  # fmt: skip
def test_what_cannot_become_bytes_is_refused(text, encoding):
    with pytest.raises(InvalidInput, match=r"^value"):
        encode_field("value", text, encoding)


def test_headers_are_lines():
    assert parse_headers("a: 1\r\n\r\nb:\n a :2: 3\nnone") == (("a", b"1"), ("b", b""), ("a", b"2: 3"), ("none", None))
    for text in (": x", "\n".join(["a: b"] * 101), "\ud800: x"):
        with pytest.raises(InvalidInput, match=r"^headers"):
            parse_headers(text)


def test_line_ends_of_forms_are_those_of_texts():
    assert line_ends("a\r\nb\nc\r") == "a\nb\nc\r"


def test_a_partition_is_a_number_or_left_to_the_producer():
    assert parse_partition(" ") is None
    assert parse_partition("12") == 12
    for text in ("-1", "x", "9" * 20, "١"):
        with pytest.raises(InvalidInput):
            parse_partition(text)

"""Documents: bounded in size and depth, and always a JSON text that can be sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.decoding.documents import (
    MOST_DOCUMENT_BYTES,
    NoDocument,
    json_text,
    plain,
    read_json,
)


def test_a_json_text_is_a_document():
    assert read_json(b' {"a": [1, 2.5, null, true, "x"]}') == {"a": [1, 2.5, None, True, "x"]}


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"nonsense", b"[NaN]", b"[Infinity]", b"[1e999]", b'{"a": -1e400}', b"\xff",
        b"[" * 5_000, b"[" * 150 + b"]" * 150,
        b"9" * 10_000, b'{"a":' * 120 + b"1" + b"}" * 120, b'"' + b"x" * MOST_DOCUMENT_BYTES + b'"',
    ],
)  # fmt: skip
def test_what_is_none_is_refused(data):
    with pytest.raises(NoDocument):
        read_json(data)


@given(st.binary(max_size=50))
def test_any_bytes_are_a_document_or_refused(data):
    try:
        json_text(read_json(data)).encode()
    except NoDocument:
        pass


def test_half_a_surrogate_stays_valid_json():
    document = read_json(b'["\\ud800"]')
    assert json_text(document) == '["\\ud800"]'
    json_text(document).encode()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=4) | st.dates() | st.decimals(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.integers() | st.binary(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_becomes_a_document(value):
    assert json.loads(json_text(plain(value))) == plain(value)


def test_a_value_nested_too_deeply_is_refused():
    value: object = 1
    for _ in range(200):
        value = {"a": value}
    with pytest.raises(NoDocument, match="deep"):
        plain(value)
    assert plain(10**5_000).startswith("0x")

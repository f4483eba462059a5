"""Expressions over a message: what holds, what is refused, and that nothing makes one raise."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.matching.expression_syntax import InvalidExpression, parse_expression
from kafka_py.manager.messages.matching.expressions import compile_expression
from kafka_py.manager.messages.message import NULL_FIELD, MessageField, MessageHeader, TopicMessage

ORDER = {"total": 120, "customer": {"name": "O'Neil", "tags": ["new", "vip"]}, "paid": True, "note": None, "1st": 1}


def text_field(text):
    return MessageField("text", text, len(text))


def message(value=None, key="k-1", headers=()):
    field = MessageField("json", json.dumps(ORDER if value is None else value), 9, ORDER if value is None else value)
    return TopicMessage("t", 2, 41, 1_000, "CreateTime", text_field(key), field,
                   tuple(MessageHeader(name, text_field(text)) for name, text in headers))  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("value.total > 100", True), ("value.total > 120", False), ("value.total >= 120.0", True),
        ("value.total == 120 and partition == 2", True), ("value.total < 5 or offset == 41", True),
        ("not value.paid", False), ("value.paid", True), ("value.note", False), ("value.missing", False),
        ("value.note == null", True), ("value.missing == null", False), ("value.missing != 5", True),
        ("value.customer.name == \"O'Neil\"", True), ("value.customer.name == 'O\\'Neil'", True),
        ("value.customer.tags contains 'vip'", True), ("value.customer contains 'name'", True),
        ("value.customer.tags[*] == 'new'", True), ("value['1st'] == 1", True), ("value..name startswith 'O'", True),
        ("value contains 'Neil'", True), ("value matches 'O.Ne+il'", True), ("key matches '^k-\\\\d$'", True),
        ("key startswith 'k' and key endswith '1'", True), ("key in ['a', 'k-1']", True),
        ("partition in [1, 3]", False),
        ("headers.trace == 'on'", True), ("headers['x.y'] contains '2'", True), ("headers contains 'x.y: 2'", True),
        ("headers.none", False), ("headers.trace", True), ("value.total == '120'", False), ("value.paid == 1", False),
        ("value.total > 'a'", False), ("value_size == 9 and key_size == 3", True), ("timestamp > 999", True),
        ("(value.total > 1 or value.total < 0) and not (partition == 3)", True), ("not not value.paid", True),
        ("-5 < value.total", True), ("true", True), ("false or null", False), ("key > 'a' and key < 'z'", True),
    ],
)  # fmt: skip
def test_an_expression_holds_or_not(expression, holds):
    assert compile_expression(expression)(message(headers=[("trace", "on"), ("trace", "off"), ("x.y", "2")])) is holds


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "is missing"), ("value.total >", "is missing"), ("total > 1", "no field 'total'"),
        ("value.total 100", "operator is missing"), ("(key == 'a'", "closing parenthesis"),
        ("key in 'a'", "list in"), ("key in ['a' 'b']", "comma"), ("key in [value]", "numbers and texts"),
        ("key matches value", "pattern in quotes"), ("key matches '(a'", "no closing"),
        ("__import__('os')", "no field"), ("value.__class__()", "operator is missing"),
        ("partition.x == 1", "no parts"), ("key == 'a", "not understood"), ("1" * 2_000, "more than 1000"),
        ("(" * 40 + "key" + ")" * 40, "too deeply"), ("not " * 40 + "key", "too deeply"),
        ("key = 'a'", "not understood"), ("key; value", "not understood"),
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused_with_the_reason(expression, reason):
    with pytest.raises(InvalidExpression, match=reason):
        compile_expression(expression)


def test_a_scalar_document_is_a_number_and_a_text():
    number = message(value=7)
    assert compile_expression("value > 6 and value == '7'")(number)
    assert not compile_expression("value")(number._replace(value=NULL_FIELD))


@given(st.text("valuekeyhrds.[]'\"<>=!()0123 ,-and or not", max_size=40))
def test_any_text_is_an_expression_or_refused(text):
    try:
        predicate = compile_expression(text)
    except InvalidExpression:
        return
    assert predicate(message()) in (True, False)


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["total", "b"]), inner, max_size=3),
    max_leaves=6,
)
OPERATORS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "contains", "startswith", "endswith"])


@given(VALUES, st.sampled_from(["value", "value.total", "value..b", "value[0]", "value.*"]), OPERATORS,
       st.sampled_from(["5", "'a'", "null", "true", "value.b"]))  # fmt: skip
def test_no_value_makes_a_comparison_raise(value, field, operator, other):
    text = f"{field} {operator} {other}"
    assert parse_expression(text)
    assert compile_expression(text)(message(value=value)) in (True, False)

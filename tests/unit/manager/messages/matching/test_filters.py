"""The filter form: everything that is filled in has to hold."""

import pytest

from kafka_py.manager.messages.matching.filters import FilterForm, InvalidFilter, compile_filter, scalar_text
from kafka_py.manager.messages.message import NULL_FIELD, MessageField, MessageHeader, TopicMessage

VALUE = MessageField("json", '{"id": 7, "ok": true, "tags": ["a"]}', 30, {"id": 7, "ok": True, "tags": ["a"]})
MESSAGE = TopicMessage(
    "t", 0, 5, 0, "CreateTime", MessageField("text", "user-7", 6), VALUE,
    (MessageHeader("trace", MessageField("text", "on", 2)),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("form", "holds"),
    [
        (FilterForm(), True),
        (FilterForm(key="user"), True),
        (FilterForm(key="user", value="nothing"), False),
        (FilterForm(value='"id": 7'), True),
        (FilterForm(header="trace: on"), True),
        (FilterForm(header="trace: off"), False),
        (FilterForm(key="u.*-[0-9]$", is_pattern=True), True),
        (FilterForm(key="u.*-[0-9]$"), False),
        (FilterForm(json_path="$.id"), True),
        (FilterForm(json_path="$.id", json_value="7"), True),
        (FilterForm(json_path="$.id", json_value="8"), False),
        (FilterForm(json_path="$.ok", json_value="true"), True),
        (FilterForm(json_path="$.tags", json_value="a"), False),
        (FilterForm(json_path="$.tags[*]", json_value="a"), True),
        (FilterForm(expression="value.id == 7", key="user"), True),
        (FilterForm(expression=" "), True),
    ],
)
def test_all_that_is_filled_in_has_to_hold(form, holds):
    assert compile_filter(form)(MESSAGE) is holds


def test_a_form_says_whether_it_asks_for_anything():
    assert FilterForm(json_value="x", is_pattern=True, expression=" ").is_empty
    assert not FilterForm(header="x").is_empty


def test_a_path_does_not_hold_for_a_value_without_document():
    text = MESSAGE._replace(value=MessageField("text", "id", 2))
    assert not compile_filter(FilterForm(json_path="$.id"))(text)
    assert compile_filter(FilterForm(json_path="$", json_value="null"))(MESSAGE._replace(value=NULL_FIELD))


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (FilterForm(key="(", is_pattern=True), "key"),
        (FilterForm(value="x" * 1_001), "value"),
        (FilterForm(json_path="$["), "json_path"),
        (FilterForm(expression="value ="), "expression"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_field(form, field):
    with pytest.raises(InvalidFilter, match=f"^{field}: "):
        compile_filter(form)


def test_scalars_are_compared_as_they_are_typed():
    assert [scalar_text(value) for value in (None, True, False, 1, 1.5, "a", [], {})] == [
        "null", "true", "false", "1", "1.5", "a", None, None,
    ]  # fmt: skip

"""The form of messages: as it was typed, as a query of an address, and what it asks for."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.decoding.masks import masks_of
from kafka_py.manager.pages.message_parts import MessageParts, MessagesForm, checked
from kafka_py.manager.web.requests import BadParameter

TEXTS = st.text(st.characters(codec="utf-8"), max_size=10)


def test_what_is_as_by_default_is_not_in_the_address():
    assert MessagesForm().query() == ""
    query = MessagesForm(pattern=True, limit=5).query(start="before", at="0:7")
    assert query == "start=before&at=0%3A7&limit=5&pattern=true"


@given(TEXTS, TEXTS, st.booleans())
def test_an_address_has_the_form_as_it_was_typed(key, expression, committed):
    form = MessagesForm(key=key, expression=expression, committed=committed)
    found = dict(parse_qsl(form.query(), keep_blank_values=True))
    assert (found.get("key", ""), found.get("expression", "")) == (key, expression)
    assert ("committed" in found) == committed


def test_only_rules_about_the_topic_are_applied():
    parts = MessageParts(masks_of([{"topics": "a*", "key": True}, {"topics": "b", "key": True}]))
    view = checked(MessagesForm(), parts, "abc")[2]
    assert [rule.topics for rule in view.masks.rules] == ["a*"]
    assert view.predicate is None


@pytest.mark.parametrize(
    "form",
    [MessagesForm(start="time"), MessagesForm(partitions="x"), MessagesForm(key="(", pattern=True),
     MessagesForm(expression="a"), MessagesForm(json_path="$[")],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(form):
    with pytest.raises(BadParameter):
        checked(form, MessageParts(), "t")

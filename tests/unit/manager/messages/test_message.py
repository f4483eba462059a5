"""Messages as values: cut for a browser, and texts that a page can hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.message import (
    NO_DOCUMENT,
    NULL_FIELD,
    MessageField,
    MessageHeader,
    TopicMessage,
    printable,
)

LONG = MessageField("json", '"' + "x" * 98 + '"', 5_000, "x" * 98)


def test_a_message_is_cut_with_its_size_kept():
    message = TopicMessage("t", 0, 1, 2, "CreateTime", NULL_FIELD, LONG, (MessageHeader("n" * 90, LONG),)).cut_to(10)
    assert (len(message.value.text), message.value.size, message.value.is_cut) == (10, 5_000, True)
    assert message.value.document is NO_DOCUMENT
    assert (len(message.headers[0].name), message.headers[0].field.is_cut) == (10, True)
    assert message.key is NULL_FIELD
    assert message.kept_characters == 30


def test_very_many_headers_are_cut_together():
    headers = tuple(MessageHeader(f"h{number}", MessageField("text", "x" * 30, 30)) for number in range(100))
    empty = tuple(MessageHeader("", MessageField("text", "", 0)) for _ in range(1_000))
    for some in (headers, empty):
        cut = TopicMessage("t", 0, 0, 0, "", NULL_FIELD, NULL_FIELD, some).cut_to(200)
        assert 0 < len(cut.headers) < 20 and len(cut.headers) + cut.more_headers == len(some)
        assert cut.kept_characters <= 240
    assert TopicMessage("t", 0, 0, 0, "", NULL_FIELD, NULL_FIELD, headers[:2]).cut_to(200).more_headers == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"), ("<script>", "<script>"), ("a\x00b", "a\\u0000b"), ("\x7f", "\\u007f"),
        ("\ud800", "\\ud800"), ("abc\u202egnp.exe", "abc\\u202egnp.exe"), ("café 日本", "café 日本"),
        ("\x1b[31m", "\\u001b[31m"),
    ],
)  # fmt: skip
def test_what_no_page_can_hold_is_written_as_escapes(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_any_text_can_be_sent(text):
    printable(text).encode()

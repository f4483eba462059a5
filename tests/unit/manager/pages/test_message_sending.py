"""What a form of a message asks for, and what is refused."""

from dataclasses import replace

import pytest

from kafka_py.manager.messages.producing import InvalidInput, NewMessage
from kafka_py.manager.pages.message_sending import NewMessagePage, message_of

FORM = NewMessagePage("orders", "1", "key", "text", "00ff", "hex", "a: 1\nb: 2")


def test_a_message_has_what_the_form_says() -> None:
    message = message_of(FORM, partitions=2)
    assert message == NewMessage(b"key", b"\x00\xff", (("a", b"1"), ("b", b"2")), 1)
    assert message_of(replace(FORM, partition="", headers=""), partitions=2)[2:] == ((), None)


@pytest.mark.parametrize(
    ("form", "why"),
    [
        (replace(FORM, partition="2"), "partition: the topic has 2, counted from 0"),
        (replace(FORM, partition="-1"), "partition"),
        (replace(FORM, value="0g"), "value"),
        (replace(FORM, headers=": no name"), "header"),
        (replace(FORM, topic="__consumer_offsets"), "Brokers keep their own records"),
        (replace(FORM, topic="__transaction_state"), "Brokers keep their own records"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_the_field(form: NewMessagePage, why: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        message_of(form, partitions=2)
    assert why in str(raised.value)

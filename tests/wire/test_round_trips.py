"""Any message in any version comes back as it went, and no part of its bytes can be left out unnoticed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_py.wire.__main__ import message_classes
from kafka_py.wire.compiler import decoder, encode
from kafka_py.wire.primitives import MalformedMessage
from kafka_py.wire.schema import schema_of

CLASSES = list(message_classes())
QUICK = settings(
    max_examples=10,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def joined(message):
    """The message with records given in parts put together, as they come back."""
    for field in schema_of(type(message)).fields:
        value = getattr(message, field.name)
        if getattr(field.element, "name", "") == "records" and isinstance(value, list):
            setattr(message, field.name, b"".join(value))
        elif isinstance(field.element, type) and value:
            for item in value if field.is_array else [value]:
                joined(item)
    return message


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@QUICK
@given(data=st.data())
def test_a_message_comes_back_as_it_went(cls, messages, data):
    low, high = schema_of(cls).versions
    version = data.draw(st.integers(low, high), label="version")
    message = data.draw(messages(cls, version), label="message")
    encoded = encode(message, version)
    joined(message)
    for buf in (encoded, bytearray(b"123" + encoded + b"456"), memoryview(encoded)):
        start = 3 if isinstance(buf, bytearray) else 0
        assert decoder(cls, version)(buf, start) == (message, start + len(encoded))
    assert encode(message, version) == encoded


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@QUICK
@given(data=st.data())
def test_a_message_cut_off_anywhere_is_malformed(cls, messages, data):
    low, high = schema_of(cls).versions
    version = data.draw(st.integers(low, high), label="version")
    encoded = encode(data.draw(messages(cls, version), label="message"), version)
    for cut in range(len(encoded)):
        with pytest.raises(MalformedMessage, match=cls.__name__):
            decoder(cls, version)(encoded[:cut], 0)

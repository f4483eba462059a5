"""Encodings of Kafka's own classes: encoding the value gives the bytes, decoding the bytes gives the value.

1,900 of 2.8.2, and some of later APIs.
Source: docs/reference/golden-messages.tsv.gz; docs/reference/later-golden-messages.tsv.
"""

import base64
import re
from typing import Any

import pytest

from kafka_py.base.ids import uuid_from_text
from kafka_py.wire.__main__ import message_classes
from kafka_py.wire.compiler import Steps, counted_decoder, decode, decoder, encode, stepwise_decoder
from kafka_py.wire.schema import Field, Message, Scalar, schema_of

CLASSES = {cls.__name__: cls for cls in message_classes()}


def json_name(name: str) -> str:
    """Lower camel case, as the golden values spell their fields."""
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


def from_json(cls: type[Message], given: dict[str, Any]) -> Message:
    """The message that a golden line's value stands for."""
    fields = {json_name(field.name): field for field in schema_of(cls).fields}
    unknown = given.keys() - fields.keys()
    assert not unknown, f"{cls.__name__} lacks {unknown}"
    return cls(**{fields[name].name: value_of(fields[name], value) for name, value in given.items()})


def value_of(field: Field, given: Any) -> Any:
    if field.is_array and given is not None:
        return [element_of(field.element, item) for item in given]
    return element_of(field.element, given)


def element_of(element: Scalar | type[Message], given: Any) -> Any:
    if given is None:
        return None
    if not isinstance(element, Scalar):
        return from_json(element, given)
    if element.name == "uuid":
        return uuid_from_text(given)
    if element.name == "bytes":
        return base64.b64decode(given.removeprefix("b64:"))
    return given


def finished(steps: Steps[Message]) -> tuple[Message, int]:
    """What a stepwise decoder returns in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def test_all_golden_lines_are_there(golden_lines):
    assert sum(map(len, golden_lines.values())) == 1923
    assert golden_lines.keys() == CLASSES.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_golden_encodings_agree(name, golden_lines):
    cls = CLASSES[name]
    for version, value, encoded in golden_lines[name]:
        message = from_json(cls, value)
        assert encode(message, version).hex() == encoded.hex(), (version, value)
        for buf in (encoded, bytearray(encoded), memoryview(encoded)):
            assert decoder(cls, version)(buf, 0) == (message, len(encoded)), (version, value)
        assert decode(cls, version, b"before" + encoded + b"\x80\xff", 6) == message
        assert counted_decoder(cls, version)(encoded, 0, len(encoded)) == (message, len(encoded)), (version, value)
        assert finished(stepwise_decoder(cls, version)(encoded, 0, len(encoded))) == (message, len(encoded))

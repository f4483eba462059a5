"""Bodies become fields: forms, JSON objects, and what cannot be either."""

import pytest

from kafka_py.manager.web.bodies import fields_of_form, fields_of_json
from kafka_py.manager.web.requests import BadParameter


def test_a_form_may_have_a_name_many_times_and_lines_end_by_one_sign() -> None:
    assert fields_of_form(b"a=1&a=2&b=x%0D%0Ay&c=") == {"a": ["1", "2"], "b": ["x\ny"], "c": [""]}


def test_members_of_an_object_are_texts() -> None:
    body = b'{"a": "1", "b": 2, "c": [1, "x"], "d": null, "e": true, "f": {"g": 1}, "h": []}'
    assert fields_of_json(body) == {
        "a": ["1"], "b": ["2"], "c": ["1", "x"], "e": ["true"], "f": ['{"g": 1}']
    }  # fmt: skip
    assert fields_of_json(b"") == {}


@pytest.mark.parametrize("body", [b"{", b"[1]", b"1", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadParameter):
        fields_of_json(body)


@pytest.mark.parametrize("body", [b"\xff=1", b"&".join(b"a=%d" % number for number in range(20_001))])
def test_a_form_that_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(BadParameter):
        fields_of_form(body)

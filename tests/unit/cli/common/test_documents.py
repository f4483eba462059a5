"""Documents for programs: YAML that a YAML library reads as what it was."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.cli.common.documents import print_document, yaml_text

SPECIAL = ["yes", "1", "1.5", "~", "-", "a: b", "2001-01-01", "\x85", "\ufeff"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(SPECIAL),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_yaml_says_what_was_meant(value: object) -> None:
    assert yaml.safe_load(yaml_text(value)) == value


def test_yaml_is_readable(capsys: pytest.CaptureFixture[str]) -> None:
    partitions = [{"number": 0, "isr": [1, 2], "leader": None}]
    print_document([{"name": "orders", "configs": {}, "partitions": partitions}], "yaml")
    assert capsys.readouterr().out == (
        "- name: orders\n  configs: {}\n  partitions:\n    - number: 0\n      isr:\n        - 1\n        - 2\n"
        "      leader: null\n"
    )


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_document([{"a": "ü"}], "json")
    assert json.loads(capsys.readouterr().out) == [{"a": "ü"}]

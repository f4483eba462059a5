"""Property files: Java's syntax, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import format_properties, parse_properties, read_properties


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1\nb = 2\nc: 3\nd 4\n", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("# note\n! note\n\n  a=1", {"a": "1"}),
        ("a=one,\\\n   two", {"a": "one,two"}),
        ("a=1\na=2", {"a": "2"}),
        ("empty=\nbare", {"empty": "", "bare": ""}),
        (r"a\ b=c\u0041\n", {"a b": "cA\n"}),
        (r"path=C:\\dir", {"path": "C:\\dir"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
    ],
)
def test_java_syntax_is_read(text, pairs):
    assert parse_properties(text) == pairs


def test_a_malformed_escape_names_file_and_line(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("a=1\nb=\\u00g0\n")
    with pytest.raises(ConfigError, match=r"server\.properties, line 2"):
        read_properties(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.properties"):
        read_properties(tmp_path / "nowhere.properties")


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x0b\x1c\x1d\x1e\x85\u2028\u2029"), max_size=12)


@given(st.dictionaries(_TEXT.filter(bool), _TEXT))
def test_what_is_written_is_read_back(pairs):
    assert parse_properties(format_properties(pairs, ["a comment"])) == pairs

"""Patterns find what Python's `re` finds, in linear time, and what they cannot do is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.matching.pattern_syntax import InvalidPattern
from kafka_py.manager.messages.matching.patterns import PatternTooCostly, SafePattern

ATOMS = st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]", "\\d", "\\w", "x1", "[a-c0-2]", "\\."])


def pieces(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?"])).map(
            lambda each: f"(?:{each[0]}){each[1]}"
        ),
        st.tuples(inner, inner).map(lambda each: f"{each[0]}{each[1]}"),
        st.tuples(inner, inner).map(lambda each: f"({each[0]}|{each[1]})"),
    )


PATTERNS = st.tuples(
    st.sampled_from(["", "^", "(?i)", "(?i)^"]), st.recursive(ATOMS, pieces, max_leaves=6), st.sampled_from(["", "$"])
).map("".join)


@given(PATTERNS, st.text("abAB01x.\n", max_size=12))
def test_a_pattern_finds_what_python_finds(pattern, text):
    assert SafePattern(pattern).found_in(text) == (re.search(pattern, text, re.ASCII) is not None)


@given(st.text("ab(|)[]{},*+?^$\\.-1dx:", max_size=12))
def test_any_text_is_a_pattern_that_python_agrees_with_or_is_refused(pattern):
    try:
        found = SafePattern(pattern)
    except InvalidPattern:
        return
    try:
        expected = re.search(pattern, "aab1", re.ASCII) is not None
    except re.error:
        return  # such as `[^-1]` with an odd range, of which Python is stricter
    if not re.search(r"\\d|\{\}|\{,\}|\$.|.\^|[*+?}][+]", pattern):
        assert found.found_in("aab1") == expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}", "(x+x+)+y", "((a*)*)*b"])
def test_patterns_that_take_exponential_time_elsewhere_end_at_once(pattern):
    text = "a" * 5_000 + "x" * 5_000 + "!"
    assert SafePattern(pattern).found_in(text) == (pattern == "(.*a){20}")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "no closing parenthesis"),
        ("a)", "no opening one"),
        ("[a", "has no end"),
        ("*a", "nothing to repeat"),
        ("a**", "is repeated"),
        ("(?=a)", "look-around"),
        ("(?P<n", "no end"),
        (r"(a)\1", "not searched for"),
        (r"\bword", "not searched for"),
        ("a{200}", "more than 100 times"),
        ("a{99999999999}", "more than 100 times"),
        ("a{3,2}", "wrong way round"),
        ("[b-a]", "wrong way round"),
        ("(((a{90}){90}){90})", "more than 1000 parts"),
        ("(" * 30 + ")" * 30, "too deeply"),
        ("a" * 301, "at most 300"),
        ("a\\", "ends with a backslash"),
        (r"\x1", "hexadecimal"),
        ("^*", "anchor"),
    ],
)
def test_what_cannot_be_searched_for_is_refused_with_the_reason(pattern, reason):
    with pytest.raises(InvalidPattern, match=reason):
        SafePattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", True), ("a$", "a\n\n", False), ("^$", "", True), ("", "anything", True),
        (r"\u00e9", "café", True), (r"(?i)É", "é", True), (r"\x41", "A", True), (r"[\d-]+$", "1-2", True),
        (r"[^\W]", "-", False), (r"[]a]", "]", True), ("a{b", "a{b", True), (r"\{\}", "{}", True),
        ("(?P<name>ab)c", "abc", True), (r"[\D]", "1", False),
        ("(?i)[^a]", "A", False), ("(?i)[^b]", "A", True), ("(?i)\\W", "a", False),
    ],
)  # fmt: skip
def test_corners_of_the_syntax(pattern, text, found):
    assert SafePattern(pattern).found_in(text) is found


def test_a_pattern_that_makes_too_many_states_is_ended():
    costly = SafePattern("(.*)(a|b)(.{90})(c|d)(.{90})e")
    with pytest.raises(PatternTooCostly):
        costly.found_in("".join(chr(0x4E00 + number % 9_000) + "abcd"[number % 4] for number in range(60_000)))

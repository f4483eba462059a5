"""Paths into documents: what they lead to, what they replace, and what is no path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.messages.matching.json_paths import MOST_VALUES, InvalidPath, parse_path

DOCUMENT = {"a": {"b": [1, {"c": "x"}, {"c": "y"}]}, "with space": 2, "list": [[3], []], "c": None}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$", [DOCUMENT]), ("$.a.b[0]", [1]), ("a.b[1].c", ["x"]), ("$.a.b[-1].c", ["y"]), ("$.a.b[*].c", ["x", "y"]),
        ("$['with space']", [2]), ('$["with space"]', [2]), ("$..c", ["x", "y", None]), ("$.list[*][0]", [3]),
        ("$.missing.c", []), ("$.a.b[9]", []), ("$.a[0]", []), ("[0]", []), ("$.a.*[0]", [1]), ("$.c", [None]),
        ("$..[0]", [1, [3], 3]),
    ],
)  # fmt: skip
def test_a_path_leads_to_values(path, values):
    assert parse_path(path).values(DOCUMENT) == values


@pytest.mark.parametrize("path", ["$x", "$.", "$..", "$[", "$[']", "$[a]", "$[1", "$[--1]", "$.a" * 200,
                                  "." + ".a" * 99])  # fmt: skip
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InvalidPath):
        parse_path(path)


def test_what_a_path_leads_to_is_replaced_in_a_copy():
    changed = parse_path("$..c").replaced(DOCUMENT, lambda value: f"<{value}>")
    assert changed["a"]["b"][1:] == [{"c": "<x>"}, {"c": "<y>"}]
    assert changed["c"] == "<None>"
    assert DOCUMENT["c"] is None and DOCUMENT["a"]["b"][1] == {"c": "x"}  # type: ignore[index]


def test_a_path_that_leads_to_everything_many_times_is_bounded():
    document: object = 1
    for _ in range(12):
        document = [document, document]
    assert len(parse_path("$" + "..*" * 8).values(document)) <= MOST_VALUES
    assert parse_path("$..*..none").values([[0] * 50_000] * 50) == []


def test_so_many_values_are_looked_at():
    assert len(parse_path("$[*]").values(list(range(5_000)))) == MOST_VALUES


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
STEPS = st.lists(st.sampled_from([".a", ".b", "..c", "[0]", "[-1]", "[*]", ".*"]), max_size=4)


@given(JSON, STEPS)
def test_what_is_read_is_what_is_replaced(document, steps):
    path = parse_path("$" + "".join(steps))
    changed: list[object] = []
    path.replaced(document, lambda value: changed.append(value) or "masked")
    if "..c" in steps:
        assert bool(changed) == bool(path.values(document))
    else:
        assert changed == path.values(document)


@given(JSON)
def test_nothing_at_any_depth_is_left_of_what_is_replaced(document):
    path = parse_path("$..c")
    assert set(path.values(path.replaced(document, lambda _: "masked"))) <= {"masked"}


@given(st.text("$.[]*'\"ab01-", max_size=12))
def test_any_text_is_a_path_or_refused(text):
    try:
        parse_path(text).values(DOCUMENT)
    except InvalidPath:
        pass

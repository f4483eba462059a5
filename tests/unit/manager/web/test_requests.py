"""Parameters of requests: what is missing, malformed or out of its range is named."""

from typing import Any

import pytest

from kafka_py.manager.identity.roles import AccessRole, WebUser
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest

ANN = WebUser("ann", AccessRole.ADMINISTRATOR)


def request(query: dict[str, list[str]], form: dict[str, list[str]] | None = None, **options: Any) -> PageRequest:
    values: dict[str, Any] = {"role": AccessRole.READER, **options}
    return PageRequest(None, {}, query, form or {}, ANN, address="", **values)  # type: ignore[arg-type]


def test_the_form_comes_before_the_query() -> None:
    asked = request({"a": ["1"], "b": ["2", " 3 "]}, {"a": ["9"]})
    assert (asked.text("a"), asked.text("b"), asked.many("b"), asked.text("c", "d")) == ("9", "3", ["2", " 3 "], "d")
    assert asked.query_text == "a=1&b=2&b=+3+"
    with pytest.raises(BadParameter, match="c is missing"):
        asked.text("c")


@pytest.mark.parametrize(("text", "why"), [("x", "is a number"), ("-1", "between 0 and"), ("11", "between 0 and")])
def test_a_number_out_of_its_range_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadParameter, match=why):
        request({"n": [text]}).number("n", 5, greatest=10)


def test_an_empty_number_is_the_default() -> None:
    assert request({"n": [""]}).number("n", 5) == 5
    assert request({}).number("n", 5) == 5
    with pytest.raises(BadParameter):
        request({"n": [""]}).number("n")


def test_a_name_may_have_blanks_at_its_ends() -> None:
    asked = request({"name": [" a "]})
    assert (asked.text("name"), asked.exact("name"), asked.exact("other", "b")) == ("a", " a ", "b")
    with pytest.raises(BadParameter, match="other is missing"):
        asked.exact("other")


def test_flags_and_choices() -> None:
    asked = request({"yes": ["on"], "no": ["false"], "kind": ["b"]})
    assert [asked.flag(name) for name in ("yes", "no", "none")] == [True, False, False]
    assert asked.flag("none", True)
    assert asked.choice("kind", ("a", "b")) == "b"
    assert asked.choice("other", ("a", "b"), "a") == "a"
    with pytest.raises(BadParameter, match="one of a, c"):
        asked.choice("kind", ("a", "c"))


def test_a_part_of_a_list_is_never_beyond_its_end() -> None:
    part = request({"page": ["99"]}).page_list(101, size=50)
    assert (part.pages, part.start, part.end) == (3, 100, 101)
    empty = request({}).page_list(0)
    assert (empty.pages, empty.start, empty.end) == (1, 0, 0)
    with pytest.raises(BadParameter):
        request({"size": ["1001"]}).page_list(5)


def test_only_administrators_change_and_a_cluster_must_be_named() -> None:
    assert not request({}).may_change
    assert request({}, role=AccessRole.ADMINISTRATOR).may_change
    with pytest.raises(NotFound):
        assert request({}).cluster

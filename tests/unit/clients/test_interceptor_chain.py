"""A chain of interceptors: a failure is logged and goes no further."""

from typing import Any

import pytest

from kafka_py.clients.interceptor_chain import InterceptorChain


class Adds:
    """Adds a letter, and notes what it is told."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self.told: list[Any] = []

    def change(self, text: str) -> str:
        return text + self.letter

    def note(self, *arguments: object) -> None:
        self.told.append(arguments)


class Fails(Adds):
    def change(self, text: str) -> str:
        raise ValueError(text)

    def note(self, *arguments: object) -> None:
        raise ValueError(arguments)

    def close(self) -> None:
        raise ValueError("close")


def test_each_changes_what_the_one_before_it_made_and_a_failure_is_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chain = InterceptorChain([Adds("a"), Fails(""), Adds("b")])
    assert chain._changed("change", ">", str, " for a test") == ">ab"
    assert "Fails.change failed for a test" in caplog.text


def test_all_are_told_also_behind_one_that_fails_and_those_that_have_no_such_method_are_not() -> None:
    first, last = Adds("a"), Adds("b")
    chain = InterceptorChain([first, Fails(""), object(), last])
    chain._tell("note", 1, "x")
    assert first.told == last.told == [(1, "x")]
    chain.close()


def test_a_chain_of_nothing_is_false() -> None:
    assert not InterceptorChain([])
    assert InterceptorChain([Adds("a")])

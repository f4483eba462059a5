"""Long work as a generator."""

from collections.abc import Generator

import pytest

from kafka_py.base.steps import SLICE, slices, to_end


def test_what_a_generator_returns_or_raises_comes_without_a_stop() -> None:
    def counting(most: int) -> Generator[None, None, int]:
        for _ in range(most):
            yield
        return 100 // most

    assert to_end(counting(3)) == 33
    with pytest.raises(ZeroDivisionError):
        to_end(counting(0))


def test_slices_have_all_elements_in_their_order() -> None:
    assert [len(some) for some in slices(range(2 * SLICE + 1))] == [SLICE, SLICE, 1]
    assert [each for some in slices("abcde", 2) for each in some] == list("abcde")
    assert list(slices([])) == []

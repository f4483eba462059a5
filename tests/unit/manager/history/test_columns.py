"""The values of a topic's partitions as bytes, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.manager.history.columns import pack_column, unpack_column
from kafka_py.manager.history.metrics import MISSING

values = st.lists(st.integers(MISSING, 2**63 - 2)) | st.lists(st.integers(10**12, 10**12 + 300) | st.just(MISSING))


@given(values)
def test_a_column_is_read_as_it_was_written(column: list[int]) -> None:
    assert unpack_column(pack_column(column)) == tuple(column)


def test_near_values_take_one_byte_each_and_equal_ones_none() -> None:
    assert len(pack_column([10**15 + each for each in range(100)])) == 13 + 100
    assert len(pack_column([10**15] * 100)) == 13
    assert len(pack_column([])) == 13


@given(st.binary(max_size=40))
def test_malformed_bytes_are_a_value_error(data: bytes) -> None:
    try:
        column = unpack_column(data[:1] + data[1:5][:2].ljust(2, b"\0") + b"\0\0" + data[5:])
    except ValueError:
        return
    assert isinstance(column, tuple)


def test_a_column_that_is_cut_short_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="a column of"):
        unpack_column(pack_column([1, 2, 300])[:-1])

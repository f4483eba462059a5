"""Batches made of columns are those the builder makes record by record; keys go where the Java producer sends them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy")

import numpy as np

from kafka_py.records.batch import decode_records, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.column_batches import encode_records, lengths_of, partitions_of_keys
from kafka_py.records.columns import Packed
from kafka_py.records.compression import Codec
from kafka_py.records.murmur2 import partition_for_key

STRING = st.one_of(st.none(), st.binary(max_size=20), st.integers(0, 9000).map(bytes))
STRINGS = st.lists(STRING, min_size=1, max_size=90)


def packed(strings: list[bytes | None], before: bytes = b"", filler: bytes = b"") -> Packed:
    """As Arrow may hold them: not from the beginning of the data, and with bytes under the nulls."""
    data, offsets = bytearray(before), [len(before)]
    for each in strings:
        data += filler if each is None else each
        offsets.append(len(data))
    valid = np.array([each is not None for each in strings], np.bool_)
    return Packed(np.array(offsets, np.int32), np.frombuffer(bytes(data), np.uint8), None if valid.all() else valid)


@settings(max_examples=60, deadline=None)
@given(STRINGS, st.data(), st.binary(max_size=3), st.binary(max_size=3), st.sampled_from(list(Codec)))
def test_records_are_those_of_the_builder(
    values: list[bytes | None], data: st.DataObject, before: bytes, filler: bytes, codec: Codec
) -> None:
    keys = data.draw(st.one_of(st.none(), st.lists(st.one_of(st.none(), st.binary(max_size=9)), min_size=len(values),
                                                   max_size=len(values))))  # fmt: skip
    plain = BatchBuilder(codec)
    for index, value in enumerate(values):
        plain.append(77, None if keys is None else keys[index], value)
    filled = BatchBuilder(codec)
    records = encode_records(None if keys is None else packed(keys, before, filler), packed(values, before, filler))
    filled.extend(77, records, len(values))
    assert filled.build() == plain.build()
    verify_crc(filled.build())
    assert [record.value for record in decode_records(filled.build())] == values


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.binary(max_size=40)), max_size=30), st.integers(1, 50), st.binary(max_size=3))
def test_keys_go_where_the_java_producer_sends_them(keys: list[bytes | None], count: int, before: bytes) -> None:
    expected = [-1 if key is None else partition_for_key(key, count) for key in keys]
    assert partitions_of_keys(packed(keys, before, b"zz"), count).tolist() == expected


def test_offsets_beyond_two_bytes_and_an_open_batch() -> None:
    values = packed([b"v"] * 20_000)
    builder = BatchBuilder()
    builder.extend(5, encode_records(None, values), 20_000)
    records = decode_records(builder.build())
    assert [record.offset for record in records] == list(range(20_000))
    with pytest.raises(ValueError, match="empty batch"):
        builder.extend(5, b"", 0)
    assert lengths_of(packed([None, b"", b"abc"])).tolist() == [-1, 0, 3]

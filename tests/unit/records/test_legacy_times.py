"""The first record at or after a time in entries of message formats 0 and 1."""

import random
import struct

import pytest

from kafka_py.records.batch import CorruptBatch, OversizedBatch
from kafka_py.records.compression import Codec, compress
from kafka_py.records.legacy_records import read_records
from kafka_py.records.legacy_times import first_in_entry
from kafka_py.testing.fakes.stored_logs import old_entry, old_wrapper

ROWS = [(b"k", b"a", 30), (None, b"b", 10), (b"k", None, 40), (b"k", b"c", 20)]


def found(data, timestamp, lowest=0, limit=1 << 20):
    return first_in_entry(data, 0, timestamp, lowest, limit=limit)


def test_an_entry_that_wraps_nothing_is_one_record():
    data = old_entry(1, 7, b"k", b"v", timestamp=50)
    assert found(data, 50) == (50, 7)
    assert found(data, 51) is found(data, 50, lowest=8) is None


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_the_exact_record_in_a_wrapper_is_found(codec):
    """KIP-31: inner offsets are relative to the last one, which the wrapper has."""
    data = old_wrapper(1, 100, codec, ROWS)
    assert [found(data, time) for time in (10, 30, 31, 40, 41)] == [(30, 100), (30, 100), (40, 102), (40, 102), None]
    assert [found(data, 10, lowest) for lowest in (101, 103, 104)] == [(10, 101), (20, 103), None]


def test_a_wrapper_with_append_time_gives_it_to_every_record():
    """KIP-32."""
    data = old_wrapper(1, 100, Codec.GZIP, ROWS, append_time=99)
    assert (found(data, 50), found(data, 99, 102), found(data, 100)) == ((99, 100), (99, 102), None)


def test_records_of_format_0_have_no_time():
    data = old_wrapper(0, 100, Codec.GZIP, ROWS)
    assert (found(data, 0), found(data, -1), found(data, -1, 102)) == (None, (-1, 100), (-1, 102))


def test_it_finds_what_reading_every_record_finds():
    rng = random.Random(5)
    for _ in range(300):
        rows = [(None, b"v" * rng.randrange(9), rng.randrange(40)) for _ in range(rng.randrange(1, 8))]
        append_time = rng.choice((None, 20))
        data = old_wrapper(rng.randrange(2), rng.randrange(5), Codec.GZIP, rows, append_time=append_time)
        timestamp, lowest = rng.randrange(-1, 42), rng.randrange(12)
        wanted = [
            (record.timestamp, record.offset)
            for record in read_records(data, 0)
            if record.timestamp >= timestamp and record.offset >= lowest
        ]
        assert found(data, timestamp, lowest) == (wanted[0] if wanted else None)


def test_what_cannot_be_walked_is_corrupt():
    for inside in (b"", struct.pack(">qi", 0, 5) + b"1234567"):
        data = old_entry(1, 3, None, compress(Codec.GZIP, inside), attributes=Codec.GZIP)
        with pytest.raises(CorruptBatch):
            found(data, 0)


def test_no_more_than_the_limit_is_decompressed():
    data = old_wrapper(1, 0, Codec.GZIP, [(None, bytes(1 << 16), 1)])
    with pytest.raises(OversizedBatch):
        found(data, 0, limit=1 << 15)

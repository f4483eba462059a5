"""Walks over encoded records: what they find is what decoding finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.records.batch import TimestampType, decode_records, read_header, records_payload
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.record import MalformedRecords
from kafka_py.records.survey import AT_ONCE, MOST_LISTED, first_at_time, survey_records


def built(timestamps, *, base_offset: int = 0, gap: int = 0, **options) -> bytes:
    """A batch with a record for each timestamp, `gap` offsets left out between them."""
    builder = BatchBuilder(base_offset=base_offset, **options)
    for number, timestamp in enumerate(timestamps):
        builder.append_at(base_offset + number * (gap + 1), timestamp, b"k", bytes(number % 90), [("h", b"v")])
    return builder.build()


def plain(data: bytes) -> bytes:
    return records_payload(data, 0, read_header(data))


@given(
    st.lists(st.integers(-5, 5_000_000), min_size=1, max_size=30), st.integers(-5, 5_000_000), st.integers(95, 140),
    st.integers(0, 3), st.booleans(),
)  # fmt: skip
def test_the_first_at_a_time_is_the_one_that_decoding_finds(timestamps, timestamp, lowest_offset, gap, is_stamped):
    kind = TimestampType.LOG_APPEND_TIME if is_stamped else TimestampType.CREATE_TIME
    data = built(timestamps, base_offset=100, gap=gap, timestamp_type=kind, log_append_time_ms=777)
    expected = [
        (record.timestamp, record.offset)
        for record in decode_records(data)
        if record.timestamp >= timestamp and record.offset >= lowest_offset
    ]
    assert first_at_time(plain(data), read_header(data), timestamp, lowest_offset) == (expected or [None])[0]


@pytest.mark.parametrize("walk", [
    lambda data, header, pause: first_at_time(data, header, 10**9, 0, pause=pause),
    lambda data, header, pause: survey_records(data, header, pause=pause),
])  # fmt: skip
def test_long_walks_pause(walk):
    builder = BatchBuilder()
    for _ in range(3 * AT_ONCE + 1):
        builder.append(5, b"k", None)
    data, pauses = builder.build(), []
    walk(plain(data), read_header(data), lambda: pauses.append(None))
    assert len(pauses) == 3


@pytest.mark.parametrize("broken", [b"", b"\x02\0", b"\x7f" * 7, b"\x01" + bytes(9), b"\x0c" + bytes(9), b"\xff" * 12])
def test_records_that_do_not_follow_each_other_are_an_error(broken):
    header = read_header(built([5]))
    with pytest.raises(ValueError) as raised:
        first_at_time(broken, header, 10**9, 0)
    assert isinstance(raised.value, MalformedRecords) or broken[-1] == 0xFF


def test_places_are_listed_up_to_a_bound_and_counted_beyond():
    builder = BatchBuilder()
    for _ in range(MOST_LISTED + 5):
        builder.append(5, None, None)
    data = builder.build()
    found = survey_records(plain(data), read_header(data), bounds=(10, 20))
    assert found.keyless == list(range(MOST_LISTED))
    assert [place for place, _ in found.out_of_bounds] == found.keyless
    assert found.keyless_count == found.out_of_bounds_count == MOST_LISTED + 5

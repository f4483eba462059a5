"""Keys and values of the brokers' own topics: the message behind its version, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from kafka_py.wire.stored_records import UndecodableRecord, decoded, version_of

KEY = encode_versioned(OffsetCommitKey(group="g", topic="t", partition=3), 1)


def test_a_message_is_read_behind_its_version():
    assert version_of(KEY) == 1
    assert decoded(OffsetCommitKey, KEY) == OffsetCommitKey(group="g", topic="t", partition=3)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x63rest", KEY[:-1]])
def test_what_is_no_such_message_is_refused(data):
    with pytest.raises(UndecodableRecord):
        decoded(OffsetCommitKey, data)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    try:
        decoded(OffsetCommitValue, data)
    except UndecodableRecord:
        pass

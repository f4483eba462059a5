"""kafka_py.wire.primitives: varints against the worked examples, lengths and nulls, records in parts."""


import pytest

from kafka_py.base.slices import FileSlice
from kafka_py.wire.primitives import (
    MalformedMessage,
    append_records,
    read_string,
    read_unsigned_varint,
    read_unsigned_varlong,
    read_varint,
    read_varlong,
    records_size,
    skip_tagged_fields,
    uuid_of,
    write_string,
    write_unsigned_varint,
    write_unsigned_varlong,
    write_varint,
    write_varlong,
)

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


def written(write, value):
    out = bytearray(b"before")
    write(out, value)
    return bytes(out[6:])


CASES = [
    # write, read, value, encoding
    (write_unsigned_varint, read_unsigned_varint, 0, "00"),
    (write_unsigned_varint, read_unsigned_varint, 1, "01"),
    (write_unsigned_varint, read_unsigned_varint, 127, "7f"),
    (write_unsigned_varint, read_unsigned_varint, 128, "8001"),
    (write_unsigned_varint, read_unsigned_varint, 300, "ac02"),
    (write_unsigned_varint, read_unsigned_varint, 2**32 - 1, "ffffffff0f"),
    (write_unsigned_varlong, read_unsigned_varlong, 300, "ac02"),
    (write_unsigned_varlong, read_unsigned_varlong, 2**64 - 1, "ffffffffffffffffff01"),
    (write_varint, read_varint, 0, "00"),
    (write_varint, read_varint, -1, "01"),
    (write_varint, read_varint, 1, "02"),
    (write_varint, read_varint, -2, "03"),
    (write_varint, read_varint, 63, "7e"),
    (write_varint, read_varint, -64, "7f"),
    (write_varint, read_varint, 64, "8001"),
    (write_varint, read_varint, 300, "d804"),
    (write_varint, read_varint, INT_MAX, "feffffff0f"),
    (write_varint, read_varint, INT_MIN, "ffffffff0f"),
    (write_varlong, read_varlong, -1, "01"),
    (write_varlong, read_varlong, LONG_MAX, "feffffffffffffffff01"),
    (write_varlong, read_varlong, LONG_MIN, "ffffffffffffffffff01"),
    (write_string, read_string, None, "ffff"),
    (write_string, read_string, "", "0000"),
    (write_string, read_string, "é", "0002c3a9"),
]


@pytest.mark.parametrize(("write", "read", "value", "encoding"), CASES)
def test_one_table_for_writing_and_reading(write, read, value, encoding):
    encoded = bytes.fromhex(encoding)
    assert written(write, value) == encoded
    for buf in (encoded, bytearray(encoded), memoryview(encoded)):
        assert read(buf, 0) == (value, len(encoded))
    assert read(b"\xff" + encoded + b"\xff", 1) == (value, 1 + len(encoded))
    for cut in range(len(encoded)):
        with pytest.raises(MalformedMessage):
            read(encoded[:cut], 0)


def test_w5_9_plain_varint():
    """W5.9: 1 takes one byte with the top bit clear, 300 is 1010 1100 0000 0010, int64 -1 takes ten bytes."""
    assert written(write_unsigned_varint, 1) == bytes([0b0000_0001])
    assert written(write_unsigned_varint, 300) == bytes([0b1010_1100, 0b0000_0010])
    assert len(written(write_unsigned_varlong, -1)) == 10


@pytest.mark.parametrize(
    ("value", "mapped"), [(0, 0), (-1, 1), (1, 2), (-2, 3), (2, 4), (INT_MAX, 4294967294), (INT_MIN, 4294967295)]
)
def test_w5_10_zig_zag_map(value, mapped):
    """W5.10: small negatives become small numbers."""
    encoded = written(write_varint, value)
    assert read_unsigned_varint(encoded, 0)[0] == mapped
    assert read_varint(encoded, 0)[0] == value


def test_w5_11_minus_one_and_one_take_a_byte():
    """W5.11: varint(ZigZag(-1)) = 0000 0001, varint(ZigZag(1)) = 0000 0010."""
    assert written(write_varint, -1) == bytes([0b0000_0001])
    assert written(write_varint, 1) == bytes([0b0000_0010])


def test_w5_12_sixty_five_takes_two():
    """W5.12: varint(ZigZag(65)) = 1000 0010 0000 0001."""
    assert written(write_varint, 65) == bytes([0b1000_0010, 0b0000_0001])


@pytest.mark.parametrize(
    ("value", "size"),
    [
        *[(0, 1), (63, 1), (64, 2), (8191, 2), (8192, 3), (1048575, 3), (1048576, 4), (-64, 1), (-65, 2)],
        *[(1000012, 3), (INT_MIN, 5), (INT_MAX, 5)],
    ],
)
def test_w5_13_size_boundaries(value, size):
    """W5.13: where a zig-zag varint grows by a byte."""
    assert len(written(write_varint, value)) == len(written(write_varlong, value)) == size


def test_w5_13_the_longest_varlong_takes_ten_bytes():
    """W5.13, for int64."""
    assert len(written(write_varlong, LONG_MIN)) == len(written(write_varlong, LONG_MAX)) == 10
    assert len(written(write_varlong, 0)) == 1


@pytest.mark.parametrize(
    ("read", "encoding"),
    [
        (read_varint, "8080808080"),
        (read_varint, "ffffffffff01"),
        (read_unsigned_varint, "ffffffffffff"),
        (read_unsigned_varint, "ffffffff10"),  # a 33rd bit
        (read_varlong, "ff" * 10),
        (read_unsigned_varlong, "ff" * 9 + "02"),  # a 65th bit
    ],
)
def test_w5_14_varint_too_long(read, encoding):
    """W5.14: five continuation bytes (ten for int64) end in an error."""
    with pytest.raises(MalformedMessage, match="too long"):
        read(bytes.fromhex(encoding), 0)


@pytest.mark.parametrize("encoding", ["fffe", "8000", "0001", "0002ff", "0001ff", "0003e282"])
def test_strings_that_cannot_be(encoding):
    with pytest.raises(MalformedMessage):
        read_string(bytes.fromhex(encoding), 0)


def test_the_zero_uuid_is_shared():
    assert uuid_of(bytes(16)) is uuid_of(bytes(16))


def test_tagged_fields_are_skipped():
    assert skip_tagged_fields(b"\x00rest", 0) == 1
    assert skip_tagged_fields(b"\x02\x00\x01a\x05\x00rest", 0) == 6


@pytest.mark.parametrize("encoding", ["", "01", "0100", "010002ff", "ffffffff0f", "80"])
def test_tagged_fields_cut_off(encoding):
    with pytest.raises(MalformedMessage):
        skip_tagged_fields(bytes.fromhex(encoding), 0)


def test_records_in_parts():
    """Bytes are copied, file slices only noted with their place; empty slices are nothing."""
    file_slice, empty = FileSlice(None, 7, 1000), FileSlice(None, 7, 0)
    parts = [b"ab", memoryview(b"cde"), file_slice, empty, [bytearray(b"f"), file_slice]]
    assert records_size(parts) == 2 + 3 + 1000 + 1 + 1000
    out, slices = bytearray(b"12"), []
    append_records(out, slices, parts)
    assert out == b"12abcdef"
    assert slices == [(7, file_slice), (8, file_slice)]


def test_a_memoryview_of_wider_items_counts_its_bytes():
    assert records_size(memoryview(bytearray(8)).cast("I")) == 8

"""Zig-zag varints: worked examples (W5.9 to W5.13) and every length boundary."""

import pytest

from kafka_py.records.varints import (
    SHORT_VARINTS,
    IllegalVarint,
    encode_varint,
    read_unsigned,
    read_varint,
    read_varlong,
    size_of_varint,
    zigzag,
)

# As Apache Kafka 2.8.2 writes it.
EXAMPLES = [
    (0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (300, "d804"),
    (2147483647, "feffffff0f"), (-2147483648, "ffffffff0f"),
]  # fmt: skip
INT64_EXAMPLES = [(2**63 - 1, "feffffffffffffffff01"), (-(2**63), "ffffffffffffffffff01")]


@pytest.mark.parametrize(("n", "encoded"), EXAMPLES)
def test_examples_both_ways(n, encoded):
    data = bytes.fromhex(encoded)
    assert encode_varint(n) == data
    assert read_varint(data, 0) == (n, len(data))
    assert read_varint(b"\xff" + data + b"\xff", 1) == (n, len(data) + 1)
    assert read_varlong(data, 0) == (n, len(data))
    for size in range(len(data)):
        with pytest.raises(IndexError):
            read_varint(data[:size], 0)


@pytest.mark.parametrize(("n", "encoded"), INT64_EXAMPLES)
def test_varlongs_take_up_to_ten_bytes(n, encoded):
    data = bytes.fromhex(encoded)
    assert encode_varint(n) == data
    assert read_varlong(data, 0) == (n, 10)
    with pytest.raises(IllegalVarint):
        read_varint(data, 0)


def test_w5_9_plain_varints_are_least_significant_group_first():
    assert read_unsigned(b"\x01", 0) == (1, 1)
    assert read_unsigned(bytes((0b1010_1100, 0b0000_0010)), 0) == (300, 2)
    assert read_unsigned(b"\xff" * 9 + b"\x01", 0, 64) == (2**64 - 1, 10)


def test_w5_10_zigzag_map():
    pairs = [(-1, 1), (1, 2), (-2, 3), (0, 0), (2, 4), (2147483647, 4294967294), (-2147483648, 4294967295)]
    assert [zigzag(n) for n, _ in pairs] == [z for _, z in pairs]


def test_w5_11_one_and_minus_one_take_a_byte():
    assert (encode_varint(-1), encode_varint(1)) == (b"\x01", b"\x02")


def test_w5_12_sixty_five():
    assert encode_varint(65) == bytes((0b1000_0010, 0b0000_0001))


def test_w5_13_size_boundaries():
    sizes = {
        63: 1, 64: 2, 8191: 2, 8192: 3, 1048575: 3, 1048576: 4, -64: 1, -65: 2, 1000012: 3, 0: 1,
        -(2**31): 5, 2**31 - 1: 5, 2**63 - 1: 10, -(2**63): 10,
    }  # fmt: skip
    assert {n: size_of_varint(n) for n in sizes} == sizes
    assert {n: len(encode_varint(n)) for n in sizes} == sizes


def test_w5_14_five_continuation_bytes_are_refused():
    with pytest.raises(IllegalVarint, match="goes on after 5 bytes"):
        read_varint(b"\xff\xff\xff\xff\xff\x01", 0)
    with pytest.raises(IllegalVarint, match="goes on after 10 bytes"):
        read_varlong(b"\x80" * 10 + b"\x01", 0)


def test_bits_that_no_integer_has_are_refused():
    with pytest.raises(IllegalVarint, match="more than 32 bits"):
        read_varint(b"\xff\xff\xff\xff\x1f", 0)
    with pytest.raises(IllegalVarint, match="more than 64 bits"):
        read_varlong(b"\xff" * 9 + b"\x03", 0)


def test_the_table_holds_just_the_short_ones():
    assert len(SHORT_VARINTS) == 8192
    for n, encoded in enumerate(SHORT_VARINTS):
        assert read_varint(encoded, 0) == (n, size_of_varint(n)) == (n, len(encoded))

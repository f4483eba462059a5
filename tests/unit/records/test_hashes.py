"""The hashes that decide placement must agree with every other client, bit for bit."""

import pytest

from kafka_py.records.java_hash import abs_hash, java_hash_code, partition_for_id
from kafka_py.records.murmur2 import murmur2, partition_for_key

# As Apache Kafka 2.8.2 computes it: key, hash, masked, mod 12.
MURMUR2 = [
    (b"", 275646681, 275646681, 9),
    (b"k1", 1684045097, 1684045097, 5),
    (b"kafka", -798503068, 1348980580, 4),
    (b"hello-world-0123456789", 840151737, 840151737, 9),
    ("été".encode(), -2101193575, 46290073, 1),
    (bytes.fromhex("000102030405ff80"), 1368723038, 1368723038, 2),
]
# As Apache Kafka 2.8.2 computes it: id, hash, abs, mod 50.
JAVA_HASH = [
    ("", 0, 0, 0),
    ("my-group", -1906497762, 1906497762, 12),
    ("console-consumer-12345", 158455506, 158455506, 6),
    ("txn-1", 110810510, 110810510, 10),
    ("Zürich", -1482116162, 1482116162, 12),
    ("polygenelubricants", -2147483648, 0, 0),
]


@pytest.mark.parametrize(("key", "signed", "masked", "mod12"), MURMUR2)
def test_murmur2_table(key, signed, masked, mod12):
    assert murmur2(key) == signed
    assert murmur2(key) & 0x7FFFFFFF == masked
    assert partition_for_key(key, 12) == mod12


def test_murmur2_takes_any_buffer():
    assert murmur2(memoryview(b"hello-world-0123456789")) == murmur2(bytearray(b"hello-world-0123456789")) == 840151737


@pytest.mark.parametrize(("text", "signed", "absolute", "mod50"), JAVA_HASH)
def test_java_hash_table(text, signed, absolute, mod50):
    assert java_hash_code(text) == signed
    assert abs_hash(text) == absolute
    assert partition_for_id(text, 50) == mod50


def test_w7_12_and_s3_119_the_group_of_the_book_sits_on_partition_20():
    """Masking the sign bit instead of taking the absolute value would give 28."""
    assert java_hash_code("consumerGroupId") == -437965020
    assert partition_for_id("consumerGroupId", 50) == 20
    assert (java_hash_code("consumerGroupId") & 0x7FFFFFFF) % 50 == 28


def test_characters_beyond_16_bits_count_as_two_units():
    assert java_hash_code("\U0001f600") == 31 * 0xD83D + 0xDE00
    assert java_hash_code("\ud83d") == 0xD83D

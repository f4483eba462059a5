"""The checksum: known values, any buffer, in pieces."""

from kafka_py.records.crc32c import crc32c


def test_known_values():
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_any_buffer_and_in_pieces():
    data = bytearray(range(256)) * 10
    whole = crc32c(bytes(data))
    assert crc32c(data) == crc32c(memoryview(data)) == whole
    assert crc32c(memoryview(data)[100:], crc32c(memoryview(data)[:100])) == whole


def test_it_is_the_c_extension_of_its_package():
    assert type(crc32c).__name__ == "builtin_function_or_method"

"""Serializers by callable, class, object, Python name and Kafka's name."""

import uuid
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.clients.serialization import deserializer, serializer

JAVA = "org.apache.kafka.common.serialization."


@pytest.mark.parametrize(
    ("name", "value", "encoded"),
    [
        ("String", "é", "é".encode()),
        ("Integer", -2, b"\xff\xff\xff\xfe"),
        ("Long", 1, b"\0" * 7 + b"\1"),
        ("Short", 258, b"\1\2"),
        ("Double", 1.0, bytes.fromhex("3ff0000000000000")),
        ("Float", 1.0, bytes.fromhex("3f800000")),
        ("UUID", uuid.UUID(int=1), b"00000000-0000-0000-0000-000000000001"),
    ],
)
def test_kafkas_names_encode_as_the_java_classes_do(name: str, value: Any, encoded: bytes) -> None:
    there = serializer("value.serializer", f"{JAVA}{name}Serializer", {})
    back = deserializer("value.deserializer", f"{JAVA}{name}Deserializer", {})
    assert there is not None
    assert back is not None
    assert there("t", value) == encoded
    assert back("t", encoded) == value
    assert there("t", None) is None
    assert back("t", None) is None


def test_bytes_pass_through_without_a_call() -> None:
    assert serializer("key.serializer", None, {}) is None
    assert serializer("key.serializer", JAVA + "ByteArraySerializer", {}) is None


def test_the_encoding_of_text_can_be_set_for_keys_and_values() -> None:
    configs = {"serializer.encoding": "utf-16-le", "key.serializer.encoding": "latin-1"}
    key = serializer("key.serializer", JAVA + "StringSerializer", configs)
    value = serializer("value.serializer", JAVA + "StringSerializer", configs)
    assert key is not None
    assert value is not None
    assert key("t", "é") == b"\xe9"
    assert value("t", "é") == b"\xe9\0"


class Company:
    """WE2-16: an application's own type."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address


class CompanySerializer:
    def serialize(self, _topic: str, company: Company) -> bytes:
        return f"{company.name}|{company.address}".encode()

    def deserialize(self, _topic: str, data: bytes) -> Company:
        return Company(*data.decode().split("|"))


@pytest.mark.parametrize("given", [CompanySerializer, CompanySerializer()])
def test_we2_16_an_own_class_goes_there_and_back(given: Any) -> None:
    there = serializer("value.serializer", given, {})
    back = deserializer("value.deserializer", given, {})
    assert there is not None
    assert back is not None
    company = back("t", there("t", Company("n", "a")))
    assert (company.name, company.address) == ("n", "a")


def test_a_plain_function_serializes() -> None:
    there = serializer("value.serializer", str.encode, {})
    assert there is not None
    assert there("t", "x") == b"x"


@pytest.mark.parametrize("given", ["no.such.Class", "StringSerializer", 7])
def test_what_is_no_serializer_is_refused_by_the_settings_name(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"value\.serializer"):
        serializer("value.serializer", given, {})


def test_a_number_of_the_wrong_size_is_refused() -> None:
    back = deserializer("value.deserializer", JAVA + "IntegerDeserializer", {})
    assert back is not None
    with pytest.raises(KafkaError, match="needs 4 bytes"):
        back("t", b"123")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("Integer", 1 << 40, "Can't convert 1099511627776 of class int with the IntegerSerializer"),
        ("Long", "7", "Can't convert '7' of class str with the LongSerializer"),
        ("String", 5, "Can't convert 5 of class int with the StringSerializer"),
        ("Void", b"", "VoidSerializer takes nothing"),
    ],
)
def test_what_a_serializer_cannot_take_is_an_error_that_no_retry_mends(name: str, value: Any, problem: str) -> None:
    there = serializer("value.serializer", f"{JAVA}{name}Serializer", {})
    assert there is not None
    with pytest.raises(KafkaError, match=problem) as caught:
        there("t", value)
    assert not caught.value.retriable


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("Integer", b"123", "IntegerDeserializer needs 4 bytes, not 3"),
        ("String", b"\xff", "Data received by StringDeserializer is no utf-8"),
        ("UUID", b"seven", "Data received by UUIDDeserializer is no uuid"),
        ("Void", b"x", "VoidDeserializer takes nothing"),
    ],
)
def test_what_a_deserializer_cannot_read_is_said(name: str, data: bytes, problem: str) -> None:
    back = deserializer("value.deserializer", f"{JAVA}{name}Deserializer", {})
    assert back is not None
    with pytest.raises(KafkaError, match=problem) as caught:
        back("t", data)
    assert not caught.value.retriable


def test_void_is_null_there_and_back() -> None:
    there, back = serializer("k", f"{JAVA}VoidSerializer", {}), deserializer("k", f"{JAVA}VoidDeserializer", {})
    assert there is not None
    assert back is not None
    assert there("t", None) is None
    assert back("t", None) is None


def test_an_unknown_encoding_is_said_when_it_is_needed() -> None:
    there = serializer("key.serializer", f"{JAVA}StringSerializer", {"serializer.encoding": "no-such"})
    assert there is not None
    with pytest.raises(KafkaError, match="StringSerializer"):
        there("t", "text")

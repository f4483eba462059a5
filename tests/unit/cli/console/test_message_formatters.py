"""What the console consumer prints for a record, property by property."""

import logging
import struct
import uuid

import pytest

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.cli.console.message_formatters import CLASSIC_FORMATTERS, formatter_named
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.records.batch import TimestampType

JAVA = "org.apache.kafka.common.serialization."
ALL = {f"print.{name}": "true" for name in ("timestamp", "partition", "offset", "headers", "key", "value")}


def record(key=b"k", value=b"v", headers=(), timestamp_type=TimestampType.CREATE_TIME):
    return ConsumerRecord(
        "t", 0, 5, 1600000000000, timestamp_type, -1 if key is None else len(key), -1 if value is None else len(value),
        key, value, headers, 0,
    )  # fmt: skip


def shown(of, properties=(), name="kafka.tools.DefaultMessageFormatter"):
    return formatter_named(name, dict(properties)).format(of)


def test_by_default_the_value_alone_as_bytes():
    assert shown(record(value=b"\xff\x00")) == b"\xff\x00\n"


def test_all_fields_in_their_order():
    headers = (("h1", b"v1"), ("h2", b"v2"))
    assert shown(record(headers=headers), ALL) == (
        b"CreateTime:1600000000000\tPartition:0\tOffset:5\th1:v1,h2:v2\tk\tv\n"
    )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TimestampType.LOG_APPEND_TIME, b"LogAppendTime:1600000000000\tv\n"),
        (TimestampType.NO_TIMESTAMP_TYPE, b"NO_TIMESTAMP\tv\n"),
    ],
)
def test_kinds_of_timestamps(kind, text):
    assert shown(record(timestamp_type=kind), {"print.timestamp": "true"}) == text


def test_nulls_and_no_headers():
    empty = record(key=None, value=None, headers=(("h", None),))
    assert shown(empty, ALL).endswith(b"\th:null\tnull\tnull\n")
    assert shown(empty, {**ALL, "null.literal": "-"}).endswith(b"\th:-\t-\t-\n")
    assert b"\tNO_HEADERS\t" in shown(record(), ALL)


def test_separators():
    properties = {"print.key": "TRUE", "print.headers": "true", "key.separator": "|", "line.separator": ";",
                  "headers.separator": "&"}  # fmt: skip
    assert shown(record(headers=(("a", b"1"), ("b", b"2"))), properties) == b"a:1&b:2|k|v;"


def test_without_any_field_nothing_is_printed():
    assert shown(record(), {"print.value": "false"}) == b""
    assert shown(record(), {"print.value": "false", "print.key": "true"}) == b"k\n"


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("String", b"\xc3\xa9", "é".encode()),
        ("ByteArray", b"\xff", b"\xff"),
        ("Short", struct.pack(">h", -2), b"-2"),
        ("Integer", struct.pack(">i", 7), b"7"),
        ("Long", struct.pack(">q", 1 << 40), b"1099511627776"),
        ("Double", struct.pack(">d", 1e10), b"1.0E10"),
        ("Double", struct.pack(">d", 0.1), b"0.1"),
        ("Double", struct.pack(">d", float("inf")), b"Infinity"),
        ("Double", struct.pack(">d", float("nan")), b"NaN"),
        ("Float", struct.pack(">f", 0.1), b"0.1"),
        ("Float", struct.pack(">f", 3.4028234663852886e38), b"3.4028235E38"),
        ("Float", struct.pack(">f", float("-inf")), b"-Infinity"),
        ("UUID", b"12345678-1234-1234-1234-123456789abc", str(uuid.UUID("12345678123412341234123456789abc")).encode()),
    ],
)
def test_classic_deserializers_print_as_java_does(kind, data, text):
    properties = {"value.deserializer": f"{JAVA}{kind}Deserializer"}
    assert shown(record(value=data), properties) == text + b"\n"
    assert shown(record(value=None), properties) == b"null\n"


def test_each_field_has_its_own_deserializer_with_its_own_properties():
    properties = {
        "print.key": "true",
        "print.headers": "true",
        "key.deserializer": f"{JAVA}StringDeserializer",
        "key.deserializer.encoding": "utf-16-be",
        "headers.deserializer": f"{JAVA}IntegerDeserializer",
    }
    of = record(key="é".encode("utf-16-be"), value=b"\xfe", headers=(("n", struct.pack(">i", 1)),))
    assert shown(of, properties) == b"n:1\t" + "é".encode() + b"\t\xfe\n"


def test_data_that_cannot_be_read_raises():
    with pytest.raises(KafkaError, match="LongDeserializer"):
        shown(record(), {"value.deserializer": f"{JAVA}LongDeserializer"})


def test_unknown_classes_are_named():
    with pytest.raises(ConfigError, match=r"no\.such\.Formatter"):
        formatter_named("no.such.Formatter", {})
    with pytest.raises(ConfigError, match=r"no\.such\.Deserializer"):
        formatter_named("kafka.tools.DefaultMessageFormatter", {"key.deserializer": "no.such.Deserializer"})


def test_a_class_of_ones_own():
    assert shown(record(), name="kafka_py.cli.console.message_formatters.DefaultMessageFormatter") == b"v\n"


def test_the_other_formatters(caplog):
    assert shown(record(), name="kafka.tools.NoOpMessageFormatter") == b""
    with caplog.at_level(logging.INFO):
        assert shown(record(), name="kafka.tools.LoggingMessageFormatter") == b"v\n"
    assert "CreateTime:1600000000000, key:b'k', value:b'v'" in caplog.text
    plain = shown(record(), name="kafka.tools.ChecksumMessageFormatter")
    assert plain.startswith(b"checksum:") and plain[9:].strip().isdigit()
    named = shown(record(), {"topic": "t"}, name="kafka.tools.ChecksumMessageFormatter")
    assert named == b"t:" + plain
    for name in CLASSIC_FORMATTERS:
        formatter_named(name, {}).close()

"""How kafka-console-consumer.sh prints records: the formatters that --formatter may name, and their properties.

Those for the brokers' own topics are in internal_formatters.py. A formatter of one's own is a class with the methods
of `MessageFormatter`; it is made without arguments. Knows nothing of the consumer.
Source: docs/reference/tools.md, section 13 (formatter properties).
"""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from kafka_py.base.options import Kind, text_of_value
from kafka_py.base.plugins import load_class
from kafka_py.cli.common.client_properties import is_true
from kafka_py.cli.console.internal_formatters import (
    GroupMetadataMessageFormatter,
    OffsetsMessageFormatter,
    TransactionLogMessageFormatter,
)
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.clients.serialization import Deserialize, deserializer
from kafka_py.records.batch import TimestampType
from kafka_py.records.crc32c import crc32c

TIMESTAMP_NAMES = {
    TimestampType.CREATE_TIME: b"CreateTime",
    TimestampType.LOG_APPEND_TIME: b"LogAppendTime",
}

Render = Callable[[str, bytes], bytes]
"""From (topic, data) to what is printed."""


class MessageFormatter(Protocol):
    """What --formatter may name."""

    def configure(self, properties: Mapping[str, str]) -> None:
        """Called once, with the --property pairs and the deserializers."""
        ...

    def format(self, record: ConsumerRecord) -> bytes:
        """What is printed for a record, line end included. May raise for one that cannot be shown."""
        ...

    def close(self) -> None: ...


class DefaultMessageFormatter:
    """Timestamp, partition, offset, headers, key and value, as far as asked for; keys and values are bytes."""

    def configure(self, properties: Mapping[str, str]) -> None:
        self._null = properties.get("null.literal", "null").encode()
        self._separator = properties.get("key.separator", "\t").encode()
        self._line_end = properties.get("line.separator", "\n").encode()
        self._header_separator = properties.get("headers.separator", ",").encode()
        self._headers = renderer("headers.deserializer", properties)
        self._key = renderer("key.deserializer", properties)
        self._value = renderer("value.deserializer", properties)
        shown: dict[str, tuple[bool, Callable[[ConsumerRecord], bytes]]] = {
            "print.timestamp": (False, _timestamp),
            "print.partition": (False, lambda record: b"Partition:%d" % record.partition),
            "print.offset": (False, lambda record: b"Offset:%d" % record.offset),
            "print.headers": (False, self._headers_text),
            "print.key": (False, self._key_text),
            "print.value": (True, self._value_text),
        }
        self._fields = [field for name, (default, field) in shown.items() if is_true(properties, name, default)]

    def format(self, record: ConsumerRecord) -> bytes:
        fields = [field(record) for field in self._fields]
        return self._separator.join(fields) + self._line_end if fields else b""

    def _headers_text(self, record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._header_separator.join(
            b"%b:%b" % (name.encode(), self._null if data is None else self._rendered(self._headers, record, data))
            for name, data in record.headers
        )

    def _key_text(self, record: ConsumerRecord) -> bytes:
        return self._null if record.key is None else self._rendered(self._key, record, record.key)

    def _value_text(self, record: ConsumerRecord) -> bytes:
        return self._null if record.value is None else self._rendered(self._value, record, record.value)

    @staticmethod
    def _rendered(render: Render | None, record: ConsumerRecord, data: bytes) -> bytes:
        return data if render is None else render(record.topic, data)

    def close(self) -> None:
        """Holds nothing."""


class LoggingMessageFormatter(DefaultMessageFormatter):
    """Prints as the default one, and logs every record at level INFO."""

    _log = logging.getLogger("kafka.tools.LoggingMessageFormatter")

    def format(self, record: ConsumerRecord) -> bytes:
        if self._log.isEnabledFor(logging.INFO):
            self._log.info("%s, key:%r, value:%r", _timestamp(record).decode(), record.key, record.value)
        return super().format(record)


class NoOpMessageFormatter:
    """Prints nothing: for measuring."""

    def configure(self, properties: Mapping[str, str]) -> None:
        """Has no properties."""

    def format(self, record: ConsumerRecord) -> bytes:
        return b""

    def close(self) -> None:
        """Holds nothing."""


class ChecksumMessageFormatter:
    """A checksum per record, after `<topic>:` if the property `topic` is set.

    Format 2 has no checksum of a record, so it is the CRC-32C of timestamp and sizes, as the old accessor gives it.
    """

    def configure(self, properties: Mapping[str, str]) -> None:
        topic = properties.get("topic")
        self._prefix = b"" if topic is None else topic.encode() + b":"

    def format(self, record: ConsumerRecord) -> bytes:
        covered = struct.pack(">qii", record.timestamp, record.serialized_key_size, record.serialized_value_size)
        return b"%bchecksum:%d\n" % (self._prefix, crc32c(covered))

    def close(self) -> None:
        """Holds nothing."""


CLASSIC_FORMATTERS: dict[str, Callable[[], MessageFormatter]] = {
    "kafka.tools.DefaultMessageFormatter": DefaultMessageFormatter,
    "kafka.tools.LoggingMessageFormatter": LoggingMessageFormatter,
    "kafka.tools.NoOpMessageFormatter": NoOpMessageFormatter,
    "kafka.tools.ChecksumMessageFormatter": ChecksumMessageFormatter,
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": OffsetsMessageFormatter,
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": GroupMetadataMessageFormatter,
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": TransactionLogMessageFormatter,
}


def formatter_named(name: str, properties: Mapping[str, str]) -> MessageFormatter:
    """A configured formatter by its classic name or as `package.module.Class`.

    Raises ConfigError for a class that cannot be found, here or among the deserializers.
    """
    made = CLASSIC_FORMATTERS[name]() if name in CLASSIC_FORMATTERS else load_class("formatter", name)()
    formatter = cast(MessageFormatter, made)
    formatter.configure(properties)
    return formatter


def renderer(setting: str, properties: Mapping[str, str]) -> Render | None:
    """What turns the data of a field into text, from `key.deserializer` and its like; None where bytes stay bytes.

    Properties under the setting's name (`key.deserializer.encoding`) reach the deserializer with and without it.
    Raises ConfigError.
    """
    name = properties.get(setting)
    if not name:
        return None
    own = {key.removeprefix(f"{setting}."): value for key, value in properties.items() if key.startswith(f"{setting}.")}
    if "encoding" in own:
        own[f"{'key' if setting.startswith('key') else 'value'}.deserializer.encoding"] = own["encoding"]
    found = deserializer(setting, name, {**properties, **own})
    if found is None:
        return None
    deserialize: Deserialize = found
    show = _float_text if name.endswith(".FloatDeserializer") else text_of
    return lambda topic, data: show(deserialize(topic, data))


def text_of(value: Any) -> bytes:
    """A deserialized value as Java prints it; bytes stay as they are."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, float):
        if not math.isfinite(value):
            return b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity"
        return (text_of_value(Kind.DOUBLE, value) or "").encode()
    return str(value).encode()


def _float_text(value: float) -> bytes:
    """A float of 32 bits in the fewest digits that tell it from its neighbours."""
    if not math.isfinite(value):
        return text_of(value)
    packed = struct.pack(">f", value)
    shortest = next(
        (short for short in (float(f"{value:.{digits}g}") for digits in range(1, 9)) if _packs_as(short, packed)), value
    )
    return text_of(shortest)


def _packs_as(value: float, packed: bytes) -> bool:
    try:
        return struct.pack(">f", value) == packed
    except OverflowError:
        return False


def _timestamp(record: ConsumerRecord) -> bytes:
    name = TIMESTAMP_NAMES.get(record.timestamp_type)
    return b"NO_TIMESTAMP" if name is None else b"%b:%d" % (name, record.timestamp)

"""Serializers and deserializers of keys and values: key.serializer, value.deserializer and so on.

A setting may be: nothing (bytes are not changed), a callable from data to bytes (or from bytes to data), a class or
object with `serialize(topic, data)` / `deserialize(topic, data)`, the name of such a class as
`package.module.Class`, or one of Kafka's own names (`org.apache.kafka.common.serialization.StringSerializer`).

Source: StringSerializer, IntegerSerializer and their neighbours (big-endian numbers, UTF-8 unless an encoding is set).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.plugins import load_class

Serialize = Callable[[str, Any], bytes | None]
"""From (topic, data) to bytes; None stays None."""
Deserialize = Callable[[str, Any], Any]
"""From (topic, bytes or None) to data; None stays None."""

_JAVA_PACKAGE = "org.apache.kafka.common.serialization."


class Number:
    """A number as fixed big-endian bytes."""

    def __init__(self, name: str, layout: str) -> None:
        self._name = name
        self._struct = struct.Struct(layout)

    def serialize(self, _topic: str, data: float | None) -> bytes | None:
        try:
            return None if data is None else self._struct.pack(data)
        except (struct.error, OverflowError, TypeError) as error:
            raise unfit(data, self._name.replace("Deserializer", "Serializer")) from error

    def deserialize(self, _topic: str, data: bytes | None) -> Any:
        if data is None:
            return None
        if len(data) != self._struct.size:
            raise serialization_error(f"{self._name} needs {self._struct.size} bytes, not {len(data)}")
        return self._struct.unpack(data)[0]


class Text:
    """Text in the encoding set by `{key,value}.serializer.encoding`, else `serializer.encoding`, else UTF-8."""

    def __init__(self) -> None:
        self._encoding = "utf-8"

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        for direction in ("serializer", "deserializer"):
            specific = f"{'key' if is_key else 'value'}.{direction}.encoding"
            encoding = configs.get(specific) or configs.get(f"{direction}.encoding")
            if encoding:
                self._encoding = str(encoding)

    def serialize(self, _topic: str, data: str | None) -> bytes | None:
        try:
            return None if data is None else data.encode(self._encoding)
        except (AttributeError, LookupError, UnicodeError) as error:
            raise unfit(data, "StringSerializer") from error

    def deserialize(self, _topic: str, data: bytes | None) -> str | None:
        try:
            return None if data is None else str(data, self._encoding)
        except (LookupError, UnicodeError) as error:
            raise serialization_error(f"Data received by StringDeserializer is no {self._encoding}: {error}") from error


class Plain:
    """Bytes, unchanged."""

    def serialize(self, _topic: str, data: bytes | None) -> bytes | None:
        return data

    def deserialize(self, _topic: str, data: bytes | None) -> bytes | None:
        return data


class Uuid:
    """A UUID in its text form."""

    def serialize(self, _topic: str, data: uuid.UUID | None) -> bytes | None:
        return None if data is None else str(data).encode()

    def deserialize(self, _topic: str, data: bytes | None) -> uuid.UUID | None:
        try:
            return None if data is None else uuid.UUID(str(data, "utf-8"))
        except ValueError as error:
            raise serialization_error(f"Data received by UUIDDeserializer is no uuid: {error}") from error


class Void:
    """Null only."""

    def serialize(self, _topic: str, data: None) -> None:
        if data is not None:
            raise serialization_error("VoidSerializer takes nothing but null")

    def deserialize(self, _topic: str, data: bytes | None) -> None:
        if data is not None:
            raise serialization_error("VoidDeserializer takes nothing but null")


_BUILT_IN: dict[str, Callable[[], Any]] = {
    "ByteArray": Plain,
    "ByteBuffer": Plain,
    "Bytes": Plain,
    "String": Text,
    "UUID": Uuid,
    "Void": Void,
    "Short": lambda: Number("ShortDeserializer", ">h"),
    "Integer": lambda: Number("IntegerDeserializer", ">i"),
    "Long": lambda: Number("LongDeserializer", ">q"),
    "Float": lambda: Number("FloatDeserializer", ">f"),
    "Double": lambda: Number("DoubleDeserializer", ">d"),
}


def serialization_error(detail: str) -> KafkaError:
    """The error for data that cannot be serialized or deserialized; not retriable."""
    return KafkaError(ErrorCode.INVALID_RECORD, detail)


def unfit(data: Any, name: str) -> KafkaError:
    """The error for data whose type or value the named serializer does not accept."""
    return serialization_error(f"Can't convert {data!r} of class {type(data).__name__} with the {name}")


def serializer(setting: str, value: Any, configs: Mapping[str, Any]) -> Serialize | None:
    """The function for `key.serializer` or `value.serializer`; None when bytes are not changed."""
    resolved: Serialize | None = _resolve(setting, value, configs, "Serializer", "serialize")
    return resolved


def deserializer(setting: str, value: Any, configs: Mapping[str, Any]) -> Deserialize | None:
    """The function for `key.deserializer` or `value.deserializer`; None when bytes are not changed."""
    resolved: Deserialize | None = _resolve(setting, value, configs, "Deserializer", "deserialize")
    return resolved


def closer(convert: Callable[..., Any] | None) -> Callable[[], object] | None:
    """The `close` method of the object in the setting, if it has one."""
    close: Callable[[], object] | None = getattr(getattr(convert, "__self__", None), "close", None)
    return close


def _resolve(setting: str, value: Any, configs: Mapping[str, Any], suffix: str, method: str) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        value = _by_name(setting, value, suffix)
    if isinstance(value, type) and hasattr(value, method):
        value = value()
    if not hasattr(value, method):
        if not callable(value):
            raise ConfigError(f"Invalid value {value!r} for configuration {setting}: neither callable nor a {suffix}")
        convert = value
        return lambda _topic, data: convert(data)
    if hasattr(value, "configure"):
        value.configure(configs, setting.startswith("key"))
    return None if isinstance(value, Plain) else getattr(value, method)


def _by_name(setting: str, name: str, suffix: str) -> Any:
    if name.startswith(_JAVA_PACKAGE) and name.endswith(suffix):
        maker = _BUILT_IN.get(name[len(_JAVA_PACKAGE) : -len(suffix)])
        if maker is not None:
            return maker()
    return load_class(setting, name)

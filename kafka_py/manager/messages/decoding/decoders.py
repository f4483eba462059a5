"""The decoders by name: from the bytes of a key, a value or a header to a field of a message. None of them raises.

What cannot be decoded as asked is shown as text or hex, with the reason. `auto` takes the first that fits: a record of
the brokers' own topics, Avro whose schema is known, JSON, text, hex.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.manager.messages.decoding.avro import looks_like_avro, read_avro
from kafka_py.manager.messages.decoding.avro_schemas import NO_SCHEMAS, AvroSchemas
from kafka_py.manager.messages.decoding.documents import (
    MOST_DOCUMENT_BYTES,
    NoDocument,
    json_text,
    plain,
    read_json,
)
from kafka_py.manager.messages.decoding.stored_topics import STORED_TOPICS, stored_record
from kafka_py.manager.messages.message import (
    NULL_FIELD,
    MessageField,
    MessageHeader,
    TopicMessage,
    printable,
)
from kafka_py.records.batch import TimestampType
from kafka_py.wire.stored_records import UndecodableRecord

AUTO, TEXT, JSON, HEX, AVRO, MSGPACK = DECODERS = ("auto", "text", "json", "hex", "avro", "msgpack")
MOST_DECODED_BYTES = 1024 * 1024
"""So much of a field is shown as text or hex, and searched."""
MOST_HEADERS = 1_000

_TIMESTAMP_TYPES = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}


class RecordDecoder(NamedTuple):
    """Decodes whole records: keys and values each as asked, headers by themselves."""

    key_as: str = AUTO
    value_as: str = AUTO
    schemas: AvroSchemas = NO_SCHEMAS

    def decode(self, record: ConsumerRecord) -> TopicMessage:
        """The message; whatever its bytes are."""
        key, value = self._key_and_value(record)
        return TopicMessage(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp,
            _TIMESTAMP_TYPES.get(record.timestamp_type, ""),
            key,
            value,
            tuple(
                MessageHeader(printable(str(name)), decode_field(_bytes(data), AUTO, NO_SCHEMAS))
                for name, data in record.headers[:MOST_HEADERS]
            ),
            max(0, len(record.headers) - MOST_HEADERS),
        )

    def _key_and_value(self, record: ConsumerRecord) -> tuple[MessageField, MessageField]:
        key, value = _bytes(record.key), _bytes(record.value)
        if record.topic in STORED_TOPICS and (self.key_as, self.value_as) == (AUTO, AUTO):
            try:
                kind, about, what = stored_record(record.topic, key, value)
            except UndecodableRecord as error:
                return hex_field(key)._replace(problem=str(error)), hex_field(value)
            shown = NULL_FIELD if what is None or value is None else _document_field(kind, plain(what), len(value))
            return _document_field(kind, plain(about), len(key or b"")), shown
        return decode_field(key, self.key_as, self.schemas), decode_field(value, self.value_as, self.schemas)


def decode_field(data: bytes | None, name: str, schemas: AvroSchemas) -> MessageField:
    """The field, decoded as asked."""
    if data is None:
        return NULL_FIELD
    if name == AUTO:
        return _found_field(data, schemas)
    if name == HEX:
        return hex_field(data)
    if name in _DOCUMENTS:
        try:
            return _document_field(name, _DOCUMENTS[name](data, schemas), len(data))
        except NoDocument as error:
            shown = _utf8_field(data) or hex_field(data)
            return shown._replace(problem=str(error))
    return text_field(data)


def _found_field(data: bytes, schemas: AvroSchemas) -> MessageField:
    if looks_like_avro(data, schemas):
        try:
            return _document_field(AVRO, read_avro(data, schemas), len(data))
        except NoDocument as error:
            return hex_field(data)._replace(problem=str(error))
    if data[:1] in (b"{", b"[") and len(data) <= MOST_DOCUMENT_BYTES:
        try:
            return _document_field(JSON, read_json(data), len(data), data)
        except NoDocument:
            pass
    return _utf8_field(data) or hex_field(data)


def _document_field(kind: str, document: Any, size: int, data: bytes | None = None) -> MessageField:
    """data: the JSON text itself, which is shown as it was written."""
    text = json_text(document) if data is None else printable(data.decode("utf-8", "replace"))
    return MessageField(kind, text, size, document)


def _utf8_field(data: bytes) -> MessageField | None:
    """The field as text; None for what is no text: malformed UTF-8, or control characters."""
    part = data[:MOST_DECODED_BYTES]
    is_cut = len(part) < len(data)
    try:
        text = part.decode()
    except UnicodeDecodeError as error:
        if not is_cut or error.start < len(part) - 4:
            return None
        text = part[: error.start].decode()
    shown = printable(text)
    if shown is not text and any(ord(character) < 0x20 and character not in "\n\t\r\x1b" for character in text):
        return None
    return MessageField(TEXT, shown, len(data), is_cut=is_cut)


def text_field(data: bytes) -> MessageField:
    """As UTF-8, with a replacement character for what is none."""
    part = data[:MOST_DECODED_BYTES]
    return MessageField(TEXT, printable(part.decode("utf-8", "replace")), len(data), is_cut=len(part) < len(data))


def hex_field(data: bytes | None) -> MessageField:
    """Two digits per byte."""
    if data is None:
        return NULL_FIELD
    part = data[:MOST_DECODED_BYTES]
    return MessageField(HEX, part.hex(), len(data), is_cut=len(part) < len(data))


def _read_msgpack(data: bytes) -> Any:
    if len(data) > MOST_DOCUMENT_BYTES:
        raise NoDocument(f"a MessagePack value of more than {MOST_DOCUMENT_BYTES} bytes is not decoded")
    try:
        return plain(import_module("msgpack").unpackb(data, raw=False, strict_map_key=False))
    except NoDocument:
        raise
    except ImportError:
        raise NoDocument("MessagePack needs the package msgpack, which is not installed") from None
    except Exception as error:  # msgpack raises a dozen classes for malformed bytes
        raise NoDocument(f"not MessagePack: {type(error).__name__} {error}") from None


_DOCUMENTS: dict[str, Callable[[bytes, AvroSchemas], Any]] = {
    JSON: lambda data, _: read_json(data),
    AVRO: read_avro,
    MSGPACK: lambda data, _: _read_msgpack(data),
}


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)

"""Records as files that lose nothing: JSON lines and CSV with keys, values, headers and timestamps, out and in again.

JSON: an object per line, `{"topic": ..., "partition": 0, "offset": 5, "timestamp": 1700000000000, "key": "k",
"value": "v", "headers": [["name", "value"]]}`. Keys, values and headers are text where they are UTF-8, else
`{"base64": "..."}`, null stays null. CSV: the same columns under a header row, headers as JSON; `\\N` is null,
`base64:...` what is not UTF-8, and a backslash is put before text that begins with one or with `base64:`.

Read again, only key, value, headers and timestamp count, and the partition if the reader's property `keep.partition` is
true; what is missing is null, no headers, and now. In JSON any other value (`{"a": 1}`, `5`) is sent as its JSON text.
Source: RFC 4180; RFC 8259; RFC 4648, section 4.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from kafka_py.cli.common.client_properties import is_true
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.console.line_reader import CHUNK_BYTES, lines

if TYPE_CHECKING:
    from kafka_py.clients.consumer.fetching.records import ConsumerRecord

FORMATS = ("json", "csv")
COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
NULL = "\\N"
BASE64 = "base64:"
MOST_BYTES_OF_A_FIELD = 1 << 30
_QUOTED_ENDS = "\r\n"
"""Fields with one of these are quoted; the rows themselves end with a line feed."""


class RecordToSend(NamedTuple):
    """What a file says of one record. timestamp: ms UTC, None for now. partition: None for the producer's choice."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int | None = None


# ---- JSON


class JsonFormatter:
    """A line of JSON for each record; a formatter of the console consumer."""

    def configure(self, properties: Mapping[str, str]) -> None:
        """Has no properties."""

    def format(self, record: ConsumerRecord) -> bytes:
        shown = {
            "topic": record.topic, "partition": record.partition, "offset": record.offset,
            "timestamp": _timestamp(record), "key": _json_of(record.key), "value": _json_of(record.value),
            "headers": [[name, _json_of(data)] for name, data in record.headers],
        }  # fmt: skip
        return json.dumps(shown, ensure_ascii=False).encode() + b"\n"

    def close(self) -> None:
        """Holds nothing."""


def _timestamp(record: ConsumerRecord) -> int | None:
    return record.timestamp if record.timestamp >= 0 else None


def _json_of(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def bytes_of_json(value: Any) -> bytes | None:
    """What _json_of has made a JSON value of; the JSON text of any other. Raises ValueError."""
    match value:
        case None:
            return None
        case str():
            return value.encode()
        case {"base64": str() as text} if len(value) == 1:
            return base64.b64decode(text, validate=True)
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def record_of_json(text: bytes | str, *, keep_partition: bool = False) -> RecordToSend:
    """A record from a line. Raises ValueError."""
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("not an object")
    unknown = sorted(values.keys() - set(COLUMNS))
    if unknown:
        raise ValueError(f"{unknown[0]} is none of {', '.join(COLUMNS)}")
    return RecordToSend(
        bytes_of_json(values.get("key")), bytes_of_json(values.get("value")), _headers(values.get("headers")),
        _number("timestamp", values.get("timestamp")),
        _number("partition", values.get("partition")) if keep_partition else None,
    )  # fmt: skip


def _headers(given: Any) -> tuple[tuple[str, bytes | None], ...]:
    """From a list of pairs, as they are written, or an object of names and values."""
    pairs = list(given.items()) if isinstance(given, dict) else given or []
    if not isinstance(pairs, list) or not all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise ValueError("headers must be a list of [name, value] pairs")
    return tuple((name, bytes_of_json(value)) for name, value in pairs)


def _number(name: str, given: Any) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise ValueError(f"{name} must be a number of at least 0, not {given!r}")
    return given


# ---- CSV


class CsvFormatter:
    """A row for each record, the names of the columns before the first; a formatter of the console consumer."""

    def configure(self, properties: Mapping[str, str]) -> None:
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator=_QUOTED_ENDS)
        self._before = ",".join(COLUMNS).encode() + b"\n"

    def format(self, record: ConsumerRecord) -> bytes:
        headers = json.dumps([[name, _json_of(data)] for name, data in record.headers], ensure_ascii=False)
        timestamp = _timestamp(record)
        self._writer.writerow((
            record.topic, record.partition, record.offset, NULL if timestamp is None else timestamp,
            _field_of(record.key), _field_of(record.value), headers if record.headers else "",
        ))  # fmt: skip
        row = self._text.getvalue().removesuffix(_QUOTED_ENDS).encode() + b"\n"
        self._text.seek(0)
        self._text.truncate()
        before, self._before = self._before, b""
        return before + row

    def close(self) -> None:
        """Holds nothing."""


def _field_of(data: bytes | None) -> str:
    if data is None:
        return NULL
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError:
        return BASE64 + base64.b64encode(data).decode()
    return "\\" + text if text.startswith(("\\", BASE64)) else text


def _bytes_of_field(field: str) -> bytes | None:
    if field == NULL:
        return None
    if field.startswith(BASE64):
        return base64.b64decode(field.removeprefix(BASE64), validate=True)
    return (field[1:] if field.startswith("\\") else field).encode()


def record_of_row(row: Mapping[str, str], *, keep_partition: bool = False) -> RecordToSend:
    """A record from the fields of a row by their columns. Raises ValueError."""

    def number(name: str) -> int | None:
        text = row.get(name, NULL)
        return None if text in ("", NULL) else _number(name, int(text))

    headers = row.get("headers") or ""
    return RecordToSend(
        _bytes_of_field(row.get("key", NULL)), _bytes_of_field(row.get("value", NULL)),
        _headers(json.loads(headers)) if headers else (),
        number("timestamp"), number("partition") if keep_partition else None,
    )  # fmt: skip


def record_formatter(form: str) -> JsonFormatter | CsvFormatter:
    """The formatter of one of FORMATS, ready to use."""
    formatter = JsonFormatter() if form == "json" else CsvFormatter()
    formatter.configure({})
    return formatter


# ---- reading files


class RecordFileReader:
    """The records of a stream in one of FORMATS, for kafka-console-producer.sh."""

    def __init__(self, form: str) -> None:
        self._form = form

    def configure(self, stream: BinaryIO, properties: Mapping[str, str]) -> None:
        """properties: `keep.partition`."""
        self._stream = stream
        self._keep_partition = is_true(properties, "keep.partition")

    def records(self) -> Iterator[RecordToSend]:
        """Each as soon as it has come. Raises CommandFailed that names the line of what is no record."""
        return self._from_json() if self._form == "json" else self._from_csv()

    def _from_json(self) -> Iterator[RecordToSend]:
        for number, line in enumerate(lines(self._stream), 1):
            if line.strip():
                try:
                    yield record_of_json(line, keep_partition=self._keep_partition)
                except (ValueError, RecursionError) as error:
                    raise CommandFailed(f"Line {number} is not a record in JSON: {error}") from None

    def _from_csv(self) -> Iterator[RecordToSend]:
        csv.field_size_limit(MOST_BYTES_OF_A_FIELD)
        rows = csv.reader(_whole_lines(self._stream), strict=True)
        try:
            columns = next(rows, None)
            if columns is None:
                return
            _check_columns(columns)
            for row in rows:
                if row:
                    if len(row) != len(columns):
                        raise ValueError(f"{len(row)} fields under {len(columns)} columns")
                    fields = dict(zip(columns, row, strict=True))
                    yield record_of_row(fields, keep_partition=self._keep_partition)
        except (ValueError, csv.Error) as error:
            raise CommandFailed(f"Line {rows.line_num} is not a record in CSV: {error}") from None

    def close(self) -> None:
        """Nothing of our own is open."""


def _check_columns(columns: list[str]) -> None:
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise ValueError(f"the first line names the columns, and {unknown[0]!r} is none of {', '.join(COLUMNS)}")


def _whole_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines with their ends, which may belong to a field. Raises ValueError for what is not UTF-8."""
    read = cast(Callable[[int], bytes], getattr(stream, "read1", stream.read))
    begun = b""
    while chunk := read(CHUNK_BYTES):
        *whole, begun = (begun + chunk).split(b"\n")
        for line in whole:
            yield line.decode() + "\n"
    if begun:
        yield begun.decode()

"""Messages as JSON lines and as CSV, made as they are read, so that an export of any size needs little memory.

Both have the fields as the page shows them: decoded and masked. In CSV a text that a spreadsheet would take for a
formula begins with an apostrophe; JSON lines are exact.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from enum import StrEnum
from typing import Any

from kafka_py.manager.messages.browsing import TURN_MS, MessageView
from kafka_py.manager.messages.matching.patterns import PatternTooCostly
from kafka_py.manager.messages.message import EXPORTED_CHARACTERS, NO_DOCUMENT, MessageField, TopicMessage
from kafka_py.manager.messages.positions import OffsetSpan
from kafka_py.manager.messages.scanning import PartitionScan, ScanBudget, ScanSource, StopReason

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
CSV_COLUMNS = ("partition", "offset", "timestamp", "key", "value", "headers", "key_kind", "value_kind",
               "key_size", "value_size")  # fmt: skip
MOST_EXPORTED = 100_000
FLUSHED_CHARACTERS = 32 * 1024


class ExportFormat(StrEnum):
    """The formats, by the ends of their files' names."""

    JSON_LINES = "jsonl"
    CSV = "csv"


MEDIA_TYPES = {ExportFormat.JSON_LINES: "application/x-ndjson", ExportFormat.CSV: "text/csv; charset=utf-8"}


def json_line(message: TopicMessage) -> str:
    """One message as a JSON object; documents as such, other fields as texts."""
    shown = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "timestamp_type": message.timestamp_type,
        "key": _value(message.key),
        "value": _value(message.value),
        "headers": [{"name": header.name, "value": _value(header.field)} for header in message.headers],
        "key_kind": message.key.kind,
        "value_kind": message.value.kind,
        "key_size": message.key.size,
        "value_size": message.value.size,
    }
    if message.key.is_cut or message.value.is_cut or message.more_headers:
        shown["is_cut"] = True
    return json.dumps(shown) + "\n"


def _value(field: MessageField) -> Any:
    if field.kind == "null":
        return None
    return field.text if field.document is NO_DOCUMENT else field.document


def csv_line(message: TopicMessage) -> str:
    """One message as a line of CSV (RFC 4180)."""
    headers = json.dumps([[header.name, header.field.text] for header in message.headers]) if message.headers else ""
    return _csv_row((
        message.partition, message.offset, message.timestamp, _cell(message.key.text), _cell(message.value.text),
        _cell(headers), message.key.kind, message.value.kind, message.key.size, message.value.size,
    ))  # fmt: skip


def _csv_row(cells: tuple[object, ...]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue()


def _cell(text: str) -> str:
    """The text, so that a spreadsheet does not run it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


_LINES: Mapping[ExportFormat, Callable[[TopicMessage], str]] = {
    ExportFormat.JSON_LINES: json_line,
    ExportFormat.CSV: csv_line,
}


async def export(
    source: ScanSource,
    topic: str,
    spans: Mapping[int, OffsetSpan],
    view: MessageView,
    form: ExportFormat,
    budget: ScanBudget,
    *,
    most: int = MOST_EXPORTED,
    tells_most: bool = True,
) -> AsyncIterator[bytes]:
    """The lines of the messages that the view lets through, partition by partition as they are fetched.

    The last line of JSON lines says what stopped the export early, as {"stopped_by": ...}. most: messages; tells_most:
    whether reaching them counts as early.
    """
    scan = PartitionScan(source, topic, spans, budget)
    line_of, count = _LINES[form], 0
    waiting = [",".join(CSV_COLUMNS) + "\r\n"] if form is ExportFormat.CSV else []
    size, is_full = 0, False
    turn_ends_ms = budget.clock.monotonic_ms() + TURN_MS
    async for part in scan.parts():
        for record in part:
            try:
                message = view.seen(record)
            except PatternTooCostly:
                budget.stopped_by = StopReason.PATTERN
                break
            if message is not None:
                waiting.append(line_of(message.cut_to(EXPORTED_CHARACTERS)))
                size += len(waiting[-1])
                count += 1
            if count >= most:
                is_full = True
                break
            if size >= FLUSHED_CHARACTERS:
                yield "".join(waiting).encode()
                waiting, size = [], 0
            if budget.clock.monotonic_ms() > turn_ends_ms:
                await asyncio.sleep(0)
                turn_ends_ms = budget.clock.monotonic_ms() + TURN_MS
        if is_full or budget.stopped_by is not None:
            break
    if is_full and tells_most:
        budget.stopped_by = StopReason.RECORDS
    if budget.stopped_by is not None and form is ExportFormat.JSON_LINES:
        waiting.append(json.dumps({"stopped_by": budget.stopped_by}) + "\n")
    if waiting:
        yield "".join(waiting).encode()

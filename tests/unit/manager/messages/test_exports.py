"""Exports: exact JSON lines, CSV that no spreadsheet runs, made as they are read, within their budget."""

import asyncio
import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.manager.messages.browsing import MessageView
from kafka_py.manager.messages.decoding.decoders import RecordDecoder
from kafka_py.manager.messages.decoding.masks import masks_of
from kafka_py.manager.messages.exports import CSV_COLUMNS, FORMULA_STARTS, ExportFormat, csv_line, export, json_line
from kafka_py.manager.messages.matching.filters import FilterForm, compile_filter
from kafka_py.manager.messages.positions import OffsetSpan
from kafka_py.manager.messages.scanning import ScanBudget, ScanLimits
from kafka_py.records.batch import TimestampType


def message(key=b"k", value=b"v", headers=()):
    record = ConsumerRecord("t", 1, 7, 9, TimestampType.CREATE_TIME, 0, 0, key, value, tuple(headers), 0)
    return RecordDecoder().decode(record)


def log(count, value=b'{"n": %d}'):
    return [(offset, offset, value.replace(b"%d", b"%d" % offset)) for offset in range(count)], count


def lines(topic, form=ExportFormat.JSON_LINES, view=None, limits=None, **options):
    budget = ScanBudget(limits or ScanLimits(), topic.clock)
    spans = {number: OffsetSpan(0, end) for number, (_, end) in topic.logs.items()}

    async def read():
        return [part async for part in export(topic, "t", spans, view or MessageView(), form, budget, **options)]

    return asyncio.run(read())


def test_a_json_line_is_exact():
    shown = json.loads(json_line(message(None, b'{"a": "<script>"}', [("h", b"x"), ("h", None)])))
    assert (shown["key"], shown["value"]) == (None, {"a": "<script>"})
    assert shown["headers"] == [{"name": "h", "value": "x"}, {"name": "h", "value": None}]
    assert (shown["offset"], shown["value_kind"], shown["value_size"], "is_cut" in shown) == (7, "json", 17, False)


@given(st.binary(max_size=40), st.binary(max_size=40), st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=5))))
def test_any_message_is_one_line_of_each_format(key, value, headers):
    made = message(key, value, headers)
    line = json_line(made)
    assert line.endswith("\n") and "\n" not in line[:-1] and json.loads(line)["key_size"] == len(key)
    rows = list(csv.reader(io.StringIO(csv_line(made), newline="")))
    assert len(rows) == 1 and len(rows[0]) == len(CSV_COLUMNS)
    assert not any(cell.startswith(FORMULA_STARTS) for cell in rows[0][3:6])


@pytest.mark.parametrize("start", ["=cmd|'/C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1"])
def test_a_spreadsheet_runs_nothing(start):
    row = next(csv.reader(io.StringIO(csv_line(message(start.encode(), start.encode())))))
    assert row[3] == row[4] == f"'{start}"


def test_every_message_that_is_let_through_is_exported(memory_topic):
    view = MessageView(predicate=compile_filter(FilterForm(expression="value.n >= 3")))
    found = [json.loads(line) for line in b"".join(lines(memory_topic({0: log(5), 1: log(4)}), view=view)).splitlines()]
    assert sorted((each["partition"], each["offset"]) for each in found) == [(0, 3), (0, 4), (1, 3)]


def test_csv_has_a_header_even_without_messages(memory_topic):
    assert b"".join(lines(memory_topic({0: ([], 0)}), ExportFormat.CSV)).decode().split("\r\n")[0].split(",") == list(
        CSV_COLUMNS
    )


def test_what_is_masked_is_masked_in_exports(memory_topic):
    view = MessageView(masks=masks_of([{"topics": "t", "value": "$.n"}]))
    for form in ExportFormat:
        text = b"".join(lines(memory_topic({0: ([(0, 0, b'{"n": "SECRET"}')], 1)}), form, view)).decode()
        assert "SECRET" not in text and "[masked]" in text


def test_a_large_export_comes_in_parts(memory_topic):
    parts = lines(memory_topic({0: log(300, b"x" * 1_000)}, per_poll=50))
    assert len(parts) > 5 and max(map(len, parts)) < 100_000
    assert len(b"".join(parts).splitlines()) == 300


@pytest.mark.parametrize(
    ("options", "reason", "count"),
    [({"most": 5}, "records", 5), ({"most": 5, "tells_most": False}, None, 5),
     ({"limits": ScanLimits(time_ms=20)}, "time", 14)],
)
def test_an_export_that_ends_early_says_so(memory_topic, options, reason, count):
    found = b"".join(lines(memory_topic({0: log(100)}), **options)).splitlines()
    stopped = [json.loads(line)["stopped_by"] for line in found if b"stopped_by" in line]
    assert (stopped, len(found) - len(stopped)) == ([] if reason is None else [reason], count)

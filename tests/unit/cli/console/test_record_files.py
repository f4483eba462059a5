"""Records as JSON lines and CSV: what is written, what is read again, and what is refused at its line."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.console.record_files import CsvFormatter, JsonFormatter, RecordFileReader, RecordToSend
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.records.batch import TimestampType


def record(key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None], timestamp: int = 7,
           offset: int = 5) -> ConsumerRecord:  # fmt: skip
    sizes = (-1 if key is None else len(key), -1 if value is None else len(value))
    return ConsumerRecord("t", 2, offset, timestamp, TimestampType.CREATE_TIME, *sizes, key, value, headers, -1)


def written(form: str, *records: ConsumerRecord) -> bytes:
    formatter = JsonFormatter() if form == "json" else CsvFormatter()
    formatter.configure({})
    return b"".join(map(formatter.format, records))


def read(form: str, text: bytes, **properties: str) -> list[RecordToSend]:
    reader = RecordFileReader(form)
    reader.configure(io.BytesIO(text), {name.replace("_", "."): value for name, value in properties.items()})
    return list(reader.records())


def test_json_is_readable_where_it_can_be() -> None:
    text = written("json", record(b"k", "grün".encode(), ("h", None), ("h", b"\xff")))
    assert text.decode() == (
        '{"topic": "t", "partition": 2, "offset": 5, "timestamp": 7, "key": "k", "value": "grün", '
        '"headers": [["h", null], ["h", {"base64": "/w=="}]]}\n'
    )


def test_csv_is_readable_where_it_can_be() -> None:
    text = written("csv", record(b"k", b'a "b"\nc'), record(None, b"\xff", ("h", b"x")), record(b"", b"\\N"))
    assert text.decode() == (
        "topic,partition,offset,timestamp,key,value,headers\n"
        't,2,5,7,k,"a ""b""\nc",\n'
        't,2,5,7,\\N,base64:/w==,"[[""h"", ""x""]]"\n'
        "t,2,5,7,,\\\\N,\n"
    )


SPECIAL = [b"base64:AA==", b"\\N", b"\r\n", b"\r", b"\n", b'"', b"\0"]
FIELD = st.none() | st.binary() | st.text().map(str.encode) | st.sampled_from(SPECIAL)


@pytest.mark.parametrize("form", ["json", "csv"])
@given(data=st.data())
def test_what_is_written_is_read_again(form: str, data: st.DataObject) -> None:
    made = data.draw(st.lists(st.tuples(FIELD, FIELD, st.lists(st.tuples(st.text(), FIELD)))))
    records = [record(key, value, *headers, timestamp=9) for key, value, headers in made]
    expected = [RecordToSend(key, value, tuple(headers), 9) for key, value, headers in made]
    assert read(form, written(form, *records)) == expected
    kept = [each._replace(partition=2) for each in expected]
    assert read(form, written(form, *records), keep_partition="true") == kept


def test_a_record_without_timestamp_gets_one_when_it_is_sent() -> None:
    for form in ("json", "csv"):
        assert read(form, written(form, record(b"k", b"v", timestamp=-1))) == [RecordToSend(b"k", b"v")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"value": {"a": [1, "ü"]}}', RecordToSend(None, '{"a":[1,"ü"]}'.encode())),
        ('{"value": 5, "key": true}', RecordToSend(b"true", b"5")),
        ('{"value": {"base64": "AA==", "x": 1}}', RecordToSend(None, b'{"base64":"AA==","x":1}')),
        ('{"headers": {"a": "b"}}', RecordToSend(None, None, (("a", b"b"),))),
        ("{}", RecordToSend(None, None)),
    ],
)
def test_json_of_other_programs_is_taken(line: str, expected: RecordToSend) -> None:
    assert read("json", f"\n{line}\n\n".encode()) == [expected]


def test_columns_may_be_missing_and_in_any_order() -> None:
    assert read("csv", b"value,key\r\nv,k\r\n") == [RecordToSend(b"k", b"v")]
    assert read("csv", b"value\nlast") == [RecordToSend(None, b"last")]
    assert read("csv", b"") == []


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("json", "{}\n{", "Line 2 is not a record in JSON"),
        ("json", "[]", "Line 1 is not a record in JSON: not an object"),
        ("json", '{"vale": 1}', "vale is none of topic, partition"),
        ("json", '{"timestamp": "now"}', "timestamp must be a number of at least 0, not 'now'"),
        ("json", '{"timestamp": -5}', "timestamp must be a number"),
        ("json", '{"headers": [["a"]]}', r"headers must be a list of \[name, value\] pairs"),
        ("json", '{"headers": 5}', "headers must be"),
        ("json", '{"value": {"base64": "?"}}', "Line 1 is not a record in JSON"),
        ("csv", "k\n", "Line 1 is not a record in CSV: .* 'k' is none of topic"),
        ("csv", "key,value\na\n", "Line 2 is not a record in CSV: 1 fields under 2 columns"),
        ("csv", "key,timestamp\na,x\n", "Line 2 is not a record in CSV"),
        ("csv", 'key\n"a', "Line 2 is not a record in CSV"),
        ("csv", "value,headers\nv,{\n", "Line 2 is not a record in CSV"),
        ("csv", "value\nbase64:?\n", "Line 2 is not a record in CSV"),
    ],
)
def test_what_is_no_record_is_named_by_its_line(form: str, text: str, message: str) -> None:
    with pytest.raises(CommandFailed, match=message):
        read(form, text.encode())


def test_what_is_not_utf_8_is_refused() -> None:
    with pytest.raises(CommandFailed, match="Line 1 is not a record in JSON"):
        read("json", b'{"value": "\xff"}')
    with pytest.raises(CommandFailed, match="is not a record in CSV"):
        read("csv", b"value\n\xff\n")


def test_every_line_is_one_object() -> None:
    text = written("json", record(None, "\u2028\x85\n".encode()))
    assert text.count(b"\n") == 1
    assert json.loads(text)["value"] == "\u2028\x85\n"

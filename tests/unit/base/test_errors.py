"""The error table: complete, and telling retriable from fatal as the classic clients do."""

import csv
from pathlib import Path

from kafka_py.base.errors import ErrorCode, KafkaError

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"


def test_every_code_of_the_reference_has_its_row():
    rows = []
    for name in ("errors.tsv", "later-errors.tsv"):
        with (REFERENCE / name).open() as table:
            rows += csv.DictReader(table, delimiter="\t")
    assert {int(row["code"]) for row in rows} == set(map(int, ErrorCode))
    for row in rows:
        code = ErrorCode(int(row["code"]))
        assert code.name == row["name"]
        assert code.retriable == (row["retriable"] == "true"), code.name
        assert code.invalid_metadata == (row["invalid_metadata"] == "true"), code.name


def test_an_error_reads_as_code_and_detail():
    error = KafkaError(ErrorCode.MESSAGE_TOO_LARGE, "2000000 bytes, max.message.bytes is 1048588")
    assert str(error) == "MESSAGE_TOO_LARGE: 2000000 bytes, max.message.bytes is 1048588"
    assert not error.retriable


def test_without_detail_the_meaning_speaks():
    assert KafkaError(ErrorCode.NOT_CONTROLLER).message == ErrorCode.NOT_CONTROLLER.meaning

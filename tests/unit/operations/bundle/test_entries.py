"""The bounds of an archive, its list of contents, and values as JSON."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.operations.bundle.documents import json_text
from kafka_py.operations.bundle.entries import BundleEntry, BundleLimits, bounded, manifest
from kafka_py.operations.bundle.local_files import is_log, logs_in
from kafka_py.operations.doctor.findings import Severity


def test_entries_are_cut_and_what_does_not_fit_is_named() -> None:
    entries = [BundleEntry("a.json", b"12345678"), BundleEntry("logs/b", b"12345678"), BundleEntry("c", b"123"),
               BundleEntry("d", b"1")]  # fmt: skip
    kept = bounded(entries, BundleLimits(entry_bytes=4, total_bytes=10, files=3))
    assert [(entry.name, entry.data) for entry in kept.entries] == [
        ("a.json", b"1234"), ("logs/b", b"5678"), ("d", b"1"),
    ]  # fmt: skip
    assert kept.left_out == ["c: the archive is full"]
    about = manifest("now", "1", kept)
    assert about["files"][1] == {"name": "logs/b", "bytes": 4, "note": "cut: the end of 8 bytes"}


def test_more_files_than_allowed_are_left_out() -> None:
    kept = bounded([BundleEntry(str(number), b"") for number in range(5)], BundleLimits(files=2))
    assert (len(kept.entries), len(kept.left_out)) == (2, 3)


@pytest.mark.parametrize("name", ["server.log", "server.log.2026-11-23-13", "controller.log.1", "kafkaServer.out"])
def test_logs_are_told_by_their_names(name: str) -> None:
    assert is_log(name)


@pytest.mark.parametrize(
    "name", ["00000000000000000000.log", "00000000000000000000.index", "meta.properties", "keystore.p12", ".log"]
)
def test_record_files_and_stores_are_no_logs(name: str) -> None:
    assert not is_log(name)


def test_of_a_folder_the_logs_are_taken_and_of_a_long_one_the_end(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(b"first line\nsecond line\n")
    (tmp_path / "00000000000000000000.log").write_bytes(b"records")
    (tmp_path / "keystore.p12").write_bytes(b"store")
    found = logs_in([str(tmp_path), str(tmp_path / "no-such")], 15, 10)
    assert [(entry.name, entry.data) for entry in found.entries] == [("logs/0-server.log", b"second line\n")]
    assert found.entries[0].note == "cut: the end of 23 bytes"
    assert found.problems[0].endswith("No such file or directory")


class _Pair(NamedTuple):
    one: int
    two: str


@dataclass(frozen=True)
class _Whole:
    pairs: dict[TopicPartition, _Pair]
    severity: Severity
    error: KafkaError
    raw: bytes
    some: frozenset[str]
    topic_id: UUID


def test_any_value_becomes_json() -> None:
    whole = _Whole(
        {TopicPartition("t", 0): _Pair(1, "x")}, Severity.NOTE, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        b"\x01", frozenset({"b", "a"}), UUID(int=1),
    )  # fmt: skip
    document = json.loads(json_text(whole))
    assert document["pairs"] == {"t-0": {"one": 1, "two": "x"}}
    assert (document["severity"], document["raw"], document["some"]) == ("note", "01", ["a", "b"])
    assert "UNKNOWN_TOPIC_OR_PARTITION" in document["error"]

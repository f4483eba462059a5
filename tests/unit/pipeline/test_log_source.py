"""Segment files as the source reads them: which files, which records, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructType, TimestampType

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.pipeline.filters import WantedRange
from kafka_py.pipeline.log_source import FilteredLogReader, LogReader, LogSourceOptions
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import LegacyBuilder

SCHEMA = StructType()
for _name, _type in (
    ("key", BinaryType()), ("value", BinaryType()), ("topic", StringType()), ("partition", IntegerType()),
    ("offset", LongType()), ("timestamp", TimestampType()), ("timestampType", IntegerType()),
):  # fmt: skip
    SCHEMA = SCHEMA.add(_name, _type)


def batch(first: int, count: int, **fields: Any) -> bytes:
    builder = BatchBuilder(base_offset=first, **fields)
    for offset in range(first, first + count):
        builder.append(1000 + offset, None, b"%d" % offset)
    return builder.build()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """t-0 with segments from 0, 10 and 20 on; other directories that are none of a partition's."""
    directory = tmp_path / "t-0"
    directory.mkdir()
    for base in (0, 10, 20):
        (directory / f"{base:020d}.log").write_bytes(batch(base, 4) + batch(base + 4, 6))
    (directory / f"{5:020d}.log.deleted").write_bytes(b"gone")
    (tmp_path / f"t-1.{'0' * 32}-delete").mkdir()
    (tmp_path / "not a partition").mkdir()
    (tmp_path / "u-0").mkdir()
    (tmp_path / "u-0" / f"{0:020d}.log").write_bytes(b"")
    return tmp_path


def reader(logs: Path, **options: str) -> LogReader:
    return LogReader(LogSourceOptions({"path": str(logs), **options}), SCHEMA)


def read(source: LogReader) -> list[int]:
    offsets: list[int] = []
    for split in source.partitions():
        for found in source.read(split):
            offsets += found["offset"].to_pylist()
    return offsets


def test_every_segment_is_one_split(logs: Path) -> None:
    source = reader(logs, subscribe="t")
    assert [(split.topic, split.partition, split.is_newest) for split in source.partitions()] == [
        ("t", 0, False), ("t", 0, False), ("t", 0, True),
    ]  # fmt: skip
    assert read(source) == list(range(30))


def test_topics_are_chosen_by_name_and_by_pattern(logs: Path) -> None:
    assert {split.topic for split in reader(logs).partitions()} == {"t", "u"}
    assert {split.topic for split in reader(logs, subscribepattern="[u]").partitions()} == {"u"}
    with pytest.raises(KafkaError, match="no log of topic missing is there"):
        reader(logs, subscribe="t,missing").partitions()


def test_records_before_the_log_start_offset_are_left_out(logs: Path) -> None:
    (logs / "log-start-offset-checkpoint").write_text("0\n1\nt 0 13\n")
    assert read(reader(logs)) == list(range(13, 30))


def test_filters_choose_segments(logs: Path) -> None:
    source = FilteredLogReader(LogSourceOptions({"path": str(logs)}), SCHEMA)
    source._wanted = WantedRange(partition=[lambda number: number == 0], least_offset=12, end_offset=15)
    assert [Path(split.path).name[-6:-4] for split in source.partitions() if split.topic == "t"] == ["10"]
    assert read(source) == [12, 13, 14]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_segment_that_began_before_format_2_is_read(logs: Path, magic: int, codec: Codec) -> None:
    """As a topic has it whose message.format.version was raised: old entries or wrappers, then batches."""
    builder = LegacyBuilder(magic, codec, base_offset=30)
    for offset in range(30, 35):
        builder.append(1000 + offset, b"k%d" % offset, None if offset == 31 else b"%d" % offset)
    (logs / "t-0" / f"{30:020d}.log").write_bytes(builder.build() + batch(35, 2))
    (logs / "log-start-offset-checkpoint").write_text("0\n1\nt 0 31\n")
    [split] = [split for split in reader(logs, subscribe="t").partitions() if split.is_newest]
    rows = [row for found in reader(logs).read(split) for row in found.to_pylist()]
    assert [row["offset"] for row in rows] == [31, 32, 33, 34, 35, 36]
    assert [row["key"] for row in rows[:2]] == [b"k31", b"k32"]
    assert [row["value"] for row in rows[:3]] == [None, b"32", b"33"]
    assert [row["timestampType"] for row in rows] == [0 if magic else -1] * 4 + [0] * 2
    assert [row["timestamp"].timestamp() for row in rows[-2:]] == [1.035, 1.036]


def test_control_records_are_left_out(logs: Path) -> None:
    with open(logs / "t-0" / f"{20:020d}.log", "ab") as file:
        file.write(batch(30, 1, control=True, transactional=True, producer_id=1) + batch(31, 1))
    assert read(reader(logs))[-2:] == [29, 31]


@pytest.mark.parametrize("tail", [b"\0" * 200, batch(30, 3)[:-1], batch(30, 3)[:20], batch(30, 3)[:-1] + b"?"])
def test_a_torn_end_of_the_newest_segment_ends_the_read(logs: Path, tail: bytes) -> None:
    with open(logs / "t-0" / f"{20:020d}.log", "ab") as file:
        file.write(tail)
    assert read(reader(logs)) == list(range(30))


@pytest.mark.parametrize("base", [0, 20])
def test_damage_elsewhere_fails_with_file_and_position(logs: Path, base: int) -> None:
    path = logs / "t-0" / f"{base:020d}.log"
    data = bytearray(path.read_bytes())
    data[17] ^= 1  # of the checksum
    path.write_bytes(data)
    with pytest.raises(KafkaError, match=rf"t-0, file {path}: checksum is .*position 0") as failure:
        read(reader(logs))
    assert failure.value.code is ErrorCode.CORRUPT_MESSAGE
    assert read(reader(logs, verify="false")) == list(range(30))


def test_an_older_segment_must_be_whole(logs: Path) -> None:
    path = logs / "t-0" / f"{10:020d}.log"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(KafkaError, match="ends inside a batch"):
        read(reader(logs))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": " "}, "Option path must be given"),
        ({"path": "/no/such/folder"}, "/no/such/folder is not a directory"),
        ({"subscribe": "a", "subscribepattern": "b"}, "Only one of the options"),
        ({"subscribepattern": "("}, "no regular expression"),
        ({"verify": "perhaps"}, "Option verify must be true or false"),
    ],
)
def test_malformed_options_are_named(logs: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LogSourceOptions({"path": str(logs), **options})

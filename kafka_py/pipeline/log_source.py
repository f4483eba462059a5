"""The data source `kafka_py_log`: segment files of a log directory read by Spark, without a broker.

For audits, backfills and checks of compaction: one Spark partition per segment, the columns of `kafka_py`. The
directory may be stopped, copied or live; what is being written while the read is planned may or may not be in it. At
the end of a partition's newest segment a batch that is not all there ends the read, as a broker would cut it off;
damage anywhere else fails with file and position. Records below the checkpointed log start offset are left out, as a
broker does; control records, too. Every executor must see the directory under the same path.
Source: docs/reference/log.md, section 1.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.filenames import (
    LOG,
    LOG_START_CHECKPOINT,
    parse_partition_directory,
    parse_segment_file,
)
from kafka_py.log.disk.files import RealFiles
from kafka_py.log.state.checkpoints import read_offsets
from kafka_py.pipeline.fetching import grouped
from kafka_py.pipeline.filters import WantedRange
from kafka_py.pipeline.frames import arrow_schema, record_batch, topic_schema
from kafka_py.pipeline.source import FILTER_PLANNER, caller_file
from kafka_py.records.batch import BatchHeader, CorruptBatch, iter_headers, verify_crc
from kafka_py.records.columns import decode_columns

OPTIONS = {
    "path": "The log directory, or several separated by commas; also what .load() is given.",
    "subscribe": "Topics to read, separated by commas; all when neither this nor subscribePattern is given.",
    "subscribePattern": "A regular expression that is found in the topic's name; ^ and $ anchor it.",
    "includeHeaders": "Whether there is a column of headers.",
    "pushFilters": "As of the source kafka_py: filters choose segments, for frames used in one query.",
    "verify": "Whether checksums are looked at; true unless said otherwise.",
}
"""Every option; the documentation has them from here."""


class KafkaLogSource(DataSource):
    """Segment files as data frames; batch only."""

    @classmethod
    def name(cls) -> str:
        return "kafka_py_log"

    def schema(self) -> str:
        return topic_schema(_flag(self.options, "includeHeaders", "false"))

    def reader(self, schema: StructType) -> DataSourceReader:
        asks = _flag(self.options, "pushFilters", "false") and FILTER_PLANNER in caller_file()
        return (FilteredLogReader if asks else LogReader)(LogSourceOptions(self.options), schema)


def _flag(options: Mapping[str, str], name: str, default: str) -> bool:
    text = str(options.get(name.lower(), default)).strip().lower()
    if text not in ("true", "false"):
        raise ConfigError(f"Option {name} must be true or false, not {text!r}")
    return text == "true"


class LogSourceOptions:
    """The options, parsed. Raises ConfigError naming the option."""

    def __init__(self, given: Mapping[str, str]) -> None:
        lowered = {name.lower(): value for name, value in given.items()}
        self.paths = [Path(path.strip()) for path in lowered.get("path", "").split(",") if path.strip()]
        if not self.paths:
            raise ConfigError("Option path must be given: a log directory")
        for path in self.paths:
            if not path.is_dir():
                raise ConfigError(f"Option path: {path} is not a directory")
        topics, pattern = lowered.get("subscribe"), lowered.get("subscribepattern")
        if topics is not None and pattern is not None:
            raise ConfigError("Only one of the options subscribe and subscribePattern can be given")
        self.topics = None if topics is None else {name.strip() for name in topics.split(",")}
        try:
            self.pattern = re.compile(pattern or ".*")
        except re.error as error:
            raise ConfigError(f"Option subscribePattern is no regular expression: {error}") from None
        self.verify = _flag(lowered, "verify", "true")

    def has(self, topic: str) -> bool:
        return (self.topics is None and self.pattern.search(topic) is not None) or topic in (self.topics or ())


@dataclass
class SegmentSplit(InputPartition):
    """One segment as it was when the read was planned. first_offset: records below it do not count."""

    topic: str
    partition: int
    path: str
    size_bytes: int
    first_offset: int
    is_newest: bool


class LogReader(DataSourceReader):
    """Reads whole segments."""

    _wanted = WantedRange()

    def __init__(self, options: LogSourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._end_offset: int | None = None

    def partitions(self) -> list[SegmentSplit]:
        found = {}
        for path in self._options.paths:
            starts = _log_starts(path)
            for directory in sorted(path.iterdir()):
                partition = _partition_of(directory)
                if partition is not None and self._options.has(partition.topic) and self._wanted.has(partition):
                    found.update({split.path: split for split in self._segments(directory, partition, starts)})
        missing = (self._options.topics or set()) - {split.topic for split in found.values()}
        if missing:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no log of topic {', '.join(sorted(missing))} is there"
            )
        self._end_offset = self._wanted.end_offset
        return list(found.values())

    def _segments(
        self, directory: Path, partition: TopicPartition, starts: Mapping[TopicPartition, int]
    ) -> Iterator[SegmentSplit]:
        """The segments that can hold wanted offsets, in order."""
        bases = sorted(
            name.base_offset
            for path in directory.iterdir()
            if (name := parse_segment_file(path.name)) is not None and name.suffix == LOG and not name.state
        )
        first = max(starts.get(partition, 0), self._wanted.least_offset)
        last = self._wanted.end_offset
        for base, following in zip(bases, [*bases[1:], None], strict=True):
            if (following is not None and following <= first) or (last is not None and base >= last):
                continue
            path = directory / f"{base:020d}{LOG}"
            yield SegmentSplit(*partition, str(path), path.stat().st_size, first, following is None)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Arrow batches of one segment. Raises KafkaError(CORRUPT_MESSAGE) naming file and position."""
        if not isinstance(partition, SegmentSplit) or not partition.size_bytes:
            return
        schema = arrow_schema(self._schema)
        last = self._end_offset if self._end_offset is not None else (1 << 63) - 1
        with open(partition.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            view = memoryview(mapped)
            buffer = view[: partition.size_bytes]
            try:
                for group in grouped(_batches(buffer, partition, self._options.verify)):
                    columns = decode_columns(buffer, group).between(partition.first_offset, last)
                    if columns.record_count:
                        yield record_batch(columns, partition.topic, partition.partition, schema)
            except CorruptBatch as error:
                raise _named(partition, error) from None
            finally:
                buffer.release()
                view.release()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_wanted"}


class FilteredLogReader(LogReader):
    """Gets the query's filters as well."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        self._wanted = WantedRange()
        return self._wanted.push(filters)


def _log_starts(path: Path) -> dict[TopicPartition, int]:
    return dict(read_offsets(RealFiles(), str(path / LOG_START_CHECKPOINT)))


def _partition_of(directory: Path) -> TopicPartition | None:
    """The partition whose log a directory is; None for others, and for logs on their way in or out."""
    try:
        name = parse_partition_directory(directory.name)
    except ValueError:
        return None
    return None if name.is_delete or name.is_future or not directory.is_dir() else name.topic_partition


def _batches(buffer: memoryview, split: SegmentSplit, verify: bool) -> Iterator[tuple[int, BatchHeader]]:
    """Batches with records, up to where the newest segment is torn."""
    position = 0
    try:
        for position, header in iter_headers(buffer):
            if verify:
                verify_crc(buffer, position, header)
            position += header.size_bytes
            if not header.is_control and header.record_count:
                yield position - header.size_bytes, header
    except CorruptBatch as error:
        if split.is_newest and _is_tail(buffer, position):
            return
        raise error
    if position < len(buffer) and not split.is_newest:
        raise CorruptBatch("the segment ends inside a batch", position)


def _is_tail(buffer: memoryview, position: int) -> bool:
    """Whether nothing whole follows: zeros only, or a last batch that a crash has cut or torn."""
    rest = bytes(buffer[position:])
    if not rest.strip(b"\0"):
        return True
    try:
        headers = list(iter_headers(rest))
    except CorruptBatch:
        return False
    return len(headers) == 1 and headers[0][1].size_bytes == len(rest)


def _named(split: SegmentSplit, error: CorruptBatch) -> KafkaError:
    return KafkaError(
        ErrorCode.CORRUPT_MESSAGE, f"{split.topic}-{split.partition}, file {split.path}: {error}"
    )

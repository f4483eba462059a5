"""The data source `kafka_py`: topics as Spark sees them. Its readers; the writers are in sink.py.

A reader plans on the driver's side and is pickled to the executors, so it holds options and values, no connection.
Source: PySpark's Python Data Source API (pyspark.sql.datasource); Spark's Structured Streaming + Kafka integration
guide.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kafka_py.base.errors import ConfigError
from kafka_py.pipeline.committed import commit_offsets
from kafka_py.pipeline.exactly_once.batches import batches_of
from kafka_py.pipeline.fetching import RangeReader
from kafka_py.pipeline.filters import WantedRange
from kafka_py.pipeline.frames import arrow_schema, record_batch, topic_schema
from kafka_py.pipeline.links import Link, shared_link
from kafka_py.pipeline.offsets import Offsets, from_nested, limited, to_nested
from kafka_py.pipeline.options import Options, Where
from kafka_py.pipeline.planning import Planner
from kafka_py.pipeline.ranges import OffsetRange, divide
from kafka_py.pipeline.sink import BatchSink, StreamSink

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    HAS_ADMISSION_CONTROL = True
except ImportError:  # Spark 4.0 and 4.1: a micro-batch takes what there is, up to maxOffsetsPerTrigger
    HAS_ADMISSION_CONTROL = False

FILTER_PLANNER = "data_source_pushdown_filters"
"""The module of Spark's planner that hands filters down."""
WRITE_PLANNER = "write_into_data_source"
"""The module of Spark's planner that makes the writer for the tasks of a batch; others make one to commit or abort."""


class KafkaSource(DataSource):
    """Topics of a cluster as data frames, batch and streaming, read and written."""

    @classmethod
    def name(cls) -> str:
        return "kafka_py"

    def schema(self) -> str:
        return topic_schema(_include_headers(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        options = Options(self.options, Where.BATCH)
        _check_schema(schema, options["includeHeaders"])
        # Spark refuses a reader that takes filters where the session has not enabled that: so it gets one only there.
        # And it plans a frame once: what one query's filter left out, a second query of the same frame would miss.
        asks = options["pushFilters"] and FILTER_PLANNER in caller_file()
        return (FilteredReader if asks else BatchReader)(options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        options = Options(self.options, Where.STREAM)
        _check_schema(schema, options["includeHeaders"])
        return StreamReader(options, schema) if HAS_ADMISSION_CONTROL else PlainStreamReader(options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchSink:
        if overwrite:
            raise ConfigError("A topic cannot be overwritten: use mode('append')")
        options = Options(self.options, Where.WRITE)
        once = batches_of(options, is_stream=False)
        sink = BatchSink(options, schema, once)
        if once is not None:
            once.begin()
        return sink

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamSink:
        options = Options(self.options, Where.WRITE)
        once = batches_of(options, self.options.get("checkpointLocation"))
        sink = StreamSink(options, schema, once)
        if once is not None and WRITE_PLANNER in caller_file():
            once.begin()
        return sink


def caller_file() -> str:
    """The file of the code that called our caller: which of Spark's planners asks."""
    return sys._getframe(2).f_code.co_filename


def _include_headers(options: MutableMapping[str, str]) -> bool:
    return str(options.get("includeheaders", "false")).strip().lower() == "true"


def _check_schema(schema: StructType, include_headers: bool) -> None:
    expected = [part.split()[0] for part in topic_schema(False).split(", ")] + ["headers"] * include_headers
    if schema.fieldNames() != expected:
        raise ConfigError(f"A topic has a fixed schema, {', '.join(expected)}: leave .schema() out")


@dataclass
class TopicSplit(InputPartition):
    """What one task reads."""

    range: OffsetRange


class _SplitReader:
    """What batch and stream readers share: how a task reads its range."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Arrow batches of the range, one per chunk fetched."""
        if not isinstance(partition, TopicSplit):  # Spark's stand-in for "nothing to read"
            return
        options, wanted = self._options, partition.range
        settings = options.client_settings("executor")
        link = shared_link(settings)
        given = settings.get("max.partition.fetch.bytes")
        schema = arrow_schema(self._schema)
        chunks = RangeReader(
            link,
            wanted,
            fetch_bytes=int(given) if given else options["fetchBytes"],
            timeout_ms=options["kafkaConsumer.pollTimeoutMs"],
            fail_on_data_loss=options["failOnDataLoss"],
        )
        for columns in chunks:
            yield record_batch(columns, wanted.topic, wanted.partition, schema)

    def _splits(self, ranges: list[OffsetRange]) -> list[TopicSplit]:
        options = self._options
        return [
            TopicSplit(each) for each in divide(ranges, options["minPartitions"], options["maxRecordsPerPartition"])
        ]


class BatchReader(_SplitReader, DataSourceReader):
    """Reads what there is between two offsets of each partition."""

    _wanted = WantedRange()

    def partitions(self) -> list[TopicSplit]:
        link = Link(self._options.client_settings("driver"))
        try:
            ranges = Planner(link, self._options).plan(self._wanted)
        finally:
            link.close()
        return self._splits(ranges)

    def __getstate__(self) -> dict[str, Any]:
        """Filters have done their work when tasks get the reader."""
        return {name: value for name, value in self.__dict__.items() if name != "_wanted"}


class FilteredReader(BatchReader):
    """Gets the query's filters as well."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        self._wanted = WantedRange()
        return self._wanted.push(filters)


class PlainStreamReader(_SplitReader, DataSourceStreamReader):
    """Reads what comes, one micro-batch after the other. Runs in a process of its own next to the driver."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        self._made_planner: Planner | None = None
        self._until: Offsets | None = None
        self._held_since: float | None = None
        self._last_end: Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_schema": self._schema}

    @property
    def _planner(self) -> Planner:
        if self._made_planner is None:
            self._made_planner = Planner(Link(self._options.client_settings("driver")), self._options)
        return self._made_planner

    def initialOffset(self) -> dict[str, Any]:
        return to_nested(self._planner.starts(self._planner.partitions()))

    def latestOffset(self) -> dict[str, Any]:
        """Without a start from Spark: from where the last one ended."""
        start = self._last_end
        if start is None:
            start = from_nested(self.initialOffset())
        end = self._advance(start, self._options["maxOffsetsPerTrigger"])
        self._last_end = end
        return to_nested(end)

    def _advance(self, start: Offsets, most: int | None) -> Offsets:
        """Where the micro-batch that begins at `start` ends."""
        planner = self._planner
        now = self._until if self._until is not None else planner.latest(planner.partitions())
        gone = [each for each in start if each not in now]
        if gone:
            planner.lost(f"{', '.join(map(str, gone))} are no longer there")
        shrunk = [each for each in start if each in now and now[each] < start[each]]
        if shrunk and self._until is None:
            each = shrunk[0]
            planner.ends_early(each, now[each], start[each])
        if self._until is not None:
            now = {each: max(at, start.get(each, at)) for each, at in now.items()}
        fresh = [each for each in now if each not in start]
        begins = {**start, **(planner.earliest(fresh) if fresh else {})}
        if self._until is None and not self._is_enough(begins, now):
            return start
        return now if most is None else limited(begins, now, most)

    def _is_enough(self, start: Offsets, end: Offsets) -> bool:
        """Whether minOffsetsPerTrigger is met, or maxTriggerDelay over."""
        least = self._options["minOffsetsPerTrigger"]
        if least is None:
            return True
        moment = time.monotonic()
        if self._held_since is None:
            self._held_since = moment
        there = sum(max(0, end[each] - start[each]) for each in end)
        if there < least and (moment - self._held_since) * 1000 < self._options["maxTriggerDelay"]:
            return False
        self._held_since = moment
        return True

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TopicSplit]:
        begins, ends = from_nested(start), from_nested(end)
        # Partitions that appeared meanwhile, and those of a re-created topic, are read from their beginning.
        fresh = [each for each in ends if each not in begins or ends[each] < begins[each]]
        begins |= self._planner.earliest(fresh) if fresh else {}
        self._last_end = ends
        return self._splits([OffsetRange(*each, begins[each], at) for each, at in ends.items()])

    def commit(self, end: dict[str, Any]) -> None:
        """Tells the group of the option commitGroup, when there is one."""
        group = self._options["commitGroup"]
        if group is not None:
            commit_offsets(self._planner.link, group, from_nested(end))

    def stop(self) -> None:
        if self._made_planner is not None:
            self._made_planner.link.close()
            self._made_planner = None


if HAS_ADMISSION_CONTROL:

    class StreamReader(PlainStreamReader, SupportsTriggerAvailableNow):
        """The same for Spark 4.2 and newer, which says where a micro-batch begins and how much it may take."""

        def getDefaultReadLimit(self) -> ReadLimit:
            most = self._options["maxOffsetsPerTrigger"]
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

        def latestOffset(  # type: ignore[override]
            self, start: dict[str, Any], limit: ReadLimit
        ) -> dict[str, Any]:
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            return to_nested(self._advance(from_nested(start), most))

        def reportLatestOffset(self) -> dict[str, Any] | None:
            """The ends of the partitions now: with the end of the last micro-batch it makes the query's lag."""
            return to_nested(self._planner.latest(self._planner.partitions()))

        def prepareForTriggerAvailableNow(self) -> None:
            self._until = self._planner.latest(self._planner.partitions())

"""Columns of records as Arrow batches with the schema that Spark expects of a topic.

The schema is that of Spark's Kafka connector: key, value, topic, partition, offset, timestamp, timestampType and, if
asked for, headers. Knows Arrow and nothing of Spark but the types it gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafka_py.records.columns import Columns, Spans, pack

SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
)
HEADERS = "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"


def topic_schema(include_headers: bool) -> str:
    """The columns of a topic, in Spark's language."""
    return f"{SCHEMA}, {HEADERS}" if include_headers else SCHEMA


def arrow_schema(schema: Any) -> Any:
    """Spark's schema as Arrow's, as the installed PySpark wants it."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before 4.1
        return to_arrow_schema(schema)


def record_batch(columns: Columns, topic: str, partition: int, schema: Any) -> Any:
    """One Arrow batch of all the columns. schema: as arrow_schema gives it."""
    count = columns.record_count
    arrays = [
        binary_array(columns.data, columns.keys),
        binary_array(columns.data, columns.values),
        pa.repeat(topic, count),
        pa.array(np.full(count, partition, np.int32)),
        pa.array(columns.offsets),
        pa.array(columns.timestamps * 1000).cast(schema.field(5).type),
        pa.array(columns.timestamp_types),
    ]
    if len(schema) > len(arrays):
        arrays.append(_headers(columns, schema.field(len(arrays)).type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _headers(columns: Columns, kind: Any) -> Any:
    """A record without headers has null, as with Spark's connector."""
    rows = [
        [{"key": name, "value": content} for name, content in each] if each else None for each in columns.headers()
    ]
    return pa.array(rows, kind)


def binary_array(data: bytes, spans: Spans) -> Any:
    """The byte strings at the spans, copied out of the data."""
    count = len(spans.lengths)
    if count and int(spans.lengths[0]) >= 0 and not (spans.lengths == spans.lengths[0]).all():
        return _taken(data, spans)
    packed = pack(data, spans)
    valid = None if packed.valid is None else pa.py_buffer(np.packbits(packed.valid, bitorder="little"))
    return pa.BinaryArray.from_buffers(
        pa.binary(), count, [valid, pa.py_buffer(packed.offsets), pa.py_buffer(packed.data)]
    )


def _taken(data: bytes, spans: Spans) -> Any:
    """Strings of many sizes, the way that is fastest: Arrow picks every other one of string, gap, string, gap ..."""
    count = len(spans.lengths)
    edges = np.empty(2 * count, np.int32)
    edges[0::2] = spans.starts
    edges[1::2] = spans.starts + np.maximum(spans.lengths, 0)
    strings = pa.BinaryArray.from_buffers(
        pa.binary(), 2 * count - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)]
    )
    taken = strings.take(pa.array(np.arange(0, 2 * count - 1, 2)))
    nulls = spans.lengths < 0
    if not nulls.any():
        return taken
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.BinaryArray.from_buffers(pa.binary(), count, [valid, *taken.buffers()[1:]])

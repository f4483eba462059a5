"""A topic's values made columns, and the rows whose values cannot be.

A value is JSON or Avro with a schema, or text, or stays bytes. What cannot be decoded is sent to a dead-letter topic if
one is named, and else fails the query with topic, partition and offset. A null value gives null fields. Avro is Spark's
own, of the package spark-avro. Knows Spark's frames, and nothing of files but Avro schemas in them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ConfigError

AVRO = ("avro", "confluent-avro")
FORMATS = ("raw", "text", "json", *AVRO)
WITH_SCHEMA = {
    "json": "the fields of the JSON, such as 'id INT, name STRING'",
    **dict.fromkeys(AVRO, "the Avro schema, as JSON or as the path of an .avsc file"),
}
"""Formats that need a schema, and what it is."""

CORRUPT = "_undecodable"
WHOLE = "_whole"
REGISTRY_PREFIX = 5
"""Bytes in front of a value that a schema registry knows: a zero, and the schema's number in four bytes."""


def decoded(frame: Any, kind: str, schema: str | None, *, keep_bad: bool) -> tuple[Any, Any | None]:
    """The frame with its values as columns, and the rows that could not be (None: none, or they fail the query).

    kind: one of FORMATS; with a schema its fields come first, then key, topic, partition, offset and timestamp, each
    unless there is a field of that name. Raises ConfigError for an Avro schema that is none, or without spark-avro.
    """
    if kind == "raw":
        return frame, None
    if kind == "text":
        text = "cast(key as string) as key", "cast(value as string) as value"
        return frame.selectExpr(*text, "topic", "partition", "offset", "timestamp"), None
    if kind == "json":
        return _split(_json(frame, schema), f"_parsed is null or _parsed.{CORRUPT} is not null", "JSON", keep_bad)
    return _split(_avro(frame, schema or "", kind), "_parsed is null", "Avro", keep_bad)


def _json(frame: Any, schema: str | None) -> Any:
    from pyspark.sql import functions as F

    options = {"columnNameOfCorruptRecord": CORRUPT}
    fields = F.from_json(F.col("value").cast("string"), f"{schema}, {CORRUPT} STRING", options)
    return frame.withColumn("_parsed", fields)


def _avro(frame: Any, schema: str, kind: str) -> Any:
    """Spark gives a record of nulls for what it cannot decode; one around it tells that from a record of nulls."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    outer = {"type": "record", "name": "kafka_py_whole", "fields": [{"name": WHOLE, "type": avro_schema(schema)}]}
    body = "value"
    if kind == "confluent-avro":
        body = f"if(substring(value, 1, 1) = X'00', substring(value, {REGISTRY_PREFIX + 1}), cast(null as binary))"
    text = json.dumps(outer).replace("\\", "\\\\").replace("'", "\\'")
    try:
        parsed = frame.withColumn("_parsed", F.expr(f"from_avro({body}, '{text}', map('mode', 'PERMISSIVE')).{WHOLE}"))
        parsed.schema  # noqa: B018  the schema is looked at now, not when rows come
    except AnalysisException as error:
        if "AVRO_NOT_LOADED" in str(error):
            package = f"org.apache.spark:spark-avro_2.13:{frame.sparkSession.version}"
            raise ConfigError(
                "Avro needs Spark's package for it, in the file as spark: {settings: {spark.jars.packages: "
                f"'{package}'" + "}}"
            ) from None
        raise
    return parsed


def avro_schema(text: str) -> Any:
    """The schema of a record, as JSON values; `text` is JSON or the path of a file with it. Raises ConfigError."""
    where = "schema"
    if not text.lstrip().startswith("{"):
        where = f"schema: {text}"
        try:
            text = Path(text).read_text()
        except OSError as error:
            raise ConfigError(f"{where}: {error.strerror}; an Avro schema is JSON or the path of a file") from None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{where} is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("type") != "record":
        raise ConfigError(f"{where} must be an Avro record: {{\"type\": \"record\", \"name\": ..., \"fields\": [...]}}")
    return found


def _split(parsed: Any, is_bad: str, what: str, keep_bad: bool) -> tuple[Any, Any | None]:
    """The fields of the column _parsed as columns, and the rows where there is a value that is bad."""
    bad = f"value is not null and ({is_bad})"
    names = [name for name in parsed.schema["_parsed"].dataType.fieldNames() if name != CORRUPT]
    places = [each for each in ("key", "topic", "partition", "offset", "timestamp") if each not in names]
    columns = [*(f"_parsed.`{name}` as `{name}`" for name in names), *places]
    if keep_bad:
        return parsed.where(f"not ({bad})").selectExpr(*columns), parsed.where(bad).drop("_parsed")
    shown = "cast(value as string)" if what == "JSON" else "hex(value)"
    message = f"""concat('The value of ', topic, '-', partition, ' at offset ', offset,
    ' is not {what} of the schema: ', substr({shown}, 1, 80))"""
    return parsed.where(f"if({bad}, cast(raise_error({message}) as boolean), true)").selectExpr(*columns), None


def dead_letters(rows: Any) -> Any:
    """The rows as records of a dead-letter topic: the bytes as they were, their place in headers."""
    return rows.selectExpr(
        "key",
        "value",
        """array(named_struct('key', 'topic', 'value', cast(topic as binary)),
        named_struct('key', 'partition', 'value', cast(cast(partition as string) as binary)),
        named_struct('key', 'offset', 'value', cast(cast(offset as string) as binary))) as headers""",
    )

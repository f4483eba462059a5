"""A topic's values made columns, and the rows whose values cannot be.

A value is JSON with a schema, or text, or stays bytes. What cannot be decoded goes to a dead-letter topic where one is
named, and else fails the query with topic, partition and offset. A null value gives null fields. Knows Spark's frames,
and nothing of files.
"""

from __future__ import annotations

from typing import Any

CORRUPT = "_undecodable"
BAD = f"value is not null and (_parsed is null or _parsed.{CORRUPT} is not null)"
MESSAGE = """concat('The value of ', topic, '-', partition, ' at offset ', offset, ' is not JSON of the schema: ',
    substr(cast(value as string), 1, 80))"""


def decoded(frame: Any, kind: str, schema: str | None, *, keep_bad: bool) -> tuple[Any, Any | None]:
    """The frame with its values as columns, and the rows that could not be (None: none, or they fail the query).

    kind: raw, text or json; with json the fields of `schema` come first, then key, topic, partition, offset and
    timestamp, each unless there is a field of that name.
    """
    if kind == "raw":
        return frame, None
    if kind == "text":
        text = "cast(key as string) as key", "cast(value as string) as value"
        return frame.selectExpr(*text, "topic", "partition", "offset", "timestamp"), None
    from pyspark.sql import functions as F

    options = {"columnNameOfCorruptRecord": CORRUPT}
    fields = F.from_json(F.col("value").cast("string"), f"{schema}, {CORRUPT} STRING", options)
    parsed = frame.withColumn("_parsed", fields)
    names = [name for name in parsed.schema["_parsed"].dataType.fieldNames() if name != CORRUPT]
    places = [each for each in ("key", "topic", "partition", "offset", "timestamp") if each not in names]
    columns = [*(f"_parsed.`{name}` as `{name}`" for name in names), *places]
    if keep_bad:
        return parsed.where(f"not ({BAD})").selectExpr(*columns), parsed.where(BAD).drop("_parsed")
    return parsed.where(f"if({BAD}, cast(raise_error({MESSAGE}) as boolean), true)").selectExpr(*columns), None


def dead_letters(rows: Any) -> Any:
    """The rows as records of a dead-letter topic: the bytes as they were, their place in headers."""
    return rows.selectExpr(
        "key",
        "value",
        """array(named_struct('key', 'topic', 'value', cast(topic as binary)),
        named_struct('key', 'partition', 'value', cast(cast(partition as string) as binary)),
        named_struct('key', 'offset', 'value', cast(cast(offset as string) as binary))) as headers""",
    )

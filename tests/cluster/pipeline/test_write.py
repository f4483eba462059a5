"""Data frames written to topics, in batch and by a stream."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Topic

MakeTopic = Callable[..., Topic]


def save(frame: Any, bootstrap: str, **options: str) -> None:
    frame.write.format("kafka_py").option("kafka.bootstrap.servers", bootstrap).options(**options).mode(
        "append"
    ).save()


def test_keys_values_partitions_and_headers_are_written(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    frame = spark.sql(
        """SELECT cast(id as string) AS key, cast(concat('v', id) as binary) AS value, cast(id % 3 as int) AS partition,
        array(named_struct('key', 'h', 'value', cast(cast(id as string) as binary))) AS headers, 'x' AS other
        FROM range(30)"""
    )
    save(frame, topic.bootstrap, topic=topic.name)
    found = topic.read()
    assert {partition: sorted(int(each.key) for each in records) for partition, records in found.items()} == {
        number: list(range(number, 30, 3)) for number in range(3)
    }
    assert all(each.value == b"v" + each.key and each.headers[0][0] == "h" for each in found[1])


def test_the_column_topic_routes_and_text_is_utf_8(spark: Any, make_topic: MakeTopic) -> None:
    one, two = make_topic(1), make_topic(1)
    rows = [(one.name, None, "ä"), (two.name, "k", None), (one.name, "", "")]
    frame = spark.createDataFrame(rows, "topic string, key string, value string").coalesce(1)
    save(frame, one.bootstrap)
    assert [(each.key, each.value) for each in one.read()[0]] == [(None, "ä".encode()), (b"", b"")]
    assert [(each.key, each.value) for each in two.read()[0]] == [(b"k", None)]


def test_a_stream_copies_a_topic(spark: Any, make_topic: MakeTopic, tmp_path: Path) -> None:
    source, target = make_topic(2), make_topic(2)
    source.number(0, 50, 2)
    query = (
        spark.readStream.format("kafka_py").options(**source.options).option("startingOffsets", "earliest").load()
        .select("key", "value", "partition").writeStream.format("kafka_py")
        .option("kafka.bootstrap.servers", target.bootstrap).option("topic", target.name)
        .option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    copied = {number: [each.value for each in records] for number, records in target.read().items()}
    assert copied == {number: [each.value for each in records] for number, records in source.read().items()}


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("SELECT 'k' AS key", {"topic": "t"}, "no column 'value'"),
        ("SELECT 1 AS value", {"topic": "t"}, "column 'value' must be binary or string, not int"),
        ("SELECT 'v' AS value", {}, "Neither the option topic"),
        ("SELECT 'v' AS value", {"topic": "t", "kafka.acks": "1"}, "Option kafka.acks must be all"),
        ("SELECT cast(null AS string) AS topic, 'v' AS value", {}, "null in the column topic"),
    ],
)
def test_what_cannot_be_written_is_refused(
    spark: Any, make_topic: MakeTopic, query: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        save(spark.sql(query), make_topic(1).bootstrap, **options)


def test_a_topic_is_not_overwritten(spark: Any, make_topic: MakeTopic) -> None:
    options = {"kafka.bootstrap.servers": make_topic(1).bootstrap, "topic": "t"}
    with pytest.raises(Exception, match="A topic cannot be overwritten"):
        spark.sql("SELECT 'v' AS value").write.format("kafka_py").options(**options).mode("overwrite").save()


def test_a_record_that_is_too_large_fails_naming_topic_and_cause(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(1, max_message_bytes=1000)
    with pytest.raises(Exception, match=rf"MESSAGE_TOO_LARGE.*{topic.name}"):
        save(spark.sql("SELECT repeat('x', 5000) AS value"), topic.bootstrap, topic=topic.name)

"""Topics read by Spark in batch: schema, options, filters, trouble."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.clients import AdminClient, TopicPartition
from kafka_py.testing.cluster import KafkaCluster

from .conftest import Topic, load

MakeTopic = Callable[..., Topic]


def numbers(frame: Any) -> list[int]:
    return sorted(int(bytes(row.value)) for row in frame.select("value").collect())


def test_all_columns_arrive_as_sent(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    topic.feed(
        [
            {"key": b"k", "value": b"v", "partition": 0, "timestamp": 1_700_000_000_123},
            {"key": None, "value": b"", "partition": 1, "timestamp": 5, "headers": [("h", b"x"), ("h", None)]},
            {"key": b"", "value": None, "partition": 1, "timestamp": 6},
        ]
    )
    frame = load(spark, {**topic.options, "includeHeaders": "true"})
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    rows = frame.orderBy("partition", "offset").selectExpr("*", "unix_millis(timestamp) as ms").collect()
    seen = [(row.key, row.value, row.topic, row.partition, row.offset, row.ms, row.timestampType) for row in rows]
    assert seen == [
        (b"k", b"v", topic.name, 0, 0, 1_700_000_000_123, 0),
        (None, b"", topic.name, 1, 0, 5, 0),
        (b"", None, topic.name, 1, 1, 6, 0),
    ]
    assert [row.headers for row in rows] == [None, [("h", b"x"), ("h", None)], None]


def test_every_codec_and_batch_size_reads_the_same(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    expected = []
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        values = [b"%d-%d" % (number, each) * (each % 7) for each in range(500)]
        topic.feed(({"value": value} for value in values), compression_type=codec, batch_size=1000 * (number + 1))
        expected += values
    rows = load(spark, topic.options).orderBy("offset").select("offset", "value").collect()
    assert [row.offset for row in rows] == list(range(2500))
    assert [bytes(row.value) for row in rows] == expected


def test_ranges_by_offset_and_by_time(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    topic.feed({"value": b"%d" % n, "partition": n % 2, "timestamp": 1_000 + n} for n in range(20))
    name = topic.name

    def read(**options: str) -> list[int]:
        return numbers(load(spark, {**topic.options, **options}))

    assert read(startingOffsets=f'{{"{name}":{{"0":2,"1":-2}}}}', endingOffsets=f'{{"{name}":{{"0":4,"1":1}}}}') == [
        1, 4, 6,
    ]  # fmt: skip
    assert read(startingTimestamp="1015", endingTimestamp="1018") == [15, 16, 17]
    assert read(startingOffsetsByTimestamp=f'{{"{name}":{{"0":1018,"1":1017}}}}') == [17, 18, 19]
    assert read(endingOffsetsByTimestamp=f'{{"{name}":{{"0":1002,"1":9999}}}}') == [0, *range(1, 20, 2)]
    assert read(startingTimestamp="9999", startingOffsetsByTimestampStrategy="latest") == []
    with pytest.raises(Exception, match=r"startingTimestamp.*no record at or after 9999"):
        read(startingTimestamp="9999")
    with pytest.raises(Exception, match=r"startingOffsets must cover the partitions read.*-1"):
        read(startingOffsets=f'{{"{name}":{{"0":2}}}}')


def test_topics_by_pattern_and_by_assignment(spark: Any, cluster: KafkaCluster, make_topic: MakeTopic) -> None:
    for name in ("letters.a", "letters.b", "letterbox"):
        Topic(cluster.bootstrap_servers, cluster.create_topic(name, 2)).number(0, 4, 2)
    server = {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    by_pattern = load(spark, {**server, "subscribePattern": r"letters\..*"})
    assert {row.topic for row in by_pattern.select("topic").distinct().collect()} == {"letters.a", "letters.b"}
    assigned = load(spark, {**server, "assign": '{"letterbox":[1]}'})
    assert numbers(assigned) == [1, 3]


def test_ranges_are_split_for_more_tasks(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    topic.number(0, 100, 2)
    split = load(spark, {**topic.options, "minPartitions": "5"})
    assert split.rdd.getNumPartitions() >= 5
    assert numbers(split) == list(range(100))
    assert load(spark, {**topic.options, "maxRecordsPerPartition": "10"}).rdd.getNumPartitions() == 10


def test_filters_choose_what_is_fetched(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    topic.number(0, 90, 3)

    def where(text: str) -> list[int]:
        return numbers(load(spark, {**topic.options, "pushFilters": "true"}).where(text))

    assert where("partition = 1 and offset < 2") == [1, 4]
    assert where("partition in (0, 2) and offset >= 29") == [87, 89]
    assert where("topic = 'other'") == []
    assert where("timestamp > timestamp'2000-01-01' and partition <> 0 and offset = 3") == [10, 11]
    # Without the option a frame may be asked again, with other filters and without.
    frame = load(spark, topic.options)
    assert numbers(frame.where("partition = 1 and offset < 2")) == [1, 4]
    assert frame.count() == 90


def test_deleted_offsets_fail_the_query_or_are_skipped(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    topic.number(0, 10)
    with AdminClient({"bootstrap.servers": topic.bootstrap}) as admin:
        admin.delete_records({TopicPartition(topic.name, 0): 6}).all()
    gone = {**topic.options, "startingOffsets": f'{{"{topic.name}":{{"0":3}}}}'}
    with pytest.raises(Exception, match=rf"{topic.name}-0 holds offsets 6 to 10, not 3.*failOnDataLoss"):
        load(spark, gone).count()
    assert numbers(load(spark, {**gone, "failOnDataLoss": "false"})) == [6, 7, 8, 9]
    assert numbers(load(spark, topic.options)) == [6, 7, 8, 9]


def test_offsets_deleted_after_planning_fail_naming_the_offset(spark: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    topic.number(0, 10)
    strict, lenient = load(spark, topic.options), load(spark, {**topic.options, "failOnDataLoss": "false"})
    assert strict.rdd.getNumPartitions() == lenient.rdd.getNumPartitions() == 1  # planned now
    with AdminClient({"bootstrap.servers": topic.bootstrap}) as admin:
        admin.delete_records({TopicPartition(topic.name, 0): 4}).all()
    with pytest.raises(Exception, match=rf"{topic.name}-0: offsets from 0 on are gone, the first there is is 4"):
        strict.collect()
    assert numbers(lenient) == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "One of the options subscribe, subscribePattern and assign must be given"),
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "not both subscribe and assign"),
        ({"subscribe": "no-such-topic"}, "topic no-such-topic"),
        ({"subscribe": "a", "startingOffsets": "newest"}, "Option startingOffsets must be earliest.*'newest'"),
        ({"subscribe": "a", "kafka.auto.offset.reset": "latest"}, "use startingOffsets instead"),
        ({"subscribe": "a", "startingOfsets": "earliest"}, "is startingOffsets meant"),
    ],
)
def test_malformed_options_are_named(
    spark: Any, cluster: KafkaCluster, options: dict[str, str], message: str
) -> None:
    given = {"kafka.bootstrap.servers": cluster.bootstrap_servers, **options}
    with pytest.raises(Exception, match=message):
        load(spark, given).collect()

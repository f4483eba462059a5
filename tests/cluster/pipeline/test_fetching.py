"""Ranges read from a real broker, without Spark: restarts, time-outs, what is in an answer and what is left out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.fetching import RangeReader
from kafka_py.pipeline.links import Link
from kafka_py.pipeline.options import Options, Where
from kafka_py.pipeline.planning import Planner
from kafka_py.pipeline.ranges import OffsetRange
from kafka_py.pipeline.source import StreamReader
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.topics import create_topic

from .conftest import Topic

MakeTopic = Callable[..., Topic]


@pytest.fixture
def link(cluster: Any) -> Iterator[Link]:
    made = Link({"bootstrap.servers": cluster.bootstrap_servers})
    yield made
    made.close()


def reader(link: Link, topic: str, start: int, end: int, **settings: Any) -> RangeReader:
    given = {"fetch_bytes": 4096, "timeout_ms": 60_000, "fail_on_data_loss": True, **settings}
    return RangeReader(link, OffsetRange(topic, 0, start, end), **given)


def values(chunks: Any) -> list[int]:
    return [int(columns.value(index) or b"-1") for columns in chunks for index in range(columns.record_count)]


def test_a_range_is_read_exactly_in_many_fetches(link: Link, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    topic.feed(({"value": b"%d" % n} for n in range(5000)), batch_size=1000, compression_type="zstd")
    assert values(reader(link, topic.name, 0, 5000)) == list(range(5000))
    assert values(reader(link, topic.name, 17, 18)) == [17]
    assert values(reader(link, topic.name, 4990, 5000, fetch_bytes=1)) == list(range(4990, 5000))


def test_a_broker_that_comes_back_is_waited_for(broker_process: BrokerProcess) -> None:
    create_topic([broker_process.bootstrap], "lost", 1)
    topic = Topic(broker_process.bootstrap, "lost")
    topic.feed(({"value": b"%d" % n} for n in range(3000)), batch_size=1000)
    link = Link({"bootstrap.servers": broker_process.bootstrap})
    try:
        chunks = iter(reader(link, "lost", 0, 3000))
        first = values(itertools.islice(chunks, 2))
        broker_process.kill()
        broker_process.launch()
        assert first + values(chunks) == list(range(3000))
    finally:
        link.close()


def test_a_broker_that_stays_away_fails_naming_partition_and_offset(broker_process: BrokerProcess) -> None:
    create_topic([broker_process.bootstrap], "gone", 1)
    Topic(broker_process.bootstrap, "gone").number(0, 10)
    link = Link({"bootstrap.servers": broker_process.bootstrap})
    try:
        assert values(reader(link, "gone", 0, 10)) == list(range(10))
        broker_process.kill()
        with pytest.raises(KafkaError, match=r"reading gone-0 at offset 3 \(range 3 to 10\): nothing came within") as e:
            list(reader(link, "gone", 3, 10, timeout_ms=500))
        assert e.value.code is ErrorCode.REQUEST_TIMED_OUT
    finally:
        link.close()


def test_topics_that_are_not_there_are_named(link: Link, make_topic: MakeTopic, monkeypatch: Any) -> None:
    monkeypatch.setattr("kafka_py.pipeline.links.SETTLE_S", 0.2)
    topic = make_topic(2)
    with pytest.raises(KafkaError, match="topic not-there"):
        link.partitions_of([topic.name, "not-there"])
    planner = Planner(link, Options({"kafka.bootstrap.servers": "x:1", "assign": f'{{"{topic.name}":[1,7]}}'},
                                    Where.BATCH))  # fmt: skip
    with pytest.raises(KafkaError, match=f"assign names {topic.name}-7"):
        planner.partitions()
    assert link.topics_like(lambda name: name == topic.name) == [topic.name]
    assert set(link.partitions_of([topic.name])) == {TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)}


def test_a_micro_batch_over_many_idle_partitions_is_planned_with_few_requests(make_topic: MakeTopic) -> None:
    topic = make_topic(50)
    stream = StreamReader(Options({**topic.options, "startingOffsets": "latest"}, Where.STREAM), None)  # type: ignore[arg-type]
    try:
        start = stream.initialOffset()
        assert len(start[topic.name]) == 50
        end = stream.latestOffset(start, stream.getDefaultReadLimit())
        assert end == start
        assert stream.partitions(start, end) == []
        topic.number(0, 5)
        moved = stream.latestOffset(start, stream.getDefaultReadLimit())
        assert [split.range for split in stream.partitions(start, moved)] == [OffsetRange(topic.name, 0, 0, 5)]
        stream.prepareForTriggerAvailableNow()
        topic.number(5, 9)
        assert stream.latestOffset(start, stream.getDefaultReadLimit()) == moved
        assert stream.reportLatestOffset() != moved
    finally:
        stream.stop()

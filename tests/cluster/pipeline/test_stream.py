"""Topics streamed by Spark: micro-batches, checkpoints, limits, topics that change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_py.clients import AdminClient, NewPartitions, TopicPartition
from kafka_py.pipeline.committed import commit_offsets, committed_offsets
from kafka_py.pipeline.links import Link
from kafka_py.testing.cluster import KafkaCluster

from .conftest import Topic, drain, values_in

MakeTopic = Callable[..., Topic]


def test_a_stream_goes_on_from_its_checkpoint_and_repeats_nothing(
    spark: Any, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    topic.number(0, 100, 2)
    start = {**topic.options, "startingOffsets": "earliest"}
    query = drain(spark, start, tmp_path, maxOffsetsPerTrigger="30")
    batches = [each for each in query.recentProgress if each.numInputRows]
    assert [each.numInputRows for each in batches] == [30, 30, 30, 10]
    topic.number(100, 150, 2)
    query = drain(spark, start, tmp_path)
    assert values_in(spark, tmp_path) == list(range(150))
    # The checkpoint holds offsets as Spark's own connector writes them.
    log = sorted((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    assert json.loads(log[-1].read_text().splitlines()[2]) == {topic.name: {"0": 75, "1": 75}}


@pytest.mark.slow
def test_partitions_that_appear_are_read_from_their_beginning(
    spark: Any, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    topic.number(0, 10)
    start = {**topic.options, "startingOffsets": "earliest"}
    drain(spark, start, tmp_path)
    with AdminClient({"bootstrap.servers": topic.bootstrap}) as admin:
        admin.create_partitions({topic.name: NewPartitions(3)}).all()
    topic.feed({"value": b"%d" % each, "partition": each % 3} for each in range(10, 40))
    drain(spark, start, tmp_path)
    assert values_in(spark, tmp_path) == list(range(40))


@pytest.mark.slow
def test_a_topic_made_anew_fails_the_stream_or_is_read_from_its_beginning(
    spark: Any, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    topic.number(0, 10)
    start = {**topic.options, "startingOffsets": "earliest"}
    drain(spark, start, tmp_path)
    with AdminClient({"bootstrap.servers": topic.bootstrap}) as admin:
        admin.delete_records({TopicPartition(topic.name, 0): 10}).all()
    topic.number(10, 13)
    drain(spark, start, tmp_path)
    assert values_in(spark, tmp_path) == list(range(13))


@pytest.mark.slow
def test_a_deleted_topic_fails_the_stream(spark: Any, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic, other = make_topic(1), make_topic(1)
    topic.number(0, 10)
    other.number(10, 20)
    start = {**topic.options, "subscribe": f"{topic.name},{other.name}", "startingOffsets": "earliest"}
    drain(spark, start, tmp_path)
    rest = {**start, "subscribe": other.name}
    with pytest.raises(Exception, match=f"{topic.name}-0 are no longer there.*failOnDataLoss"):
        drain(spark, rest, tmp_path)
    other.number(20, 25)
    drain(spark, {**rest, "failOnDataLoss": "false"}, tmp_path)
    assert values_in(spark, tmp_path) == list(range(25))


def test_progress_is_committed_to_a_group_and_a_stream_starts_from_one(
    spark: Any, cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    topic.number(0, 20, 2)
    link = Link({"bootstrap.servers": topic.bootstrap})
    try:
        commit_offsets(link, "before", {TopicPartition(topic.name, 0): 4})
        options = {**topic.options, "startingOffsets": "committed", "startingGroup": "before", "commitGroup": "lagging"}
        query = drain(spark, {**options, "maxOffsetsPerTrigger": "8"}, tmp_path)
        assert values_in(spark, tmp_path) == sorted([*range(8, 20, 2), *range(1, 20, 2)])
        # Spark commits a batch when it plans the next one: the last batch is told at the query's next start.
        seen = committed_offsets(link, "lagging")
        assert sum(seen.values()) >= 4 + 8
        assert query.lastProgress.sources[0].latestOffset is not None
    finally:
        link.close()


@pytest.mark.slow
def test_a_micro_batch_waits_for_the_least_it_is_to_have(
    spark: Any, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    topic.number(0, 5)
    query = (
        spark.readStream.format("kafka_py").options(**topic.options)
        .options(startingOffsets="earliest", minOffsetsPerTrigger="20", maxTriggerDelay="10m").load()
        .writeStream.format("memory").queryName("least").option("checkpointLocation", str(tmp_path))
        .trigger(processingTime="200 milliseconds").start()
    )  # fmt: skip
    try:
        query.processAllAvailable()
        assert spark.table("least").count() == 0
        topic.number(5, 25)
        query.processAllAvailable()
        assert spark.table("least").count() == 25
    finally:
        query.stop()

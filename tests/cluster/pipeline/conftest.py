"""One small Spark for all the tests of a run, and ways to feed a topic and to read it back without Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.pipeline.session import SparkMissing, spark_session
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import ROOT
from kafka_py.testing.topics import create_topic

SMALL = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


SPARK_DEADLINE_S = 600
"""Whichever test comes first starts Spark, and its first stream starts Python workers: 15 s, or minutes under load."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SPARK_DEADLINE_S))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """local[2]."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    folder = tmp_path_factory.mktemp("spark")
    settings = {**SMALL, "spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    try:
        session = spark_session("kafka_py tests", master="local[2]", settings=settings)
    except SparkMissing as why:
        pytest.skip(str(why))
    yield session
    session.stop()


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    """One broker for a module."""
    with kafka_cluster_factory() as started:
        yield started


class Topic:
    """A topic of a test's own."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap = bootstrap
        self.name = name

    @property
    def options(self) -> dict[str, str]:
        """For Spark's reader."""
        return {"kafka.bootstrap.servers": self.bootstrap, "subscribe": self.name}

    def feed(self, records: Iterable[dict[str, Any]], **settings: Any) -> int:
        """Sends records given as send() takes them; returns how many."""
        count = 0
        given = {key.replace("_", "."): value for key, value in settings.items()}
        with Producer({"bootstrap.servers": self.bootstrap, **given}) as producer:
            futures = []
            for record in records:
                futures.append(producer.send(self.name, **record))
                count += 1
            for future in futures:
                future.result(60)
        return count

    def number(self, first: int, last: int, partitions: int = 1) -> None:
        """Values b"<first>" to b"<last - 1>", dealt to the partitions."""
        self.feed({"value": b"%d" % each, "partition": each % partitions} for each in range(first, last))

    def read(self) -> dict[int, list[Any]]:
        """Every record, by partition, without Spark."""
        with Consumer({"bootstrap.servers": self.bootstrap, "auto.offset.reset": "earliest"}) as consumer:
            partitions = [TopicPartition(self.name, info.partition) for info in consumer.partitions_for(self.name)]
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            found: dict[int, list[Any]] = {each.partition: [] for each in partitions}
            while any(consumer.position(each) < ends[each] for each in partitions):
                for record in consumer.poll(timeout=10.0):
                    found[record.partition].append(record)
        return found


@pytest.fixture
def make_topic(cluster: KafkaCluster) -> Callable[..., Topic]:
    """make_topic(partitions): a topic that no other test uses."""

    def make(partitions: int = 1, **configs: Any) -> Topic:
        # Records of tests are of any time: none is to be deleted for its age.
        settings = {"retention.ms": -1, **{name.replace("_", "."): value for name, value in configs.items()}}
        return Topic(cluster.bootstrap_servers, cluster.create_topic(partitions=partitions, configs=settings))

    return make


def load(spark: Any, options: dict[str, Any], kind: str = "kafka_py") -> Any:
    """A batch read."""
    return spark.read.format(kind).options(**options).load()


def drain(spark: Any, options: dict[str, Any], target: Path, **stream_options: Any) -> Any:
    """Streams all there is into Parquet files under `target`; returns the finished query."""
    query = (
        spark.readStream.format("kafka_py").options(**options).options(**stream_options).load()
        .writeStream.format("parquet").option("path", str(target / "data"))
        .option("checkpointLocation", str(target / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    return query


def values_in(spark: Any, target: Path) -> list[int]:
    """What streamed, sorted."""
    frame = spark.read.parquet(str(target / "data")).selectExpr("cast(cast(value as string) as int) as v")
    return sorted(row.v for row in frame.collect())


__all__ = ["Topic", "create_topic", "drain", "load", "values_in"]

"""The transactional Spark sink on Apache Kafka 2.8.2."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import exactly_once_scenes as scenes

from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.processes import ZookeeperServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def apache(
    apache_kafka: Jars, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApacheBroker]:
    connect = f"{zookeeper.connect}/exactly-once-spark"
    with ApacheBroker(tmp_path_factory.mktemp("apache"), connect, settings=scenes.BROKER_SETTINGS) as broker:
        yield broker


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from scenes.small_session(tmp_path_factory.mktemp("spark"))


def test_writes_are_whole_or_nothing(apache: ApacheBroker, spark: Any) -> None:
    apache.create_topic("writes", 2)
    scenes.writes_are_whole_or_nothing(spark, apache.bootstrap, "writes", 2)


def test_a_replayed_batch_is_not_written_again(apache: ApacheBroker, spark: Any, tmp_path: Path) -> None:
    for topic in ("source", "target"):
        apache.create_topic(topic, 2)
    folder = tmp_path / "checkpoint"
    scenes.a_replayed_batch_is_not_written_again(spark, apache.bootstrap, "source", "target", 2, folder)


def test_a_mirror_copies_rounds_once(apache: ApacheBroker, spark: Any, tmp_path: Path) -> None:
    apache.create_topic("mirrored", 2)
    scenes.a_mirror_copies_rounds_once(spark, apache.bootstrap, "mirrored", 2, tmp_path / "state")

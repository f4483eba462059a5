"""The transactional Spark sink on brokers of both makes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import exactly_once_scenes as scenes

from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.processes import ZookeeperServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=["apache", "ours"])
def broker(
    request: pytest.FixtureRequest, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AnyBroker]:
    if request.param == "apache":
        request.getfixturevalue("apache_kafka")
    connect = f"{zookeeper.connect}/exactly-once-spark-{request.param}"
    make = ApacheBroker if request.param == "apache" else BrokerProcess
    with make(tmp_path_factory.mktemp(request.param), connect, settings=scenes.BROKER_SETTINGS) as made:
        yield made


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from scenes.small_session(tmp_path_factory.mktemp("spark"))


def test_writes_are_whole_or_nothing(broker: AnyBroker, spark: Any) -> None:
    broker.create_topic("writes", 2)
    scenes.writes_are_whole_or_nothing(spark, broker.bootstrap, "writes", 2)


def test_a_replayed_batch_is_not_written_again(broker: AnyBroker, spark: Any, tmp_path: Path) -> None:
    for topic in ("source", "target"):
        broker.create_topic(topic, 2)
    folder = tmp_path / "checkpoint"
    scenes.a_replayed_batch_is_not_written_again(spark, broker.bootstrap, "source", "target", 2, folder)


def test_a_mirror_copies_rounds_once(broker: AnyBroker, spark: Any, tmp_path: Path) -> None:
    broker.create_topic("mirrored", 2)
    scenes.a_mirror_copies_rounds_once(spark, broker.bootstrap, "mirrored", 2, tmp_path / "state")

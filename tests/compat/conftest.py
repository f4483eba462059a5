"""What the tests with other people's software share."""

from collections.abc import Callable, Iterator

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers import apache


@pytest.fixture(scope="module")
def module_broker(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[BrokerProcess]:
    """A broker shared by the tests of a module. It keeps records whose timestamps are of the year before last: half a
    minute after its start retention would delete them.
    """
    with kafka_cluster_factory(settings={"log.retention.ms": -1}) as cluster:
        yield cluster.brokers[0]


@pytest.fixture(scope="session")
def apache_kafka() -> apache.Jars:
    """Apache Kafka 2.8.2: broker, tools, clients."""
    try:
        return apache.apache_kafka()
    except apache.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def newest_clients() -> apache.Jars:
    """The newest Java clients."""
    try:
        return apache.newest_clients()
    except apache.Unavailable as why:
        pytest.skip(str(why))

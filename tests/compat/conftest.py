"""What the tests with other people's software share."""

import pytest

from kafka_py.testing.peers import apache


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

"""What the tests of clients share: a broker of either make."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Unavailable
from kafka_py.testing.processes import ZookeeperServer

_numbers = itertools.count(1)


@pytest.fixture(scope="module", params=["kafka_py", "apache"])
def broker_of_each_make(
    request: pytest.FixtureRequest, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a broker that the tests of a module share; each test runs on one of ours and on Apache's.

    It deletes no old records: some tests write timestamps of decades ago.
    """
    connect = f"{zookeeper.connect}/clients-{request.param}-{next(_numbers)}"
    make = ApacheBroker if request.param == "apache" else BrokerProcess
    try:
        broker = make(tmp_path_factory.mktemp("broker"), connect, settings={"log.retention.ms": "-1"})
    except Unavailable as why:
        pytest.skip(str(why))
    with broker:
        yield broker.bootstrap

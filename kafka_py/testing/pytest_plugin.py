"""The pytest plugin that an installed kafka_py brings along: a Kafka cluster as a fixture.

`kafka_cluster` is a running KafkaCluster (cluster.py says what it offers). What it is made of stands in the project's
pytest settings (`kafka_cluster_brokers`, `_settings`, `_security`, `_scope`) or, for one test, in
`@pytest.mark.parametrize("kafka_cluster", [{"brokers": 3}], indirect=True)`. `kafka_cluster_factory` makes others, for
fixtures of the project's own. All clusters of a run share one ZooKeeper server, `kafka_zookeeper`.

A project that uses none of them pays for reading this file: whatever it needs is imported with the first cluster.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.testing.cluster import KafkaCluster
    from kafka_py.testing.processes import ZookeeperServer

SCOPES = ("session", "package", "module", "class", "function")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("kafka_cluster_brokers", "How many brokers kafka_cluster has.", default="1")
    parser.addini(
        "kafka_cluster_settings", "Settings of its brokers, a line name=value each.", type="linelist", default=[]
    )
    parser.addini("kafka_cluster_security", "SSL, SASL_PLAINTEXT or SASL_SSL; PLAINTEXT unless set.", default="")
    parser.addini("kafka_cluster_scope", f"How long it is shared: {', '.join(SCOPES)}.", default="session")


def cluster_scope(fixture_name: str, config: pytest.Config) -> Any:
    """The scope that the project's settings give to kafka_cluster. Raises pytest.UsageError."""
    scope = config.getini("kafka_cluster_scope").strip()
    if scope not in SCOPES:
        raise pytest.UsageError(f"kafka_cluster_scope is one of {', '.join(SCOPES)}, not {scope!r}")
    return scope


def cluster_options(config: pytest.Config) -> dict[str, Any]:
    """What the project's settings say of kafka_cluster, as KafkaCluster takes it. Raises pytest.UsageError."""
    brokers = config.getini("kafka_cluster_brokers").strip()
    if not brokers.isdigit():
        raise pytest.UsageError(f"kafka_cluster_brokers is a number, not {brokers!r}")
    settings = {}
    for line in config.getini("kafka_cluster_settings"):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"A line of kafka_cluster_settings has the form name=value, not {line!r}")
        settings[name.strip()] = value.strip()
    security = config.getini("kafka_cluster_security").strip() or None
    return {"brokers": int(brokers), "settings": settings, "security": security}


@pytest.fixture(scope="session")
def _kafka_zookeeper_coming_up() -> Iterator[ZookeeperServer]:
    """Started but not waited for: the first cluster's brokers start meanwhile."""
    from kafka_py.testing import guard
    from kafka_py.testing.processes import ZookeeperServer

    folder = Path(tempfile.mkdtemp(prefix="kafka_py-zookeeper-"))
    guard.discard_with_us(folder)
    server = ZookeeperServer(folder)
    try:
        yield server.start()
    finally:
        server.end()
        shutil.rmtree(folder, ignore_errors=True)
        guard.forget_folder(folder)


@pytest.fixture(scope="session")
def kafka_zookeeper(_kafka_zookeeper_coming_up: ZookeeperServer) -> ZookeeperServer:
    """The real ZooKeeper server that all clusters of this run share; `connect` says where it is."""
    _kafka_zookeeper_coming_up.wait_serving()
    return _kafka_zookeeper_coming_up


@pytest.fixture(scope="session")
def kafka_cluster_factory(_kafka_zookeeper_coming_up: ZookeeperServer) -> Callable[..., KafkaCluster]:
    """Makes a KafkaCluster, not started, from its arguments: `with kafka_cluster_factory(brokers=3) as cluster:`."""
    from kafka_py.testing.cluster import KafkaCluster

    def make(brokers: int = 1, **options: Any) -> KafkaCluster:
        shared = None if options.get("secure_zookeeper") else _kafka_zookeeper_coming_up
        return KafkaCluster(brokers, **{"zookeeper": shared, **options})

    return make


@pytest.fixture(scope=cluster_scope)
def kafka_cluster(
    request: pytest.FixtureRequest, kafka_cluster_factory: Callable[..., KafkaCluster]
) -> Iterator[KafkaCluster]:
    """A running Kafka cluster, as the project's pytest settings describe it: see its `bootstrap_servers`."""
    options = {**cluster_options(request.config), **getattr(request, "param", {})}
    with kafka_cluster_factory(**options) as cluster:
        yield cluster

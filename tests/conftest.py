"""Fixtures that every kind of test may use: one real ZooKeeper for the whole run, and a fresh chroot of it."""

import itertools
import signal
from collections.abc import Callable, Iterator

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import ZookeeperServer

# Installed, kafka_py brings its plugin along under this very name; in a mere checkout it is named here.
pytest_plugins = ["kafka_py.testing.pytest_plugin"]

# A run started in the background of a script ignores SIGINT, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

_chroots = itertools.count(1)


@pytest.fixture(scope="session")
def zookeeper(kafka_zookeeper: ZookeeperServer) -> ZookeeperServer:
    """A real ZooKeeper server, shared by all tests: do not stop or pause it, make one of your own for that."""
    return kafka_zookeeper


@pytest.fixture
def zk_chroot(zookeeper: ZookeeperServer) -> str:
    """A connect string with a chroot that no other test uses; it does not exist yet."""
    return f"{zookeeper.connect}/test{next(_chroots)}"


@pytest.fixture(scope="module")
def module_broker(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[BrokerProcess]:
    """A broker shared by the tests of a module: each makes topics of its own, none stops it."""
    with kafka_cluster_factory() as cluster:
        yield cluster.brokers[0]


@pytest.fixture
def bootstrap(module_broker: BrokerProcess) -> str:
    """Where clients find the module's broker."""
    return module_broker.bootstrap


@pytest.fixture
def broker_process(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[BrokerProcess]:
    """A broker of the test's own, to be killed and started again; its session is short."""
    with kafka_cluster_factory(settings={"zookeeper.session.timeout.ms": 1000}) as cluster:
        yield cluster.brokers[0]

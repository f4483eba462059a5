"""A broker as a real process: its folder, its port, its settings, its start.

Blocking, like processes.py. The port and the folder stay the same through restarts, so clients find it again.
`BrokerProcess` is kafka_py's own; apache.py has Apache's on the same footing. cluster.py starts several together.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self, TypedDict, Unpack

from kafka_py.base.properties import format_properties
from kafka_py.cli.common.whole_files import write_secret
from kafka_py.cli.local_cluster.broker_view import Connect, plain_connection
from kafka_py.testing.processes import Process, free_port, python_environment
from kafka_py.testing.topics import create_topic

CLUSTER_OF_ONE = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""What brokers of a test are told: internal topics as small as can be, and no waiting for members that won't come."""


_PATIENT = {"zookeeper.session.timeout.ms": "6000", "zookeeper.connection.timeout.ms": "60000"}
"""A killed broker comes back soon, and one that is started beside its ZooKeeper waits for it."""


class BrokerOptions(TypedDict, total=False):
    """What a broker of any make may be told besides its folder and its ZooKeeper.

    broker_id: 0 unless given. settings: go on top of server.properties. log_dirs: one in its folder unless given.
    port: a free one unless given.
    """

    broker_id: int
    settings: Mapping[str, str]
    log_dirs: Sequence[Path]
    port: int


class AnyBroker(Process):
    """One broker on a port of the loopback address; a context manager that stops it.

    properties: what goes into its server.properties at the next start; tests may change them.
    started_in_s: how long the last start took. connect: how the test's own requests reach it.
    """

    def __init__(
        self,
        program: Sequence[str],
        folder: Path,
        zookeeper_connect: str,
        own_settings: Mapping[str, str],
        options: BrokerOptions,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """program: a command that wants the properties file only. folder: for its files, kept through restarts.

        own_settings: what brokers of this make are told; `options` may say otherwise.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.broker_id = options.get("broker_id", 0)
        self.port = options.get("port") or free_port()
        self.log_dirs = list(options.get("log_dirs") or [folder / "kafka-logs"])
        self.properties = {
            "broker.id": str(self.broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": ",".join(str(path) for path in self.log_dirs),
            "zookeeper.connect": zookeeper_connect,
            **CLUSTER_OF_ONE,
            **own_settings,
            **(options.get("settings") or {}),
        }
        self.started_in_s = 0.0
        self.connect: Connect = plain_connection
        self._config = folder / "server.properties"
        super().__init__([*program, self._config], folder / "server.log", environment=environment, folder=folder)

    @property
    def bootstrap(self) -> str:
        """Its `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    def launch(self) -> None:
        """Starts it without waiting: for starts that are meant to fail, or to be waited for together."""
        write_secret(self._config, format_properties(self.properties))
        self.log.write_text("")
        self._launched_s = time.monotonic()
        super().start()

    def start(self, timeout_s: float = 60) -> Self:
        """Starts it and waits until it serves. Raises NotReady with the end of its log."""
        self.launch()
        return self.wait_started(timeout_s)

    def wait_started(self, timeout_s: float = 60) -> Self:
        """Waits until it has said that it has started. Raises NotReady."""
        self.wait_for_output("] started (", timeout_s)
        self.started_in_s = time.monotonic() - self._launched_s
        return self

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None, timeout_s: float = 30
    ) -> None:
        """Makes a topic, and waits until clients of this broker can use it. Raises KafkaError, NotReady."""
        create_topic([self.bootstrap], topic, partitions, configs=configs, timeout_s=timeout_s, connect=self.connect)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise


class BrokerProcess(AnyBroker):
    """A broker of kafka_py, run by this Python."""

    def __init__(self, folder: Path, zookeeper_connect: str, **options: Unpack[BrokerOptions]) -> None:
        program = [sys.executable, "-P", "-m", "kafka_py.cli.run_class", "kafka.Kafka"]
        environment = python_environment()
        super().__init__(program, folder, zookeeper_connect, _PATIENT, options, environment=environment)

"""A kafka_py broker as a real process, started by its script as a user would.

Blocking, like processes.py. The port and the folder stay the same through restarts, so clients find it again.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_py.base.properties import format_properties
from kafka_py.testing.processes import ROOT, NotReady, Process, free_port

STARTED = "started ("


class BrokerProcess(Process):
    """One broker on a free port of the loopback address; a context manager that stops it."""

    def __init__(
        self,
        folder: Path,
        zookeeper_connect: str,
        *,
        broker_id: int = 0,
        settings: Mapping[str, str] | None = None,
        log_dirs: Sequence[Path] = (),
    ) -> None:
        """folder: for its files, kept through restarts. settings: go on top of server.properties."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.broker_id = broker_id
        self.port = free_port()
        self.log_dirs = list(log_dirs) or [folder / "kafka-logs"]
        self.properties = {
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": ",".join(str(path) for path in self.log_dirs),
            "zookeeper.connect": zookeeper_connect,
            "zookeeper.session.timeout.ms": "6000",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **(settings or {}),
        }
        self._config = folder / "server.properties"
        super().__init__([ROOT / "bin" / "kafka-server-start.sh", self._config], folder / "server.log")

    @property
    def bootstrap(self) -> str:
        """Its `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    def launch(self) -> None:
        """Starts it without waiting: for starts that are meant to fail."""
        self._config.write_text(format_properties(self.properties))
        self.log.write_text("")
        super().start()

    def start(self, timeout_s: float = 30) -> BrokerProcess:
        """Starts it and waits until it serves. Raises NotReady with the end of its log."""
        self.launch()
        self.wait_for_output(STARTED, timeout_s)
        return self

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None, timeout_s: float = 30
    ) -> None:
        """Makes a topic with the command line tool, as a user would. Raises NotReady with what the tool said."""
        given = [word for pair in (configs or {}).items() for word in ("--config", "=".join(pair))]
        command = [ROOT / "bin" / "kafka-topics.sh", "--bootstrap-server", self.bootstrap, "--create", "--topic", topic]
        done = subprocess.run(
            [*command, "--partitions", str(partitions), *given], capture_output=True, text=True, timeout=timeout_s
        )
        if done.returncode:
            raise NotReady(f"kafka-topics.sh ended with {done.returncode}: {done.stdout}{done.stderr}")

    def __enter__(self) -> BrokerProcess:
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise

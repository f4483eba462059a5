"""What a cluster on this machine is: the values in its `cluster.json`, and the folders and settings that follow.

    DIR/cluster.json                 this, kept through restarts
    DIR/processes.json               what runs (state.py)
    DIR/zookeeper/                   zookeeper.properties, data/, zookeeper.log
    DIR/broker-N/                    server.properties, kafka-logs/, server.log
    DIR/security/                    users, certificates, admin.properties, where it has them (security.py)

The property files are written once and then the user's: listeners are passed beside them (`--override`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from kafka_py.base.properties import format_properties, read_properties
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.user_folders import user_folder
from kafka_py.cli.common.whole_files import replace_text, write_secret
from kafka_py.cli.local_cluster.broker_view import Connect, plain_connection
from kafka_py.cli.local_cluster.ports import HOST
from kafka_py.cli.local_cluster.secured_socket import SecuredConnections
from kafka_py.cli.local_cluster.security import ADMIN

FILE = "cluster.json"
ZOOKEEPER = "zookeeper"
ZOOKEEPER_HEAP = "-Xmx256M"
ENVIRONMENT = "KAFKA_PY_DATA"
MOST_REPLICAS = 3
PLAINTEXT = "PLAINTEXT"
OF_SECURITY = ("ssl.", "sasl.", "listener.name.", "security.inter.broker.protocol", "super.users", "authorizer.")
"""What the names of settings begin with that `up --security` writes, and that make way for another protocol's."""


def default_folder(environment: Mapping[str, str]) -> Path:
    """KAFKA_PY_DATA, else kafka_py/cluster in the folder for the user's data."""
    given = environment.get(ENVIRONMENT)
    if given:
        return Path(given).absolute()
    return user_folder("XDG_DATA_HOME", environment) / "cluster"


@dataclass(frozen=True)
class LocalCluster:
    """ports: of broker 0, 1 and so on. zookeeper_port: of its own server. zookeeper: another one's connect string.

    Exactly one of zookeeper_port and zookeeper is set. protocol: of every listener, for clients and between brokers.
    """

    ports: tuple[int, ...]
    zookeeper_port: int | None = None
    zookeeper: str | None = None
    protocol: str = PLAINTEXT

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.ports)

    @property
    def zookeeper_connect(self) -> str:
        return self.zookeeper or f"{HOST}:{self.zookeeper_port}"

    @property
    def names(self) -> list[str]:
        """Its processes, in the order in which they start."""
        own = [ZOOKEEPER] if self.zookeeper_port is not None else []
        return own + [broker_name(number) for number in range(len(self.ports))]

    def port_of(self, name: str) -> int:
        """Where this process listens."""
        return (self.zookeeper_port or 0) if name == ZOOKEEPER else self.ports[broker_number(name)]

    def overrides(self, number: int) -> list[str]:
        """Arguments of kafka-server-start.sh that go over the property file of a broker."""
        return [word for name, value in self.place(number).items() for word in ("--override", f"{name}={value}")]

    def place(self, number: int) -> dict[str, str]:
        """Where a broker listens, and where it registers."""
        return {
            "listeners": f"{self.protocol}://{HOST}:{self.ports[number]}", "zookeeper.connect": self.zookeeper_connect
        }  # fmt: skip

    def on_ports(self, ports: tuple[int, ...], zookeeper_port: int | None) -> Self:
        return replace(self, ports=ports, zookeeper_port=zookeeper_port)


def broker_name(number: int) -> str:
    return f"broker-{number}"


def broker_number(name: str) -> int:
    return int(name.removeprefix("broker-"))


def log_of(folder: Path, name: str) -> Path:
    """What a process of the cluster writes to its console."""
    return folder / name / ("zookeeper.log" if name == ZOOKEEPER else "server.log")


def read(folder: Path) -> LocalCluster | None:
    """The cluster in this folder; None where there is none yet. Raises CommandFailed for what is not ours."""
    path = folder / FILE
    try:
        values = json.loads(path.read_text())
        ports = tuple(values["ports"])
        return LocalCluster(ports, values["zookeeper_port"], values["zookeeper"], values.get("protocol", PLAINTEXT))
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandFailed(f"{path} cannot be read ({error}): restore it, or name another with --data") from None
    if folder.is_dir() and any(entry.name != "lock" for entry in folder.iterdir()):
        raise CommandFailed(f"{folder} is not empty and has no cluster of kafka-py: choose another folder with --data")
    return None


def client_properties(folder: Path) -> Path:
    """What clients of a secured cluster are told: the settings of its administrator."""
    return folder / "security" / f"{ADMIN}.properties"


def client_settings(folder: Path, cluster: LocalCluster) -> dict[str, str]:
    """The administrator's settings, none without security. Raises ConfigError."""
    return {} if cluster.protocol == PLAINTEXT else read_properties(client_properties(folder))


def connections_to(folder: Path, cluster: LocalCluster) -> Connect:
    """How commands ask its brokers. Raises ConfigError."""
    settings = client_settings(folder, cluster)
    return SecuredConnections(settings) if settings else plain_connection


def read_existing(folder: Path) -> LocalCluster:
    """The cluster in this folder. Raises CommandFailed where there is none."""
    cluster = read(folder)
    if cluster is None:
        raise CommandFailed(f"There is no cluster in {folder}: make one with kafka-py up, or name another with --data")
    return cluster


def write(folder: Path, cluster: LocalCluster) -> None:
    """Notes what the cluster is. Raises OSError."""
    replace_text(folder / FILE, json.dumps(asdict(cluster), indent=2) + "\n")


def make_folders(
    folder: Path, cluster: LocalCluster, settings: Mapping[str, str], secured: Mapping[str, str] | None = None
) -> None:
    """Folders and property files, those that are missing.

    settings: go into every server.properties, which is written again for them. secured: the settings of `protocol`, in
    place of those of another protocol; None where nothing about it changes. Raises OSError, ConfigError.
    """
    if cluster.zookeeper_port is not None:
        (folder / ZOOKEEPER / "data").mkdir(parents=True, exist_ok=True)
        if cluster.protocol != PLAINTEXT:
            (folder / ZOOKEEPER).chmod(0o700)
    for number in range(len(cluster.ports)):
        home = folder / broker_name(number)
        home.mkdir(parents=True, exist_ok=True)
        if cluster.protocol != PLAINTEXT:
            home.chmod(0o700)
        properties = home / "server.properties"
        kept = read_properties(properties) if properties.exists() else {}
        security = {name: value for name, value in kept.items() if name.startswith(OF_SECURITY)}
        others = {name: value for name, value in kept.items() if name not in security}
        if settings or not kept:
            others = broker_settings(cluster, home, number)
        if settings or not kept or secured is not None or "listeners" in kept:
            others |= cluster.place(number)
        wanted = {**others, **(security if secured is None else secured), **settings}
        if wanted != kept:
            write_secret(properties, format_properties(wanted))


def broker_settings(cluster: LocalCluster, home: Path, number: int) -> dict[str, str]:
    """What a new broker is told: internal topics on as many brokers as there are, up to three."""
    replicas = min(len(cluster.ports), MOST_REPLICAS)
    in_sync = max(1, replicas - 1)
    return {
        "broker.id": str(number),
        "log.dirs": str(home / "kafka-logs"),
        "zookeeper.connection.timeout.ms": "60000",
        "default.replication.factor": str(replicas),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "group.initial.rebalance.delay.ms": "0",
        # All brokers of the cluster are stopped together, when no other can take over a leadership.
        "controlled.shutdown.retry.backoff.ms": "500",
    }


def zookeeper_properties(folder: Path, port: int) -> Path:
    """Writes the property file of the ZooKeeper server. Raises OSError."""
    path = folder / ZOOKEEPER / "zookeeper.properties"
    path.write_text(format_properties({
        "dataDir": str(folder / ZOOKEEPER / "data"),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "tickTime": "2000",
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "autopurge.purgeInterval": "24",
    }))  # fmt: skip
    return path

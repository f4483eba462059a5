"""What the probes have seen, as frozen values: all that checks go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.clients.metadata import NO_NODE, Node
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot

DAY_MS = 86_400_000

SettingValues = Mapping[str, str | None]
"""Name -> value; None for a secret or an unset one."""


class ReachStep(StrEnum):
    """The steps to a broker that answers, in their order."""

    NAME = "name"
    PORT = "port"
    TLS = "tls"
    LOGIN = "login"
    API = "api"


class ReachFault(StrEnum):
    """Why a step failed."""

    UNKNOWN_NAME = "unknown name"
    REFUSED = "refused"
    NO_ANSWER = "no answer"
    UNREACHABLE = "unreachable"
    NO_TLS_THERE = "no TLS there"
    TLS_EXPECTED = "TLS expected"
    CERTIFICATE_EXPIRED = "certificate expired"
    CERTIFICATE_TOO_NEW = "certificate not yet valid"
    CERTIFICATE_NAME = "certificate for another name"
    CERTIFICATE_UNTRUSTED = "certificate not trusted"
    CLIENT_CERTIFICATE = "client certificate"
    NO_COMMON_TLS = "no common TLS"
    TLS_FAILED = "TLS failed"
    LOGIN_REFUSED = "login refused"
    LOGIN_MECHANISM = "login mechanism"
    LOGIN_EXPECTED = "login expected"
    NOT_KAFKA = "not Kafka"
    TOO_OLD = "too old"


class CertificateSeen(NamedTuple):
    """A broker's own certificate. names: DNS names and addresses; the common name where there are none."""

    subject: str
    issuer: str
    not_before_ms: int
    not_after_ms: int
    names: tuple[str, ...]
    is_self_signed: bool


class Reached(NamedTuple):
    """How far it is possible to get to one address from here. failed: None if its broker answered requests.

    nodes, controller_id, cluster_id: what this broker says of the cluster.
    """

    host: str
    port: int
    failed: ReachStep | None = None
    fault: ReachFault | None = None
    detail: str = ""
    addresses: tuple[str, ...] = ()
    certificate: CertificateSeen | None = None
    versions: Mapping[int, VersionRange] | None = None
    nodes: tuple[Node, ...] = ()
    controller_id: int = NO_NODE
    cluster_id: str | None = None

    @property
    def where(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ClockSeen(NamedTuple):
    """A broker's clock. ahead_ms: of this machine's; negative if behind. error_ms: how wrong that may be."""

    broker: str
    source: str
    ahead_ms: float
    error_ms: float


class DiskSeen(NamedTuple):
    """The disk of one log directory."""

    broker: int
    path: str
    total_bytes: int
    free_bytes: int


class ZooKeeperSeen(NamedTuple):
    """One ZooKeeper server. fault: "" if it serves. latencies: as it says itself, in ms; -1 if it does not."""

    server: str
    fault: str = ""
    mode: str = ""
    round_trip_ms: float = 0.0
    average_latency_ms: float = -1.0
    most_latency_ms: float = -1.0
    outstanding: int = 0


class MetricsSeen(NamedTuple):
    """A page of metrics. fault: "" if it was read. values: sums by name, of the names that the doctor knows."""

    url: str
    fault: str = ""
    values: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything that was seen.

    now_ms: wall clock of this machine. protocol: security.protocol of the client. servers: bootstrap.servers.
    advertised: by broker id. client_files: settings by file name. zookeepers: None if none was named.
    """

    now_ms: int
    servers: str
    protocol: str = "PLAINTEXT"
    bootstrap: tuple[Reached, ...] = ()
    advertised: Mapping[int, Reached] = field(default_factory=dict)
    snapshot: ClusterSnapshot | None = None
    broker_settings: Mapping[int, SettingValues] = field(default_factory=dict)
    topic_settings: Mapping[str, SettingValues] = field(default_factory=dict)
    foreign_brokers: Mapping[int, str] = field(default_factory=dict)
    """Broker id -> what another broker, which has its address, answered."""
    clocks: tuple[ClockSeen, ...] = ()
    disks: tuple[DiskSeen, ...] = ()
    zookeepers: tuple[ZooKeeperSeen, ...] | None = None
    metrics: tuple[MetricsSeen, ...] = ()
    client_files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing_files: frozenset[str] = frozenset()
    own_certificate: CertificateSeen | None = None
    unchecked: tuple[str, ...] = ()

    @property
    def is_reached(self) -> bool:
        """Whether the cluster was seen."""
        return self.snapshot is not None and self.snapshot.is_reached

    def setting(self, broker: int, name: str) -> str | None:
        """The value of a broker's setting; None if it is not known."""
        return self.broker_settings.get(broker, {}).get(name)


def whole_number(text: str | None) -> int | None:
    """The number in a setting's value; None for anything else."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None

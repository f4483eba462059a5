"""The settings of the manager, from a TOML file: where it listens, who may use it, which clusters it shows.

    host = "127.0.0.1"
    port = 9000
    users = "users"                    # without it nobody logs in, and the manager listens on this machine only

    [[cluster]]
    name = "orders"
    bootstrap_servers = "broker1:9092,broker2:9092"
    command_config = "orders.properties"
    zookeeper = "zk1:2181/kafka"       # only for what has no request of its own

Paths are relative to the folder of the file.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import read_properties
from kafka_py.clients.configs import parse_server
from kafka_py.manager.identity.oidc.settings import SECTION as OIDC
from kafka_py.manager.identity.oidc.settings import OidcSettings, settings_of_oidc

DEFAULT_PORT = 9000
"""That of the original Kafka Manager."""
CLUSTER_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """One cluster. properties: settings of its clients, without bootstrap.servers. version: for the reader only.

    is_read_only: nobody may change it here. is_own: it was added on a page, and may be removed there.
    """

    name: str
    bootstrap_servers: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)  # with passwords
    zookeeper: str = ""
    version: str = ""
    is_read_only: bool = False
    is_own: bool = False

    def client_properties(self) -> dict[str, str]:
        """The settings of any client of this cluster."""
        return {**self.properties, "bootstrap.servers": self.bootstrap_servers}


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """All of the manager. data: folder of what it keeps; None: nothing outlives the process.

    oidc: a provider that users log in by, beside the users file or without one. allow_changes: where nobody logs in,
    whether everybody is an administrator. public_names: the values of the header Host that are answered besides this
    machine's own; where users log in any is, unless some are given. trusted_proxies: addresses or networks whose header
    X-Forwarded-For says where a request comes from. metrics_token: file with the token that Prometheus may have in
    place of a user's name and password.
    """

    clusters: tuple[ClusterSettings, ...] = ()
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    users: Path | None = None
    oidc: OidcSettings | None = None
    data: Path | None = None
    audit_log: Path | None = None
    metrics_token: Path | None = None
    allow_changes: bool = False
    is_read_only: bool = False
    session_idle_minutes: int = 60
    session_longest_hours: int = 12
    public_names: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    masks: tuple[Mapping[str, Any], ...] = ()
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Sections that belong to a part of the manager, as [history]; each part checks its own."""

    @property
    def has_login(self) -> bool:
        """Whether whoever uses the manager has to log in."""
        return self.users is not None or self.oidc is not None

    def validate(self) -> None:
        """Raises ConfigError for what cannot be, or would not be safe."""
        for name, least, most in _BOUNDS:
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"{name} is between {least} and {most}, not {getattr(self, name)}")
        for name in PATHS:
            if "\0" in str(getattr(self, name) or ""):
                raise ConfigError(f"{name} is a path, which has no zero byte")
        if not self.has_login and not is_loopback(self.host):
            raise ConfigError(
                f"Without a users file the manager listens on this machine only, not on {self.host}: add a user with "
                "`kafka-py web --users FILE --add-user NAME`, and start it with --users FILE; or give [oidc] in its "
                "settings"
            )
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ConfigError("tls_certificate and tls_key are given together")
        for proxy in self.trusted_proxies:
            if not is_network(proxy):
                raise ConfigError(f"trusted_proxies has IP addresses and networks such as 10.0.0.0/8, not {proxy!r}")
        names = [cluster.name for cluster in self.clusters]
        if len(set(names)) < len(names):
            raise ConfigError(f"Two clusters have the same name: {', '.join(sorted(names))}")


def is_network(text: str) -> bool:
    """Whether the text is an IP address, or a network."""
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to that address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_cluster(cluster: ClusterSettings) -> ClusterSettings:
    """The same cluster. Raises ConfigError for a name or servers that cannot be."""
    if not CLUSTER_NAME.fullmatch(cluster.name):
        raise ConfigError(f"A cluster's name has letters, digits, dots, dashes and underscores, not {cluster.name!r}")
    servers = [server.strip() for server in cluster.bootstrap_servers.split(",") if server.strip()]
    if not servers:
        raise ConfigError(f"The cluster {cluster.name} has no bootstrap servers")
    for server in servers:
        parse_server(server)
    return cluster


PATHS = ("users", "data", "audit_log", "metrics_token", "tls_certificate", "tls_key")
PLAIN: dict[str, type] = {
    "host": str,
    "port": int,
    "allow_changes": bool,
    "is_read_only": bool,
    "session_idle_minutes": int,
    "session_longest_hours": int,
}
_BOUNDS = (("port", 0, 65_535), ("session_idle_minutes", 1, 1_000_000), ("session_longest_hours", 1, 100_000))
LISTS = ("public_names", "trusted_proxies")
_CLUSTER: dict[str, type] = {
    "name": str,
    "bootstrap_servers": str,
    "zookeeper": str,
    "version": str,
    "is_read_only": bool,
}


def read_settings(path: Path) -> ManagerSettings:
    """The settings of a file. Raises ConfigError, which names the file and the setting."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    try:
        return settings_of(values, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}") from None


def settings_of(values: Mapping[str, Any], folder: Path) -> ManagerSettings:
    """The settings of a parsed file. Raises ConfigError."""
    known: dict[str, Any] = {}
    extra: dict[str, Mapping[str, Any]] = {}
    for name, value in values.items():
        if name in PATHS:
            known[name] = folder / _typed(name, value, str)
        elif name in PLAIN:
            known[name] = _typed(name, value, PLAIN[name])
        elif name in LISTS:
            known[name] = tuple(_typed(name, each, str) for each in _typed(name, value, list))
        elif name == "cluster":
            known["clusters"] = tuple(_cluster_of(each, folder) for each in _typed(name, value, list))
        elif name == "mask":
            known["masks"] = tuple(_typed(name, each, dict) for each in _typed(name, value, list))
        elif name == OIDC:
            known["oidc"] = settings_of_oidc(_typed(name, value, dict), folder)
        elif isinstance(value, dict):
            extra[name] = value
        else:
            raise ConfigError(f"There is no setting {name}")
    return ManagerSettings(**known, extra=extra)


def _cluster_of(values: Any, folder: Path) -> ClusterSettings:
    known: dict[str, Any] = {}
    properties: dict[str, str] = {}
    for name, value in _typed("cluster", values, dict).items():
        if name in _CLUSTER:
            known[name] = _typed(name, value, _CLUSTER[name])
        elif name == "command_config":
            properties = {**read_properties(str(folder / _typed(name, value, str))), **properties}
        elif name == "properties":
            properties |= {key: str(each) for key, each in _typed(name, value, dict).items()}
        else:
            raise ConfigError(f"A cluster has no setting {name}")
    for name in ("name", "bootstrap_servers"):
        if name not in known:
            raise ConfigError(f"A cluster needs the setting {name}")
    return check_cluster(ClusterSettings(**known, properties=properties))


def _typed(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{name} is of type {kind.__name__}, not {value!r}")
    return value

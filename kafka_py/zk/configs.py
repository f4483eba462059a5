"""Settings of the connection to ZooKeeper, and the connect string.

Source: docs/reference/configs.tsv (zookeeper.*); docs/reference/zookeeper.md, section 3.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Kind, Option, OptionTable, at_least

DEFAULT_PORT = 2181

_SERVER = re.compile(r"(?:\[(?P<v6>[^\[\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\d+))?")


class ConnectString(NamedTuple):
    """`host:port,host:port/chroot`, parsed. chroot: "" or a path without trailing slash."""

    servers: tuple[tuple[str, int], ...]
    chroot: str = ""

    @classmethod
    def parse(cls, text: str, name: str = "zookeeper.connect") -> Self:
        """Parses a connect string. Raises ConfigError naming the setting `name`."""
        listed, slash, path = text.strip().partition("/")
        servers = tuple(_server(item.strip(), text, name) for item in listed.split(",") if item.strip())
        if not servers:
            raise ConfigError(f"Invalid value {text!r} for configuration {name}: no host:port in it")
        chroot = (slash + path).rstrip("/")
        if "//" in chroot:
            raise ConfigError(f"Invalid value {text!r} for configuration {name}: an empty part in the chroot path")
        return cls(servers, chroot)

    @property
    def hosts(self) -> str:
        """The servers without the chroot."""
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.servers)

    def __str__(self) -> str:
        return self.hosts + self.chroot


def _server(item: str, text: str, name: str) -> tuple[str, int]:
    match = _SERVER.fullmatch(item)
    port = int(match["port"] or DEFAULT_PORT) if match else 0
    if match is None or not 0 < port < 65536:
        raise ConfigError(f"Invalid value {text!r} for configuration {name}: {item!r} is not host:port")
    return match["v6"] or match["host"], port


class ZkTlsOptions(OptionTable):
    """Settings of TLS connections to ZooKeeper."""

    zookeeper_ssl_client_enable = Option("zookeeper.ssl.client.enable", False, about="Connect with TLS.")
    zookeeper_client_cnxn_socket = Option(
        "zookeeper.clientCnxnSocket", None, kind=Kind.STRING,
        about="org.apache.zookeeper.ClientCnxnSocketNetty: asked for where a certificate is to be this broker's "
        "identity (zookeeper.set.acl).",
    )  # fmt: skip
    zookeeper_ssl_keystore_location = Option(
        "zookeeper.ssl.keystore.location", None, kind=Kind.STRING, about="The client's key and certificate."
    )
    zookeeper_ssl_keystore_password = Option(
        "zookeeper.ssl.keystore.password", None, kind=Kind.PASSWORD, about="Password of the key store and of its key."
    )
    zookeeper_ssl_keystore_type = Option(
        "zookeeper.ssl.keystore.type", None, kind=Kind.STRING, about="JKS, PKCS12 or PEM; null: by file name."
    )
    zookeeper_ssl_truststore_location = Option(
        "zookeeper.ssl.truststore.location", None, kind=Kind.STRING, about="File with the trusted certificates."
    )
    zookeeper_ssl_truststore_password = Option(
        "zookeeper.ssl.truststore.password", None, kind=Kind.PASSWORD, about="Password of the trust store."
    )
    zookeeper_ssl_truststore_type = Option(
        "zookeeper.ssl.truststore.type", None, kind=Kind.STRING, about="JKS, PKCS12 or PEM; null: by file name."
    )
    zookeeper_ssl_protocol = Option(
        "zookeeper.ssl.protocol", "TLSv1.2", importance="low", about="The TLS version, where none are listed."
    )
    zookeeper_ssl_enabled_protocols = Option(
        "zookeeper.ssl.enabled.protocols", None, kind=Kind.LIST, importance="low",
        about="The TLS versions allowed; null: the one of zookeeper.ssl.protocol.",
    )  # fmt: skip
    zookeeper_ssl_cipher_suites = Option(
        "zookeeper.ssl.cipher.suites", None, kind=Kind.LIST, importance="low", about="The cipher suites allowed."
    )
    zookeeper_ssl_endpoint_identification_algorithm = Option(
        "zookeeper.ssl.endpoint.identification.algorithm", "HTTPS", importance="low",
        about="HTTPS: the server's certificate must name it; empty: any name will do.",
    )  # fmt: skip
    zookeeper_ssl_crl_enable = Option(
        "zookeeper.ssl.crl.enable", False, importance="low", about="Check revocation lists: refused at the start."
    )
    zookeeper_ssl_ocsp_enable = Option(
        "zookeeper.ssl.ocsp.enable", False, importance="low", about="Check revocation online: refused at the start."
    )


class ZkOptions(ZkTlsOptions):
    """Settings of a broker's connection to ZooKeeper."""

    zookeeper_connect = Option(
        "zookeeper.connect", None, kind=Kind.STRING, importance="high",
        about="The servers, host:port,host:port, with an optional chroot path at the end (host:port/kafka).",
    )  # fmt: skip
    zookeeper_session_timeout_ms = Option(
        "zookeeper.session.timeout.ms", 18000, at_least(1), unit="ms", importance="high",
        about="A broker that sends nothing for this time counts as dead.",
    )  # fmt: skip
    zookeeper_connection_timeout_ms: Option[int | None] = Option(
        "zookeeper.connection.timeout.ms", None, kind=Kind.INT, unit="ms", importance="high",
        about="How long to wait for the first connection; null: the session timeout.",
    )  # fmt: skip
    zookeeper_sync_time_ms = Option(
        "zookeeper.sync.time.ms", 2000, unit="ms", importance="low", no_effect="nothing waits for followers",
        about="How far a ZooKeeper follower may be behind its leader.",
    )
    zookeeper_set_acl = Option(
        "zookeeper.set.acl", False, importance="high",
        about="Protect what this broker creates: writable by itself, readable by all (secrets excepted).",
    )  # fmt: skip
    zookeeper_max_in_flight_requests = Option(
        "zookeeper.max.in.flight.requests", 10, at_least(1), importance="high",
        about="Most requests in flight; further requests wait until a response arrives.",
    )  # fmt: skip

    def connect_string(self) -> ConnectString:
        """The parsed zookeeper.connect. Raises ConfigError if it is not set or malformed."""
        if not self.zookeeper_connect:
            raise ConfigError("Missing required configuration zookeeper.connect which has no default value.")
        return ConnectString.parse(self.zookeeper_connect)

    def connection_timeout_ms(self) -> int:
        """Time limit for the first connection, in ms."""
        given = self.zookeeper_connection_timeout_ms
        return self.zookeeper_session_timeout_ms if given is None else given

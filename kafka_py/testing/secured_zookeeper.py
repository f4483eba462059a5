"""A real ZooKeeper with TLS on a second port and logins with DIGEST-MD5, and what its clients are told.

TLS needs Netty, which Apache Kafka's own jars have besides their ZooKeeper 3.5.9 (peers/apache.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_py.testing.certificate_files import PASSWORD, CertificateFiles
from kafka_py.testing.processes import ZookeeperServer, free_port

NETTY_SOCKET = "org.apache.zookeeper.ClientCnxnSocketNetty"
DIGEST_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"


class SecuredZookeeper(ZookeeperServer):
    """users: names and passwords of who may log in. jars: of Netty too; without them there is no port for TLS.

    tls_port: 0 without TLS.
    """

    def __init__(
        self,
        folder: Path,
        users: Mapping[str, str],
        certificates: CertificateFiles | None = None,
        jars: str | None = None,
        *,
        number: int = 0,
        members: Sequence[str] = (),
    ) -> None:
        """number, members: as in ZookeeperServer."""
        folder.mkdir(parents=True, exist_ok=True)
        self._login_file = folder / "server-jaas.conf"
        self.set_users(users)
        self.certificates = certificates
        self.tls_port = 0
        more = ["authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"]
        if certificates is not None and jars is not None:
            self.tls_port = free_port()
            more += _tls_lines(certificates, self.tls_port)
        super().__init__(folder, number=number, members=members)
        with self.properties.open("a") as file:
            file.writelines(f"{line}\n" for line in more)
        self.environment["KAFKA_OPTS"] += f" -Djava.security.auth.login.config={self._login_file}"
        if jars is not None:
            self.environment["KAFKA_PY_ZOOKEEPER_JARS"] = jars

    def set_users(self, users: Mapping[str, str]) -> None:
        """Other names and passwords, from the next start on."""
        entries = "".join(f'\n  user_{name}="{password}"' for name, password in users.items())
        self.set_login(f"{DIGEST_MODULE} required{entries};")

    def set_login(self, entry: str) -> None:
        """Another login entry, such as one of Kerberos, from the next start on."""
        self._login_file.write_text(f"Server {{\n  {entry}\n}};\n")

    @property
    def tls_connect(self) -> str:
        """Its `zookeeper.connect` for TLS."""
        return f"127.0.0.1:{self.tls_port}"

    def tls_settings(self, client: str | None = None) -> dict[str, str]:
        """A client's settings of TLS; with the certificate of a name if one is given."""
        assert self.certificates is not None
        own = {} if client is None else self.certificates.keystore(client, self.certificates.issue(client))
        stores = {**self.certificates.trust(), **own}
        stores.pop("ssl.key.password", None)
        return {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": NETTY_SOCKET,
            **{f"zookeeper.{name}": value for name, value in stores.items()},
        }


def _tls_lines(certificates: CertificateFiles, port: int) -> list[str]:
    """One port with TLS beside the plain one; clients with a certificate are known by its name."""
    own = certificates.keystore("zookeeper", certificates.issue("zookeeper", ("localhost", "127.0.0.1")))
    return [
        f"secureClientPort={port}",
        "secureClientPortAddress=127.0.0.1",
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        "authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        f"ssl.keyStore.location={own['ssl.keystore.location']}",
        f"ssl.keyStore.password={PASSWORD}",
        f"ssl.trustStore.location={certificates.truststore}",
        f"ssl.trustStore.password={PASSWORD}",
        "ssl.clientAuth=want",
    ]


def login_file(path: Path, username: str, password: str, section: str = "Client") -> str:
    """Writes a client's login file; returns the KAFKA_OPTS that name it."""
    path.write_text(
        f'{section} {{\n  {DIGEST_MODULE} required\n  username="{username}"\n  password="{password}";\n}};\n'
    )
    path.chmod(0o600)
    return f"-Djava.security.auth.login.config={path}"

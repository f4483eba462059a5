"""Certificates for brokers and clients of a test, as files and as settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kafka_py.base.clock import SYSTEM_CLOCK, Clock
from kafka_py.security.tls.certificates import Authority, Certified

PASSWORD = "certificate-secret"
HOSTS = ("localhost", "127.0.0.1")


class CertificateFiles:
    """One authority and what it has signed, in a folder."""

    def __init__(self, folder: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.authority = Authority(clock.wall_ms())
        self.authority_pem = folder / "authority.pem"
        self.authority_pem.write_text(self.authority.pem())
        self.truststore = folder / "truststore.p12"
        self.truststore.write_bytes(self.authority.pkcs12(PASSWORD))

    def issue(self, name: str, hosts: Sequence[str] = (), **how: object) -> Certified:
        return self.authority.issue(name, hosts, **how)  # type: ignore[arg-type]

    def trust(self) -> dict[str, str]:
        """The settings of one who trusts the authority."""
        return {
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(self.truststore),
            "ssl.truststore.password": PASSWORD,
        }

    def keystore(self, name: str, certified: Certified) -> dict[str, str]:
        """The settings of one who has that key, in a store of type PKCS12."""
        path = self.folder / f"{name}.p12"
        path.write_bytes(certified.pkcs12(PASSWORD))
        return {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(path),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
        }

    def pem_keystore(self, name: str, certified: Certified) -> dict[str, str]:
        """The same of type PEM."""
        path = self.folder / f"{name}.pem"
        path.write_text(certified.pem(PASSWORD))
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path), "ssl.key.password": PASSWORD}

    def separate(self, name: str, certified: Certified) -> tuple[Path, Path]:
        """Files of a certificate and its unencrypted key, for clients that want them so."""
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_text(certified.certificate_pem())
        key.write_text(certified.key_pem())
        return certificate, key

    def broker(self, name: str = "broker", **how: object) -> dict[str, str]:
        """The settings of a broker on this machine."""
        return {**self.trust(), **self.keystore(name, self.issue(name, HOSTS, **how))}

    def client(self, name: str | None = None) -> dict[str, str]:
        """The settings of a client, with a certificate for `name` if one is given."""
        own = {} if name is None else self.keystore(name, self.issue(name))
        return {"security.protocol": "SSL", **self.trust(), **own}

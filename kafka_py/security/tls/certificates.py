"""Certificates for development and tests: an authority of one's own, and what it signs.

The time is passed in. Source: RFC 5280; docs/reference/security/tls.md, section 1.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import NameOID

_BACKDATED_DAYS = -1.0 / 288
"""Five minutes: clocks differ."""



@dataclass(frozen=True, slots=True)
class Certified:
    """A key with its certificate. chain: the certificates above it, without the authority's own."""

    key: Any = field(repr=False)
    certificate: x509.Certificate
    authority: x509.Certificate

    def certificate_pem(self) -> str:
        return _text(self.certificate)

    def key_pem(self, password: str | None = None) -> str:
        """PKCS#8; encrypted where there is a password."""
        data: bytes = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password))
        return data.decode()

    def pem(self, password: str | None = None) -> str:
        """Key, certificate and authority, as a key store of type PEM has them."""
        return self.key_pem(password) + self.certificate_pem() + self.authority_pem()

    def authority_pem(self) -> str:
        return _text(self.authority)

    def pkcs12(self, password: str, name: str = "kafka") -> bytes:
        """A key store."""
        store: bytes = pkcs12.serialize_key_and_certificates(
            name.encode(), self.key, self.certificate, [self.authority], _encryption(password)
        )
        return store


class Authority:
    """Signs certificates. now_ms: the time at which it is made, in ms since 1970."""

    def __init__(
        self, now_ms: float, name: str = "kafka_py development authority", days: int = 3650, stored: str | None = None
    ) -> None:
        """stored: what `with_key` of an earlier one returned, to go on with that."""
        self._now = datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC)
        if stored is not None:
            self._key: Any = load_pem_private_key(stored.encode(), None)
            self.certificate = x509.load_pem_x509_certificate(stored.encode())
            self._name = self.certificate.subject
            return
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
            decipher_only=False,
        )  # fmt: skip
        builder = self._builder(self._name, self._key.public_key(), (_BACKDATED_DAYS, days), self._name)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.certificate = builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())

    def pem(self) -> str:
        return _text(self.certificate)

    def with_key(self) -> str:
        """Key and certificate, to keep."""
        data: bytes = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return data.decode() + self.pem()

    def pkcs12(self, password: str) -> bytes:
        """A trust store, which Java reads as well."""
        trusted = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        store: bytes = pkcs12.serialize_java_truststore([trusted], _encryption(password))
        return store

    def issue(
        self, common_name: str, hosts: Sequence[str] = (), *, days: tuple[float, float] = (_BACKDATED_DAYS, 825),
        unit: str | None = None, is_self_signed: bool = False, rsa_bits: int = 0,
    ) -> Certified:  # fmt: skip
        """A key with a certificate for these names and addresses.

        days: from when to when it is valid, counted from now. rsa_bits: 0 for a key on the curve P-256.
        """
        key: Any = rsa.generate_private_key(65_537, rsa_bits) if rsa_bits else ec.generate_private_key(ec.SECP256R1())
        name = _name(common_name, unit)
        builder = self._builder(name, key.public_key(), days, name if is_self_signed else self._name)
        if hosts:
            names = x509.SubjectAlternativeName([_host(each) for each in hosts])
            builder = builder.add_extension(names, critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        certificate = builder.sign(key if is_self_signed else self._key, hashes.SHA256())
        return Certified(key, certificate, certificate if is_self_signed else self.certificate)

    def _builder(
        self, subject: x509.Name, key: Any, days: tuple[float, float], issuer: x509.Name
    ) -> x509.CertificateBuilder:
        begin, end = (self._now + datetime.timedelta(days=each) for each in days)
        return (
            x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )


def _text(certificate: x509.Certificate) -> str:
    data: bytes = certificate.public_bytes(Encoding.PEM)
    return data.decode()


def _name(common_name: str, unit: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)] if unit else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return BestAvailableEncryption(password.encode()) if password else NoEncryption()

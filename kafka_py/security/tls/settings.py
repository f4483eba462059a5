"""The TLS settings of one listener or client, as one value.

Source: docs/reference/configs.tsv; docs/reference/security/tls.md, section 1; SslConfigs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kafka_py.base.errors import ConfigError

STORE_SETTINGS = (
    "ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.key",
    "ssl.keystore.certificate.chain", "ssl.key.password", "ssl.truststore.type", "ssl.truststore.location",
    "ssl.truststore.password", "ssl.truststore.certificates",
)  # fmt: skip
"""May change while a listener is served."""
SETTINGS = (
    *STORE_SETTINGS, "ssl.enabled.protocols", "ssl.cipher.suites", "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
)  # fmt: skip
"""All that clients and listeners have in common and that have an effect here."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where a key or trusted certificates are. role: `keystore` or `truststore`. pem: certificates in the settings.

    pem_password: the end of the setting with the password of a PEM file's key, where the key need not be encrypted.
    """

    role: str
    prefix: str
    type: str
    location: str | None
    password: str | None = field(repr=False)
    pem: str | None = field(repr=False)
    key: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    pem_password: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any], prefix: str, role: str) -> Self:
        """values: by names without `prefix`. Raises ConfigError."""
        type_ = str(values.get(f"ssl.{role}.type") or "JKS").strip().upper()
        if type_ not in ("JKS", "PKCS12", "PEM"):
            raise ConfigError(f"{prefix}ssl.{role}.type: {type_!r} is not one of JKS, PKCS12, PEM")
        location, password = values.get(f"ssl.{role}.location") or None, values.get(f"ssl.{role}.password")
        if role == "truststore":
            return cls(role, prefix, type_, location, password, values.get("ssl.truststore.certificates"))
        chain, key = values.get("ssl.keystore.certificate.chain"), values.get("ssl.keystore.key")
        return cls(role, prefix, type_, location, password, chain, key, values.get("ssl.key.password"))

    @property
    def pem_name(self) -> str:
        """The setting for certificates as PEM."""
        return self.name("certificate.chain" if self.role == "keystore" else "certificates")

    @property
    def key_password_name(self) -> str:
        """The setting with the password of the key."""
        return f"{self.prefix}ssl.{self.pem_password or 'key.password'}"

    def name(self, end: str) -> str:
        """A setting of this store as it is written: `listener.name.internal.ssl.keystore.location`."""
        return f"{self.prefix}ssl.{self.role}.{end}"

    def where(self, end: str) -> str:
        """For errors: the file, else the setting that has the content itself."""
        return f"{self.name('location')}: {self.location}" if self.location else self.name(end)

    @property
    def is_given(self) -> bool:
        return any(each is not None for each in (self.location, self.pem, self.key))


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """protocols: `TLSv1.2` and the like. cipher_suites: none for OpenSSL's choice. client_auth: of a server only."""

    keystore: StoreSettings
    truststore: StoreSettings
    protocols: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    checks_names: bool
    client_auth: str = "none"
    prefix: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any], prefix: str = "", client_auth: str = "none") -> Self:
        """values: parsed, by names without `prefix`, which is that of their names in errors. Raises ConfigError."""
        if values.get("ssl.engine.factory.class"):
            raise ConfigError(f"{prefix}ssl.engine.factory.class: Java classes cannot be used here")
        algorithm = str(values.get("ssl.endpoint.identification.algorithm") or "").strip().lower()
        if algorithm not in ("", "https"):
            raise ConfigError(f"{prefix}ssl.endpoint.identification.algorithm: {algorithm!r} is not https, nor empty")
        return cls(
            keystore=StoreSettings.of(values, prefix, "keystore"),
            truststore=StoreSettings.of(values, prefix, "truststore"),
            protocols=tuple(values.get("ssl.enabled.protocols") or ("TLSv1.2", "TLSv1.3")),
            cipher_suites=tuple(values.get("ssl.cipher.suites") or ()),
            checks_names=bool(algorithm),
            client_auth=client_auth,
            prefix=prefix,
        )

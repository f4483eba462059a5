"""What OpenSSL is given for connections to ZooKeeper (I/O: key and trust stores).

Stores are those of ZooKeeper's client: a type that is not set follows from the end of the file's name, and the password
of a key store is that of its key. Source: docs/reference/security/zookeeper.md, section 1.
"""

from __future__ import annotations

import ssl

from kafka_py.base.errors import ConfigError
from kafka_py.security.tls.contexts import client_context
from kafka_py.security.tls.settings import StoreSettings, TlsSettings
from kafka_py.security.tls.stores import load_stores
from kafka_py.security.zookeeper.tls_options import check_usable, checks_names
from kafka_py.zk.configs import ZkTlsOptions

PREFIX = "zookeeper."
_TYPES = {".jks": "JKS", ".p12": "PKCS12", ".pfx": "PKCS12", ".pem": "PEM"}


def tls_context(options: ZkTlsOptions) -> ssl.SSLContext | None:
    """The context; None without TLS. Raises ConfigError, which names the setting and the file."""
    if not options.zookeeper_ssl_client_enable:
        return None
    check_usable(options)
    settings = tls_settings(options)
    return client_context(settings, load_stores(settings))


def tls_settings(options: ZkTlsOptions) -> TlsSettings:
    """The settings as those of any client. Raises ConfigError."""
    protocol = options.zookeeper_ssl_protocol
    by_protocol = (protocol,) if protocol.startswith("TLSv") else ("TLSv1.2", "TLSv1.3")
    return TlsSettings(
        keystore=_store(
            "keystore",
            options.zookeeper_ssl_keystore_type,
            options.zookeeper_ssl_keystore_location,
            options.zookeeper_ssl_keystore_password,
        ),
        truststore=_store(
            "truststore",
            options.zookeeper_ssl_truststore_type,
            options.zookeeper_ssl_truststore_location,
            options.zookeeper_ssl_truststore_password,
        ),
        protocols=tuple(options.zookeeper_ssl_enabled_protocols or by_protocol),
        cipher_suites=tuple(options.zookeeper_ssl_cipher_suites or ()),
        checks_names=checks_names(options),
        prefix=PREFIX,
    )


def _store(role: str, given_type: str | None, location: str | None, password: str | None) -> StoreSettings:
    """Empty texts count as not set, and so does the password of a store that there is not."""
    location, password = location or None, (password or None) if location else None
    type_ = _type_of(f"{PREFIX}ssl.{role}", location, given_type)
    if type_ != "PEM":
        return StoreSettings(role, PREFIX, type_, location, password, None)
    key_password = password if role == "keystore" else None
    return StoreSettings(
        role, PREFIX, type_, location, None, None, key_password=key_password, pem_password="keystore.password"
    )


def _type_of(setting: str, location: str | None, given: str | None) -> str:
    if given:
        if given.strip().upper() not in _TYPES.values():
            raise ConfigError(f"{setting}.type: {given!r} is not one of JKS, PKCS12, PEM")
        return given.strip().upper()
    if not location:
        return "JKS"
    for end, type_ in _TYPES.items():
        if location.endswith(end):
            return type_
    raise ConfigError(
        f"{setting}.location: the type of {location} does not follow from its name ({', '.join(_TYPES)}): set "
        f"{setting}.type"
    )

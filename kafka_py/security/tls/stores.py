"""A private key with its certificates, and the certificates that are trusted, read as the settings say (I/O).

Every error is one line that names the setting and the file. The format of a file counts, not whether its type is said
to be JKS or PKCS12: Java reads either under both names. Source: docs/reference/security/tls.md, section 1;
DefaultSslEngineFactory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.security.tls.der import certificate_fields
from kafka_py.security.tls.java_stores import MAGIC, UnreadableStore, read_java_store, unprotected_key
from kafka_py.security.tls.pem import MalformedPem, certificates_in, key_in, pem_of
from kafka_py.security.tls.settings import StoreSettings, TlsSettings


@dataclass(frozen=True, slots=True)
class OwnKey:
    """key: PEM, encrypted when there is a password. chain: certificates as DER, the own one first."""

    key: str = field(repr=False)
    password: str | None = field(repr=False)
    chain: tuple[bytes, ...] = field(repr=False)
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Stores:
    """trusted: as DER; None for the authorities that the platform trusts. stamp: when the files were changed last."""

    own: OwnKey | None
    trusted: tuple[bytes, ...] | None = field(repr=False)
    stamp: tuple[float, ...] = ()


def load_stores(settings: TlsSettings) -> Stores:
    """Reads both stores. Raises ConfigError."""
    stamp = stamp_of(settings)  # before the files are read, so that a later change of them is seen
    own = _own_key(settings.keystore) if _is_given(settings.keystore) else None
    trusted = _trusted(settings.truststore) if _is_given(settings.truststore) else None
    return Stores(own, trusted, stamp)


def _is_given(store: StoreSettings) -> bool:
    """Raises ConfigError for a password without a store."""
    if not store.is_given and store.password is not None:
        raise ConfigError(f"{store.name('password')} is set, but {store.name('location')} is not")
    return store.is_given


def stamp_of(settings: TlsSettings) -> tuple[float, ...]:
    """The modification times of the files; 0 for one that is missing."""
    return tuple(_modified(store.location) for store in (settings.keystore, settings.truststore) if store.location)


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except (OSError, ValueError):
        return 0.0


def _own_key(store: StoreSettings) -> OwnKey:
    _check_inline(store)
    if store.location is None:
        return _own_pem(store, f"{store.key}", f"{store.pem}", "")
    data = _read(store)
    if store.type == "PEM":
        if store.key_password is None and not store.pem_password:
            raise ConfigError(
                f"{store.name('location')}: the key in {store.location} has to be encrypted, and "
                f"{store.prefix}ssl.key.password has to be set"
            )
        text = data.decode("utf-8", "replace")
        return _own_pem(store, text, text, store.location)
    if store.password is None:
        raise ConfigError(f"{store.name('password')} is needed to read {store.location}")
    password = store.key_password or store.password
    if data.startswith(MAGIC):
        return _own_of_java(store, data, password)
    key, certificate, others = _pkcs12(store, data)
    if key is None or certificate is None:
        raise _unreadable(store, "it holds no private key with a certificate")
    return OwnKey(pem_of("PRIVATE KEY", key), None, tuple(_chain(certificate, others)), store.location)


def _own_pem(store: StoreSettings, key_text: str, certificates: str, origin: str) -> OwnKey:
    try:
        key, is_encrypted = key_in(key_text)
    except MalformedPem as error:
        raise _unreadable(store, str(error), "key") from None
    if is_encrypted and store.key_password is None:
        raise ConfigError(f"{store.where('key')} is encrypted, and {store.key_password_name} is not set")
    if not is_encrypted and store.key_password is not None and not origin:
        raise ConfigError(f"{store.name('key')} is not encrypted, but {store.prefix}ssl.key.password is set")
    if not is_encrypted and origin and not store.pem_password:
        raise _unreadable(store, "its key is not encrypted (`openssl pkcs8 -topk8` encrypts it)")
    try:
        chain = certificates_in(certificates)
    except MalformedPem as error:
        raise _unreadable(store, str(error), "certificate.chain") from None
    return OwnKey(key, store.key_password if is_encrypted else None, tuple(chain), origin)


def _own_of_java(store: StoreSettings, data: bytes, password: str) -> OwnKey:
    try:
        found = read_java_store(data, store.password)
        if not found.keys:
            raise UnreadableStore("it holds no private key")
        entry = found.keys[0]
        key = unprotected_key(entry.key, password)
    except UnreadableStore as error:
        raise _unreadable(store, str(error)) from None
    return OwnKey(pem_of("PRIVATE KEY", key), None, tuple(entry.chain), store.location or "")


def _trusted(store: StoreSettings) -> tuple[bytes, ...]:
    _check_inline(store)
    text = store.pem
    if store.location is not None:
        data = _read(store)
        if store.type != "PEM":
            found = _trusted_of_java(store, data) if data.startswith(MAGIC) else _trusted_of_pkcs12(store, data)
            if not found:
                raise _unreadable(store, "it holds no certificate")
            return found
        text = data.decode("utf-8", "replace")
    try:
        return tuple(certificates_in(text or ""))
    except MalformedPem as error:
        raise _unreadable(store, str(error), "certificates") from None


def _trusted_of_java(store: StoreSettings, data: bytes) -> tuple[bytes, ...]:
    try:
        found = read_java_store(data, store.password)
    except UnreadableStore as error:
        raise _unreadable(store, str(error)) from None
    return (*found.trusted, *(entry.chain[0] for entry in found.keys if entry.chain))


def _trusted_of_pkcs12(store: StoreSettings, data: bytes) -> tuple[bytes, ...]:
    _, certificate, others = _pkcs12(store, data)
    if certificate is None:
        return tuple(others)
    chain = _chain(certificate, others)
    return (certificate, *(each for each in others if each not in chain))  # as in Java: of an own key not the authority


def _check_inline(store: StoreSettings) -> None:
    """Stores in the settings and stores in files exclude each other."""
    if store.pem is None and store.key is None:
        if store.type == "PEM" and store.password is not None:
            raise ConfigError(f"{store.name('password')} may not be set for a store of type PEM")
        return
    if store.type != "PEM":
        raise ConfigError(f"{store.pem_name} may only be set with {store.name('type')}=PEM")
    if store.location is not None or store.password is not None:
        location, password = store.name("location"), store.name("password")
        raise ConfigError(f"{store.pem_name} may not be set together with {location} or {password}")
    if store.role == "keystore" and (store.pem is None or store.key is None):
        raise ConfigError(f"{store.name('key')} and {store.pem_name} must be set together")


def _read(store: StoreSettings) -> bytes:
    assert store.location is not None
    try:
        with open(store.location, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:  # a path may have characters that no path can have
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise ConfigError(f"{store.name('location')}: cannot read {store.location}: {reason}") from None


def _pkcs12(store: StoreSettings, data: bytes) -> tuple[bytes | None, bytes | None, list[bytes]]:
    """(key as PKCS#8, its certificate, other certificates), all DER."""
    try:
        from cryptography.hazmat.primitives import serialization  # only those who need it pay for it
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise _unreadable(store, "PKCS12 stores need the package cryptography (pip install cryptography)") from None
    try:
        password = None if store.password is None else store.password.encode()
        if password is not None and b"\0" in password:
            raise ValueError("OpenSSL would see the beginning of it only")
        found: Any = pkcs12.load_pkcs12(data, password)
    except ValueError:
        raise _unreadable(store, "the password is another one, or it is neither a PKCS12 nor a JKS store") from None
    key = None
    if found.key is not None:
        encoding, form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
        key = found.key.private_bytes(encoding, form, serialization.NoEncryption())
    encoding = serialization.Encoding.DER
    certificate = None if found.cert is None else found.cert.certificate.public_bytes(encoding)
    return key, certificate, [each.certificate.public_bytes(encoding) for each in found.additional_certs]


def _chain(certificate: bytes, others: list[bytes]) -> list[bytes]:
    """The certificate and those above it, found by their names."""
    by_subject = {certificate_fields(each).subject: each for each in others}
    chain = [certificate]
    while len(chain) <= len(others):
        above = by_subject.get(certificate_fields(chain[-1]).issuer)
        if above is None or above in chain:
            break
        chain.append(above)
    return chain


def _unreadable(store: StoreSettings, reason: str, end: str = "certificates") -> ConfigError:
    return ConfigError(f"{store.where(end)} cannot be used: {reason}")

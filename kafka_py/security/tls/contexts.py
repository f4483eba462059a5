"""Contexts of OpenSSL: versions, cipher suites, the own key, trusted certificates, and whether clients need one.

Source: docs/reference/security/tls.md, section 2; SslFactory; DefaultSslEngineFactory.
"""

from __future__ import annotations

import os
import ssl
import tempfile

from kafka_py.base.errors import ConfigError
from kafka_py.net.secured.handshakes import explained
from kafka_py.security.tls.pem import pem_of
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import OwnKey, Stores

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_NO_SUITE = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"
"""Java's lists of cipher suites have it; it says something of the client, and OpenSSL sends it by itself."""
_SUITES_OF_TLS13 = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", _NO_SUITE}
)
_MOST_STEPS = 16


def server_context(settings: TlsSettings, stores: Stores) -> ssl.SSLContext:
    """The context of a listener. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _configure(context, settings, stores, ssl.Purpose.CLIENT_AUTH)
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    context.num_tickets = 1
    return context


def client_context(settings: TlsSettings, stores: Stores) -> ssl.SSLContext:
    """The context of a client, or of a broker as a client of others. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _configure(context, settings, stores, ssl.Purpose.SERVER_AUTH)
    context.check_hostname = settings.checks_names
    return context


def _configure(context: ssl.SSLContext, settings: TlsSettings, stores: Stores, purpose: ssl.Purpose) -> None:
    context.options |= ssl.OP_NO_RENEGOTIATION
    _set_versions(context, settings)
    _set_ciphers(context, settings)
    if stores.own is not None:
        _set_own(context, settings, stores.own)
    if stores.trusted is None:
        context.load_default_certs(purpose)
    else:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # what is trusted need not be an authority, as in Java
        try:
            context.load_verify_locations(cadata=b"".join(stores.trusted))
        except (ssl.SSLError, ValueError) as error:  # a block of PEM may be empty
            where = settings.truststore.where("certificates")
            fault = getattr(error, "reason", None) or error
            raise ConfigError(f"{where}: the trusted certificates cannot be used: {fault}") from None


def _set_versions(context: ssl.SSLContext, settings: TlsSettings) -> None:
    unknown = [each for each in settings.protocols if each not in _VERSIONS]
    if unknown:
        raise ConfigError(
            f"{settings.prefix}ssl.enabled.protocols: {unknown[0]!r} is not one of {', '.join(_VERSIONS)}"
        )
    wanted = [_VERSIONS[each] for each in settings.protocols]
    if settings.cipher_suites:  # a version without a suite is not offered
        names = [is_of_tls13(each) for each in settings.cipher_suites if each != _NO_SUITE]
        if not any(names):
            wanted = [each for each in wanted if each != ssl.TLSVersion.TLSv1_3]
        if all(names):
            wanted = [each for each in wanted if each == ssl.TLSVersion.TLSv1_3]
    if not wanted:
        raise ConfigError(f"{settings.prefix}ssl.cipher.suites names no suite of {', '.join(settings.protocols)}")
    context.minimum_version = min(wanted)
    context.maximum_version = max(wanted)


def is_of_tls13(suite: str) -> bool:
    """Whether the name of a cipher suite is one of TLS 1.3, whose names say nothing of the exchange of keys."""
    return suite.startswith("TLS_") and "_WITH_" not in suite


def _set_ciphers(context: ssl.SSLContext, settings: TlsSettings) -> None:
    older = [each for each in settings.cipher_suites if not is_of_tls13(each)]
    for suite in settings.cipher_suites:
        try:
            if suite in older:
                context.set_ciphers(openssl_name(suite))
            elif suite not in _SUITES_OF_TLS13:
                raise ssl.SSLError
        except ssl.SSLError:
            raise ConfigError(f"{settings.prefix}ssl.cipher.suites: there is no cipher suite {suite!r}") from None
    if older:
        context.set_ciphers(":".join(map(openssl_name, older)))


def openssl_name(suite: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` as OpenSSL has it: `ECDHE-RSA-AES256-GCM-SHA384`."""
    exchange, with_, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if not with_:
        return suite
    name = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC_", "_").replace("_", "-")
    name = name.replace("3DES-EDE-SHA", "DES-CBC3-SHA").replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")
    return name if exchange == "RSA" else f"{exchange.replace('_', '-')}-{name}"


def _set_own(context: ssl.SSLContext, settings: TlsSettings, own: OwnKey) -> None:
    password = own.password or ""  # never None: OpenSSL would ask at the terminal
    text = own.key + "".join(pem_of("CERTIFICATE", each) for each in own.chain)
    try:
        _load(context, text, password)
    except (ssl.SSLError, ValueError) as error:  # a password may have characters, or a length, that OpenSSL refuses
        store = settings.keystore
        fault = _key_fault(error, store.key_password_name)
        raise ConfigError(f"{store.where('key')} cannot be used: {fault}") from None


def _key_fault(error: ssl.SSLError | ValueError, password_name: str) -> str:
    reason = (getattr(error, "reason", None) or str(error)).upper()
    if "MISMATCH" in reason:
        return "its key is not that of its first certificate"
    if "DECRYPT" in reason or "PASSWORD" in reason or "CIPHERFINAL" in reason or "PEM LIB" in reason:
        return f"its key cannot be decrypted by {password_name}"
    return reason.lower().replace("_", " ")


def _load(context: ssl.SSLContext, text: str, password: str) -> None:
    """Python's ssl reads keys from files only; this one is in memory, and no other process can open it."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # readable by its owner alone
            file.write(text)
            file.flush()
            context.load_cert_chain(file.name, password=lambda: password)
        return
    descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "w", closefd=False) as file:
            file.write(text)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: password)
    finally:
        os.close(descriptor)


def fault_between(server: ssl.SSLContext, client: ssl.SSLContext) -> str | None:
    """Why such a client cannot connect to such a server; None when it can."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    try:
        for _ in range(_MOST_STEPS):
            done = [_step(end) for end in ends]
            if all(done):
                _step_read(ends[0])  # with TLS 1.3 a refused certificate is reported only now
                return None
    except ssl.SSLError as error:
        return str(explained(error))
    return "the handshake does not end"


def _step(end: ssl.SSLObject) -> bool:
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _step_read(end: ssl.SSLObject) -> None:
    try:
        end.read(1)
    except ssl.SSLWantReadError:
        pass

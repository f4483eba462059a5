"""TLS over a connection to ZooKeeper, on kazoo's thread: the handshake, and its failures with the settings concerned.

A server's certificate must name the host of zookeeper.connect or its address, as ZooKeeper's own client has it.
Source: docs/reference/security/zookeeper.md, section 1; ClientCnxnSocketNetty.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from socket import socket

_NAME_MISMATCHES = (62, 64)
"""OpenSSL's codes: neither the host's name nor its address is in the certificate."""

_REASONS = {
    "CERTIFICATE_REQUIRED": "the server asks for a certificate of this client (zookeeper.ssl.keystore.location)",
    "BAD_CERTIFICATE": "the server refuses the certificate of this client (zookeeper.ssl.keystore.location)",
    "CERTIFICATE_UNKNOWN": "the server refuses the certificate of this client (zookeeper.ssl.keystore.location)",
    "UNSUPPORTED_CERTIFICATE": "the server refuses the certificate of this client (zookeeper.ssl.keystore.location)",
    "CERTIFICATE_EXPIRED": "the certificate of this client has expired (zookeeper.ssl.keystore.location)",
    "UNKNOWN_CA": "the server does not trust the certificate of this client (zookeeper.ssl.keystore.location)",
    "HANDSHAKE_FAILURE": "there is no cipher suite in common (zookeeper.ssl.cipher.suites), or a certificate is "
    "missing (zookeeper.ssl.keystore.location)",
    "UNSUPPORTED_PROTOCOL": "there is no TLS version in common (zookeeper.ssl.enabled.protocols)",
    "PROTOCOL_VERSION": "there is no TLS version in common (zookeeper.ssl.enabled.protocols)",
    "WRONG_VERSION_NUMBER": "the server does not speak TLS on this port (zookeeper.connect)",
}
"""What the ends of OpenSSL's names of errors mean; an alert of the server has such an end."""


def failure_text(error: ssl.SSLError) -> str:
    """Why there is no connection with TLS, in a line that names the setting concerned."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _NAME_MISMATCHES:
            return (
                "the server's certificate names another host "
                f"(zookeeper.ssl.endpoint.identification.algorithm): {error.verify_message}"
            )
        return f"the server's certificate is refused (zookeeper.ssl.truststore.location): {error.verify_message}"
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return "the server closed the connection during the TLS handshake: is it a port for TLS (zookeeper.connect)?"
    name = error.reason or ""
    meaning = next((text for end, text in _REASONS.items() if name.endswith(end)), None)
    shown = name.lower().replace("_", " ") or str(error)
    return f"{meaning}: {shown}" if meaning else f"the TLS handshake failed: {shown}"


class TlsLink:
    """Secures new connections. on_failure: called with a line for each handshake that fails. named: puts the names in
    it by which the settings concerned were given.
    """

    def __init__(
        self, context: ssl.SSLContext, on_failure: Callable[[str], None], named: Callable[[str], str] = str
    ) -> None:
        self._context = context
        self._on_failure = on_failure
        self._named = named

    def connect(self, dial: Callable[[], socket], host: str, address: str, port: int) -> ssl.SSLSocket:
        """Connects and shakes hands. dial: opens the connection, with a time-out. Raises OSError."""
        names = [host] if host == address or not self._context.check_hostname else [host, address]
        for name in names:
            plain = dial()
            try:
                return self._context.wrap_socket(plain, server_hostname=name)
            except ssl.SSLError as error:
                plain.close()
                code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
                if code in _NAME_MISMATCHES and name != names[-1]:
                    continue
                self.report(error, host, port)
                raise
            except OSError:
                plain.close()
                raise
        raise OSError("no name to check")

    def report(self, error: ssl.SSLError, host: str, port: int) -> None:
        """Passes on why the connection failed; with TLS 1.3 a refused certificate is known only at the first read."""
        self._on_failure(f"{host}:{port}: {self._named(failure_text(error))}")

"""A TLS handshake that is only looked at: does it succeed, and what certificate does the broker show.

Where the handshake fails it is repeated without verification, to see the certificate all the same; nothing is sent
over such a session. Blocking, run in a thread. Source: docs/reference/security/tls.md, section 2; RFC 5280.
"""

from __future__ import annotations

import socket
import ssl
from typing import NamedTuple

from cryptography import x509

from kafka_py.net.secured.handshakes import explained
from kafka_py.operations.doctor.examination import CertificateSeen, ReachFault
from kafka_py.security.tls.contexts import client_context
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import load_stores

_VERIFY_FAULTS = {
    9: ReachFault.CERTIFICATE_TOO_NEW,
    10: ReachFault.CERTIFICATE_EXPIRED,
    18: ReachFault.CERTIFICATE_UNTRUSTED,
    19: ReachFault.CERTIFICATE_UNTRUSTED,
    20: ReachFault.CERTIFICATE_UNTRUSTED,
    21: ReachFault.CERTIFICATE_UNTRUSTED,
    62: ReachFault.CERTIFICATE_NAME,
    64: ReachFault.CERTIFICATE_NAME,
}
"""OpenSSL's numbers (x509_vfy.h) of why a chain is refused."""


class TlsOutcome(NamedTuple):
    """fault: None for a handshake that succeeded. certificate: None if the peer showed none."""

    fault: ReachFault | None
    detail: str
    certificate: CertificateSeen | None


class TlsProbe:
    """Handshakes by one client's settings. Raises ConfigError for stores that cannot be used."""

    def __init__(self, settings: TlsSettings, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        stores = load_stores(settings)
        self._verifying = client_context(settings, stores)
        self._looking = client_context(settings, stores)
        self._looking.check_hostname = False
        self._looking.verify_mode = ssl.CERT_NONE
        self.own_certificate = shown_certificate(stores.own.chain[0]) if stores.own is not None else None

    def handshake(self, host: str, address: str, port: int) -> TlsOutcome:
        """What comes of a handshake with this address, whose name is `host`."""
        fault, detail, certificate = self._try(self._verifying, host, address, port)
        if certificate is None and fault not in (None, ReachFault.NO_TLS_THERE):
            certificate = self._try(self._looking, host, address, port).certificate
        return TlsOutcome(fault, detail, certificate)

    def _try(self, context: ssl.SSLContext, host: str, address: str, port: int) -> TlsOutcome:
        try:
            with (
                socket.create_connection((address, port), self._timeout_s) as connected,
                context.wrap_socket(connected, server_hostname=host) as session,
            ):
                shown = session.getpeercert(binary_form=True)
        except ssl.SSLCertVerificationError as error:
            fault = _VERIFY_FAULTS.get(error.verify_code, ReachFault.CERTIFICATE_UNTRUSTED)
            return TlsOutcome(fault, error.verify_message, None)
        except (OSError, ValueError) as error:
            detail = str(explained(error))
            return TlsOutcome(_fault_of(detail), detail, None)
        return TlsOutcome(None, "", shown_certificate(shown))


def speaks_tls(address: str, port: int, timeout_s: float) -> bool:
    """Whether what listens there answers a TLS handshake, whatever its certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((address, port), timeout_s) as connected, context.wrap_socket(connected):
            return True
    except (OSError, ValueError):
        return False


def _fault_of(detail: str) -> ReachFault:
    if "timed out" in detail:
        return ReachFault.NO_ANSWER
    if "does not speak TLS" in detail or "closed the connection during" in detail or "reset" in detail:
        return ReachFault.NO_TLS_THERE
    if "in common" in detail or "agree on no parameters" in detail:
        return ReachFault.NO_COMMON_TLS
    if "this side" in detail:
        return ReachFault.CLIENT_CERTIFICATE
    return ReachFault.TLS_FAILED


def shown_certificate(der: bytes | None) -> CertificateSeen | None:
    """A certificate that was shown; None also for one that OpenSSL takes and a stricter reader does not."""
    try:
        return certificate_of(der) if der else None
    except ValueError:
        return None


def certificate_of(der: bytes) -> CertificateSeen:
    """What a certificate says of itself. Raises ValueError."""
    certificate = x509.load_der_x509_certificate(der)
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = [*extension.get_values_for_type(x509.DNSName),
                 *map(str, extension.get_values_for_type(x509.IPAddress))]  # fmt: skip
    except x509.ExtensionNotFound:
        names = [str(each.value) for each in certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
    return CertificateSeen(
        certificate.subject.rfc4514_string(),
        certificate.issuer.rfc4514_string(),
        int(certificate.not_valid_before_utc.timestamp() * 1000),
        int(certificate.not_valid_after_utc.timestamp() * 1000),
        tuple(names),
        certificate.subject == certificate.issuer,
    )

"""How a client's connection to a broker fails, and the reasons that it gives.

Source: docs/security.md, "What clients say".
"""

from __future__ import annotations

from kafka_py.net.secured.handshakes import HandshakeFailed

OTHER_PROTOCOL = "the broker's listener has TLS, this client's security.protocol has not"
UNSERVED = " before it served any request; its listener may have another security protocol than this side"


class ConnectionLost(ConnectionError):
    """The connection ended before the answer came; whether the broker acted on the request is not known."""


class AuthenticationFailed(ConnectionLost):
    """The two sides do not accept each other: certificates, TLS versions or credentials. Trying again is of no use."""


def of_handshake(where: str, error: HandshakeFailed) -> ConnectionLost:
    """What a handshake with a broker that has failed is to whoever connects."""
    if error.is_fatal:
        return AuthenticationFailed(f"SSL handshake with {where} failed: {error}")
    return ConnectionLost(f"{where} ended the TLS handshake: {error}; its listener may have another security protocol")

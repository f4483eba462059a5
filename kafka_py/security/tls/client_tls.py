"""TLS of a client: sessions with brokers. Source: docs/reference/security/tls.md, section 2; SslFactory."""

from __future__ import annotations

import ipaddress
import ssl

from kafka_py.net.secured.tls_transport import MakeTls
from kafka_py.security.tls.contexts import client_context
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import load_stores


class ClientTls:
    """Sessions by one client's settings. Raises ConfigError for stores that cannot be used."""

    def __init__(self, settings: TlsSettings) -> None:
        self._context = client_context(settings, load_stores(settings))

    def connect_to(self, host: str) -> MakeTls:
        """The client's end of a session with that host."""
        return client_end(self._context, host)


def client_end(context: ssl.SSLContext, host: str) -> MakeTls:
    """Makes the client's end of a session with `host`, whose name is checked where the context says so."""
    name = host if context.check_hostname or _is_sent(host) else None
    return lambda incoming, outgoing: context.wrap_bio(incoming, outgoing, server_hostname=name)


def _is_sent(host: str) -> bool:
    """Whether a name is sent to the server (SNI): one with a dot that is no address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." in host
    return False

"""TLS of one listener: sessions of its clients, and of this broker with the same listener of others.

New stores are checked before they replace the old ones; open connections keep theirs.
Source: docs/reference/security/tls.md, sections 2 and 3; SslFactory; SslChannelBuilder.
"""

from __future__ import annotations

import ssl
from dataclasses import replace

from kafka_py.base.errors import ConfigError
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.net.secured.tls_transport import MakeTls
from kafka_py.security.tls.changes import check_replacement
from kafka_py.security.tls.client_tls import client_end
from kafka_py.security.tls.contexts import client_context, fault_between, server_context
from kafka_py.security.tls.der import certificate_fields
from kafka_py.security.tls.names import distinguished_name
from kafka_py.security.tls.principal_rules import PrincipalRules
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import Stores, load_stores, stamp_of

_CANNOT_CONNECT = "brokers with these stores could not connect to each other"


class ListenerTls:
    """The present stores of one listener.

    is_inter_broker: brokers connect to each other over it, so this one must be able to connect to itself.
    Raises ConfigError.
    """

    def __init__(self, settings: TlsSettings, rules: PrincipalRules, *, is_inter_broker: bool) -> None:
        self._rules = rules
        self._is_inter_broker = is_inter_broker
        self._take(settings, load_stores(settings))

    def _take(self, settings: TlsSettings, stores: Stores) -> None:
        server = server_context(settings, stores)
        client = client_context(settings, stores)
        if self._is_inter_broker:
            fault = fault_between(server, client_context(settings, stores, checks_names=False))
            if fault is not None:
                raise ConfigError(f"{settings.prefix}ssl.keystore and ssl.truststore: {_CANNOT_CONNECT}: {fault}")
        self._settings, self._stores = settings, stores
        self._server, self._client = server, client

    @property
    def has_key(self) -> bool:
        """Without one every handshake fails."""
        return self._stores.own is not None

    @property
    def client_auth(self) -> str:
        return self._settings.client_auth

    # ---- sessions

    def accept(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> ssl.SSLObject:
        """The server's end of a session: a MakeTls."""
        return self._server.wrap_bio(incoming, outgoing, server_side=True)

    def connect_to(self, host: str) -> MakeTls:
        """The client's end of a session with that host."""
        return client_end(self._client, host)

    def principal_of(self, certificate: bytes | None) -> Principal:
        """Who the owner of a certificate is. Raises ValueError when no rule matches its name."""
        if certificate is None:
            return ANONYMOUS
        return Principal("User", self._rules.name_of(distinguished_name(certificate_fields(certificate).subject)))

    # ---- changes

    def needs(self, settings: TlsSettings) -> bool:
        """Whether stores with these settings differ from the present ones, in the settings or in their files."""
        return self._with_stores_of(settings) != self._settings or stamp_of(settings) != self._stores.stamp

    def _with_stores_of(self, settings: TlsSettings) -> TlsSettings:
        return replace(self._settings, keystore=settings.keystore, truststore=settings.truststore)

    def check(self, settings: TlsSettings) -> None:
        """Raises ConfigError when such stores must not replace the present ones."""
        if self.needs(settings):
            self._checked(settings)

    def change(self, settings: TlsSettings) -> bool:
        """Takes over new stores for new connections: whether there were any. Raises ConfigError, changes nothing."""
        if not self.needs(settings):
            return False
        wanted = self._with_stores_of(settings)
        self._take(wanted, self._checked(settings))
        return True

    def _checked(self, settings: TlsSettings) -> Stores:
        wanted = self._with_stores_of(settings)
        stores = load_stores(wanted)
        check_replacement(self._stores, stores)
        server = server_context(wanted, stores)
        client = client_context(wanted, stores, checks_names=False)
        if self._is_inter_broker:
            old_client = client_context(self._settings, self._stores, checks_names=False)
            for fault in (fault_between(self._server, client), fault_between(server, old_client)):
                if fault is not None:
                    raise ConfigError(f"Old and new stores do not trust each other, {_CANNOT_CONNECT}: {fault}")
        return stores

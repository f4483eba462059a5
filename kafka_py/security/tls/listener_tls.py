"""TLS of one listener: sessions of its clients, and of this broker with the same listener of others.

New stores are checked before they replace the old ones; open connections keep theirs.
Source: docs/reference/security/tls.md, sections 2 and 3; SslFactory; SslChannelBuilder.
"""

from __future__ import annotations

import ssl
from dataclasses import replace
from typing import NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.net.secured.hello import Flight, flight
from kafka_py.net.secured.tls_transport import MakeTls
from kafka_py.security.tls.changes import check_replacement
from kafka_py.security.tls.client_tls import client_end
from kafka_py.security.tls.contexts import client_context, fault_between, server_context
from kafka_py.security.tls.der import certificate_fields
from kafka_py.security.tls.key_costs import signs_quickly
from kafka_py.security.tls.names import distinguished_name
from kafka_py.security.tls.principal_rules import PrincipalRules
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import Stores, load_stores, stamp_of

_CANNOT_CONNECT = "brokers with these stores could not connect to each other"


class StoreContexts(NamedTuple):
    """Stores, and the contexts made of them: for sessions of clients, and for sessions with other brokers."""

    settings: TlsSettings
    stores: Stores
    server: ssl.SSLContext
    client: ssl.SSLContext

    def signs_quickly(self) -> bool:
        """Whether a handshake may be signed on the event loop: never with TLS 1.2, see net/secured/hello.py."""
        if self.stores.own is None or self.server.maximum_version is not ssl.TLSVersion.TLSv1_3:
            return False
        return signs_quickly(certificate_fields(self.stores.own.chain[0]).public_key)


class ListenerTls:
    """The present stores of one listener.

    is_inter_broker: brokers connect to each other over it, so this one must be able to connect to itself.
    Raises ConfigError.
    """

    def __init__(self, settings: TlsSettings, rules: PrincipalRules, *, is_inter_broker: bool) -> None:
        self._rules = rules
        self._is_inter_broker = is_inter_broker
        self._present = self._made(settings, load_stores(settings))
        self._signs_quickly = self._present.signs_quickly()

    def _made(self, settings: TlsSettings, stores: Stores) -> StoreContexts:
        made = StoreContexts(settings, stores, server_context(settings, stores), client_context(settings, stores))
        if self._is_inter_broker:
            fault = _fault_between(made, made)
            if fault is not None:
                raise ConfigError(f"{settings.prefix}ssl.keystore and ssl.truststore: {_CANNOT_CONNECT}: {fault}")
        return made

    @property
    def has_key(self) -> bool:
        """Without one every handshake fails."""
        return self._present.stores.own is not None

    # ---- sessions

    def accept(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> ssl.SSLObject:
        """The server's end of a session: a MakeTls."""
        return self._present.server.wrap_bio(incoming, outgoing, server_side=True)

    def is_short(self, data: bytes) -> bool:
        """Whether the step of a handshake with what a client sent is short: an IsShort.

        What follows a ClientHello is only where no certificates of clients have to be verified.
        """
        sent = flight(data)
        if sent is Flight.SHORT_HELLO:
            return self._signs_quickly
        return sent is Flight.ENCRYPTED and self._present.server.verify_mode is ssl.CERT_NONE

    def connect_to(self, host: str) -> MakeTls:
        """The client's end of a session with that host."""
        return client_end(self._present.client, host)

    def principal_of(self, certificate: bytes | None) -> Principal:
        """Who the owner of a certificate is. Raises ValueError when no rule matches its name."""
        if certificate is None:
            return ANONYMOUS
        return Principal("User", self._rules.name_of(distinguished_name(certificate_fields(certificate).subject)))

    # ---- changes

    def check(self, settings: TlsSettings) -> StoreContexts | None:
        """What replaces the present stores; None if neither the settings of stores nor their files differ.

        Raises ConfigError for stores that must not replace the present ones.
        """
        present = self._present
        wanted = replace(present.settings, keystore=settings.keystore, truststore=settings.truststore)
        if wanted == present.settings and stamp_of(wanted) == present.stores.stamp:
            return None
        stores = load_stores(wanted)
        check_replacement(present.stores, stores)
        made = self._made(wanted, stores)
        if self._is_inter_broker:
            for fault in (_fault_between(present, made), _fault_between(made, present)):
                if fault is not None:
                    raise ConfigError(f"Old and new stores do not trust each other, {_CANNOT_CONNECT}: {fault}")
        return made

    def take(self, made: StoreContexts) -> None:
        """Uses what `check` returned for new connections."""
        self._present = made
        self._signs_quickly = made.signs_quickly()


def _fault_between(server: StoreContexts, client: StoreContexts) -> str | None:
    """Why a broker with the one cannot connect to a broker with the other, whatever their hosts; None if it can."""
    context = client_context(replace(client.settings, checks_names=False), client.stores)
    return fault_between(server.server, context)

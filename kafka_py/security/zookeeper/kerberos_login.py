"""The login at ZooKeeper with Kerberos tickets (GSSAPI), by the package gssapi of the extra `kerberos` (I/O).

Its calls run on the thread of ZooKeeper's client library, and may block there. ZooKeeper's servers offer no security
layer, and answer the client's choice with an empty response.
Source: docs/reference/security/zookeeper.md, section 2; RFC 4752; ZooKeeperSaslClient.
"""

from __future__ import annotations

from typing import Any, Protocol

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.security.sasl.gssapi_exchange import GssapiClient, KerberosFailed, SecurityContext
from kafka_py.security.sasl.kerberos_library import KerberosLibrary
from kafka_py.security.sasl.kerberos_settings import KerberosEntry, KerberosRules
from kafka_py.security.sasl.kerberos_tickets import CachedTickets, KeytabTickets, host_name
from kafka_py.zk.secured.digest_md5 import LoginFailed


class TicketSource(Protocol):
    """Where tickets are from."""

    def current(self) -> Any:
        """A ticket that has not ended. Blocks. Raises KerberosFailed."""
        ...


class ContextMaker(Protocol):
    """The part of the Kerberos library that is used."""

    def begin_initiating(self, ticket: Any, service: str, host: str) -> SecurityContext:
        """The client's side of a new context. Raises KerberosFailed."""
        ...


class KerberosLogin:
    """service: of the servers' principals, as in zookeeper/host@REALM."""

    def __init__(self, library: ContextMaker, tickets: TicketSource, service: str) -> None:
        self._library = library
        self._tickets = tickets
        self._service = service

    def exchange(self, host: str) -> KerberosExchange:
        """The exchange of one login at that host."""
        return KerberosExchange(self._library, self._tickets, self._service, host)


class KerberosExchange:
    """One login: the tokens of the security context, then the choice of no security layer."""

    def __init__(self, library: ContextMaker, tickets: TicketSource, service: str, host: str) -> None:
        self._library = library
        self._tickets = tickets
        self._service = service
        self._host = host
        self._client: GssapiClient | None = None
        self.is_complete = False

    def first(self) -> bytes:
        """The first token of the context. Raises LoginFailed."""
        try:
            ticket = self._tickets.current()
            context = self._library.begin_initiating(ticket, self._service, host_name(self._host))
            begun = context.step(None) or b""
        except KerberosFailed as failed:
            raise LoginFailed(f"GSSAPI: {failed}") from None
        self._client = GssapiClient(context, begun)
        return begun

    def respond(self, challenge: bytes | None) -> bytes:
        """The next token. Raises LoginFailed."""
        assert self._client is not None
        try:
            answer = self._client.step(challenge or b"")
        except KafkaError as refused:
            raise LoginFailed(refused.detail) from None
        except ConnectionLost as failed:  # a clock that is wrong, a ticket that is not valid yet
            raise LoginFailed(str(failed)) from None
        self.is_complete = answer is None
        return answer or b""


def kerberos_login(entry: KerberosEntry, service: str, origin: str, chance: Chance, clock: Clock) -> KerberosLogin:
    """A login as the entry says. origin: where that is, for errors. Raises ConfigError."""
    library = KerberosLibrary(origin)
    rules, rng = KerberosRules(), chance.generator()
    if entry.keytab is None:
        return KerberosLogin(library, CachedTickets(library, entry, rules, rng), service)
    library.acceptor(entry)  # keys that are not in the keytab are named at the start
    name = f"zookeeper-{chance.new_uuid().hex}"
    return KerberosLogin(library, KeytabTickets(library, entry, rules, name, clock, rng), service)

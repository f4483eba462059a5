"""The Kerberos library, by the package gssapi of the extra `kerberos`; imported where a setting asks for it (I/O).

The realm, its servers and how host names are looked up are in the library's own file, krb5.conf.
Source: RFC 2743, RFC 4121; KerberosLogin, SaslServerAuthenticator.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.security.java_properties import java_properties
from kafka_py.security.sasl.gssapi_exchange import KerberosFailed
from kafka_py.security.sasl.kerberos_settings import KerberosEntry

_FIRST_CODE = 2529638912
"""Minor status of the library for error 0 of RFC 4120."""
_CODES = 128


def take_javas_file(environ: MutableMapping[str, str]) -> None:
    """Has the library read the file of `-Djava.security.krb5.conf` in KAFKA_OPTS, unless KRB5_CONFIG names another."""
    path = java_properties(environ).get("java.security.krb5.conf")
    if path:
        environ.setdefault("KRB5_CONFIG", path)


class KerberosLibrary:
    """What the logins of this package need of it. setting: names the need in an error. Raises ConfigError."""

    def __init__(self, setting: str) -> None:
        take_javas_file(os.environ)  # the library looks there at each call
        try:
            import gssapi
        except ImportError:
            raise ConfigError(
                f"{setting}: GSSAPI needs the package gssapi: pip install 'kafka_py[kerberos]'"
            ) from None
        self._gssapi: Any = gssapi
        self._mech = gssapi.MechType.kerberos

    def default_realm(self) -> str:
        """ "" when there is none."""
        try:
            made = self._principal("any").canonicalize(self._mech)
        except self._gssapi.exceptions.GSSError:
            return ""
        return str(made).rpartition("@")[2]

    def acceptor(self, entry: KerberosEntry) -> Any:
        """The keys of a principal, with which clients' tickets are read. Raises ConfigError when they are not there."""
        store = {"keytab": entry.keytab} if entry.keytab else None
        try:
            return self._credentials(entry.principal, "accept", store)
        except KerberosFailed as failed:
            where = entry.keytab or "the default keytab"
            raise ConfigError(f"GSSAPI: no keys of {entry.principal} can be read in {where}: {failed}") from None

    def ticket_by_keytab(self, entry: KerberosEntry, cache: str) -> tuple[Any, float | None]:
        """A ticket-granting ticket, kept under a name in memory, and its life in s. Raises KerberosFailed."""
        store = {"ccache": f"MEMORY:{cache}"}
        if entry.keytab:
            store["client_keytab"] = entry.keytab
        return self._with_lifetime(self._credentials(entry.principal, "initiate", store))

    def ticket_of_cache(self, entry: KerberosEntry) -> tuple[Any, float | None]:
        """The ticket-granting ticket in a file, and the rest of its life in s. Raises KerberosFailed."""
        store = {"ccache": f"FILE:{entry.cache}"} if entry.cache else None
        return self._with_lifetime(self._credentials(entry.principal, "initiate", store))

    def begin_accepting(self, acceptor: Any) -> LibraryContext:
        """The broker's side of a new context."""
        return LibraryContext(self._gssapi, creds=acceptor, usage="accept")

    def begin_initiating(self, ticket: Any, service: str, host: str) -> LibraryContext:
        """The client's side of a new context with service/host. Raises KerberosFailed."""
        flags = self._gssapi.RequirementFlag
        try:
            name = self._gssapi.Name(f"{service}@{host}", self._gssapi.NameType.hostbased_service)
        except self._gssapi.exceptions.GSSError as error:
            raise _failed(error) from None
        return LibraryContext(
            self._gssapi, name=name, creds=ticket, usage="initiate", mech=self._mech,
            flags=flags.mutual_authentication | flags.integrity,
        )  # fmt: skip

    def _principal(self, text: str) -> Any:
        return self._gssapi.Name(text, self._gssapi.NameType.kerberos_principal)

    def _credentials(self, principal: str | None, usage: str, store: dict[str, str] | None) -> Any:
        """Raises KerberosFailed."""
        try:
            name = None if principal is None else self._principal(principal)
            return self._gssapi.Credentials(name=name, usage=usage, mechs=[self._mech], store=store)
        except self._gssapi.exceptions.GSSError as error:
            raise _failed(error) from None

    def _with_lifetime(self, credentials: Any) -> tuple[Any, float | None]:
        try:
            return credentials, credentials.lifetime
        except self._gssapi.exceptions.GSSError as error:
            raise _failed(error) from None


class LibraryContext:
    """A security context of the library, as SecurityContext of gssapi_exchange.py."""

    def __init__(self, gssapi: Any, **arguments: Any) -> None:
        """Raises KerberosFailed."""
        self._error = gssapi.exceptions.GSSError
        try:
            self._context = gssapi.SecurityContext(**arguments)
        except self._error as error:
            raise _failed(error) from None
        # A failed step raises at once; the library's token for the other side, which Kafka does not send, is dropped.
        self._context.__DEFER_STEP_ERRORS__ = False

    @property
    def is_established(self) -> bool:
        return bool(self._context.complete)

    def step(self, token: bytes | None) -> bytes | None:
        try:
            made: bytes | None = self._context.step(token)
        except self._error as error:
            raise _failed(error) from None
        return made

    def sign(self, data: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(data, False).message)
        except self._error as error:
            raise _failed(error) from None

    def verified(self, data: bytes) -> bytes:
        try:
            return bytes(self._context.unwrap(data).message)
        except self._error as error:
            raise _failed(error) from None

    def peer(self) -> str:
        try:
            return str(self._context.initiator_name)
        except self._error as error:
            raise _failed(error) from None


def _failed(error: Any) -> KerberosFailed:
    """The library's error in one line, without the general part where there is a particular one."""
    code = error.min_code - _FIRST_CODE
    text = " ".join(str(error).split())
    particular = text.partition(f"Minor ({error.min_code}): ")[2] if error.min_code else ""
    return KerberosFailed(particular or text, code if 0 <= code < _CODES else None)

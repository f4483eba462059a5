"""What login entries and settings say about Kerberos, and when a ticket is replaced.

A login entry is that of Java's own module for Kerberos, so the same files serve brokers and clients of both makes.
Source: KerberosLogin (service name, renewal); docs/security.md, "Kerberos".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.errors import ConfigError

KERBEROS_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
SERVICE_NAME = "sasl.kerberos.service.name"
_FILE = "FILE:"


class KerberosRules(NamedTuple):
    """The settings sasl.kerberos.* of a client, or of a broker as a client. kinit: the command that renews tickets."""

    service_name: str | None = None
    window_factor: float = 0.8
    window_jitter: float = 0.05
    least_period_ms: float = 60_000
    kinit: str = "/usr/bin/kinit"

    def due_ms(self, obtained_ms: float, ends_ms: float, drawn: float) -> float:
        """When to replace a ticket. drawn: a random share from 0 to 1."""
        share = self.window_factor + drawn * self.window_jitter
        wanted_ms = obtained_ms + (ends_ms - obtained_ms) * share
        return min(ends_ms, max(wanted_ms, obtained_ms + self.least_period_ms))


class KerberosEntry(NamedTuple):
    """Where a login takes its credentials from.

    principal: None for that of the ticket cache. keytab: file with the principal's keys, "" for the library's default
    one; None: none is used. cache: file with tickets, "" for the library's default one; None: none is used.
    """

    principal: str | None
    keytab: str | None
    cache: str | None


def kerberos_entry(options: Mapping[str, str]) -> KerberosEntry:
    """Raises ConfigError for an entry that names neither keys nor tickets."""
    keytab = _path(options.get("keyTab", "")) if _is_set(options, "useKeyTab") else None
    cache = _path(options.get("ticketCache", "")) if _is_set(options, "useTicketCache") else None
    principal = options.get("principal") or None
    if keytab is None and cache is None:
        raise ConfigError("The login entry for GSSAPI has neither useKeyTab=true nor useTicketCache=true")
    if keytab is not None and principal in (None, "*"):
        raise ConfigError("The login entry for GSSAPI has useKeyTab=true and no principal whose keys are meant")
    return KerberosEntry(principal, keytab, cache)


def acceptor_entry(options: Mapping[str, str]) -> KerberosEntry:
    """The entry of a broker that clients log in at. Raises ConfigError for one without keys."""
    entry = kerberos_entry(options)
    if entry.keytab is None:
        raise ConfigError("The login entry for GSSAPI of a broker needs useKeyTab=true, keyTab and principal")
    return entry


def service_name(options: Mapping[str, str], setting: str | None) -> str:
    """The brokers' service, as in service/host@REALM: of the login entry or the setting. Raises ConfigError."""
    own = options.get("serviceName") or None
    if own is not None and setting is not None and own != setting:
        raise ConfigError(
            f"serviceName of the login entry is {own}, {SERVICE_NAME} is {setting}: they must be the same, or only "
            "one of them given"
        )
    found = own or setting
    if not found:
        raise ConfigError(f"GSSAPI needs {SERVICE_NAME}, or serviceName in the login entry")
    return found


def _is_set(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


def _path(text: str) -> str:
    return text[len(_FILE) :] if text.upper().startswith(_FILE) else text

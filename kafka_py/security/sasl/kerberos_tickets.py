"""A client's Kerberos tickets: got by a keytab or taken from a cache, and replaced before they end (I/O).

A ticket got by a keytab is replaced by the first login after it is due. One in a cache belongs to the user; while the
client is in use, `kinit -R` renews it when it is due, whether there are logins or not, since afterwards it is too late.
Source: KerberosLogin; KIP-12.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import subprocess
import threading
import weakref
from collections.abc import Callable
from typing import Any

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.security.sasl.gssapi_exchange import GssapiClient, KerberosFailed, client_failure
from kafka_py.security.sasl.kerberos_library import KerberosLibrary
from kafka_py.security.sasl.kerberos_settings import KerberosEntry, KerberosRules
from kafka_py.security.sasl.mechanisms import ClientMechanism

_log = logging.getLogger(__name__)

RENEWAL_PAUSE_S = 10.0
"""Between the two tries of a renewal."""
_KINIT_S = 60


class KeytabTickets:
    """Tickets got with the keys of a principal. name: no other tickets of the process have it. Its calls block."""

    def __init__(
        self, library: KerberosLibrary, entry: KerberosEntry, rules: KerberosRules, name: str, clock: Clock, rng: Random
    ) -> None:  # fmt: skip
        self._library = library
        self._entry = entry
        self._rules = rules
        self._name = name
        self._clock = clock
        self._rng = rng
        self._lock = threading.Lock()
        self._ticket: Any = None
        self._due_ms = self._ends_ms = 0.0
        self._obtained = 0

    def current(self) -> Any:
        """A ticket that has not ended. Raises KerberosFailed."""
        with self._lock:
            now_ms = self._clock.wall_ms()
            if self._ticket is None or now_ms >= self._due_ms:
                self._replace(now_ms)
            return self._ticket

    def _replace(self, now_ms: float) -> None:
        """Two caches in turn: other threads may still read the one of the present ticket."""
        try:
            ticket, life_s = self._library.ticket_by_keytab(self._entry, f"{self._name}-{self._obtained % 2}")
        except KerberosFailed as failed:
            if self._ticket is None or now_ms >= self._ends_ms:
                raise
            self._due_ms = now_ms + self._rules.least_period_ms
            _log.warning("The Kerberos ticket of %s could not be replaced: %s", self._entry.principal, failed)
            return
        self._obtained += 1
        self._ticket = ticket
        self._ends_ms = float("inf") if life_s is None else now_ms + life_s * 1000
        self._due_ms = self._rules.due_ms(now_ms, self._ends_ms, self._rng.random())
        _log.info("Logged in at Kerberos as %s", self._entry.principal)


class CachedTickets:
    """Tickets in a cache that a user fills with kinit."""

    def __init__(self, library: KerberosLibrary, entry: KerberosEntry, rules: KerberosRules, rng: Random) -> None:
        self._library = library
        self._entry = entry
        self._rules = rules
        self._rng = rng
        self._renewal: asyncio.TimerHandle | asyncio.Task[None] | None = None
        self._due_in_ms = float("inf")

    def current(self) -> Any:
        """The ticket as it is in the cache now. Blocks. Raises KerberosFailed."""
        ticket, life_s = self._library.ticket_of_cache(self._entry)
        ends_in_ms = float("inf") if life_s is None else life_s * 1000
        self._due_in_ms = self._rules.due_ms(0.0, ends_in_ms, self._rng.random())
        return ticket

    def renew_in_time(self) -> None:
        """Sees to the renewal of the ticket last read, as long as this object is in use."""
        if self._renewal is None and self._due_in_ms != float("inf"):
            later = asyncio.get_running_loop().call_later
            self._renewal = later(self._due_in_ms / 1000, _call_unless_gone, weakref.WeakMethod(self._begin_renewal))

    def _begin_renewal(self) -> None:
        self._renewal = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            problem = await loop.run_in_executor(None, self._kinit)
            if problem is not None:
                _log.info("The Kerberos ticket was not renewed (%s); trying once more", problem)
                await asyncio.sleep(RENEWAL_PAUSE_S)
                problem = await loop.run_in_executor(None, self._kinit)
            if problem is not None:
                _log.warning("The Kerberos ticket was not renewed: %s", problem)
                return  # the next login looks at the cache, and at when the ticket that is there then is due
            await loop.run_in_executor(None, self.current)
        except KerberosFailed as failed:
            _log.warning("The renewed Kerberos ticket cannot be read: %s", failed)
            return
        finally:
            self._renewal = None
        self.renew_in_time()

    def _kinit(self) -> str | None:
        """Runs the command for renewals; what went wrong."""
        cache = self._entry.cache
        environment = {**os.environ, "KRB5CCNAME": f"FILE:{cache}"} if cache else None
        try:
            done = subprocess.run(
                [self._rules.kinit, "-R"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=_KINIT_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return " ".join(done.stderr.decode(errors="replace").split()) if done.returncode else None


def _call_unless_gone(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    call = method()
    if call is not None:
        call()


class KerberosLogins:
    """Makes the mechanism of each login at a broker."""

    def __init__(self, library: KerberosLibrary, tickets: KeytabTickets | CachedTickets, service: str) -> None:
        self._library = library
        self._tickets = tickets
        self._service = service

    async def __call__(self, host: str) -> ClientMechanism:
        """Raises KafkaError(SASL_AUTHENTICATION_FAILED); ConnectionLost where another try may succeed."""
        made = await asyncio.get_running_loop().run_in_executor(None, self._begun, host)
        if isinstance(self._tickets, CachedTickets):
            self._tickets.renew_in_time()
        return made

    def _begun(self, host: str) -> ClientMechanism:
        try:
            ticket = self._tickets.current()
            context = self._library.begin_initiating(ticket, self._service, host_name(host))
            return GssapiClient(context, context.step(None) or b"")
        except KerberosFailed as failed:
            client_failure(failed)


def host_name(host: str) -> str:
    """The name by which Kerberos knows a host. Principals have names: an address is looked up."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    try:
        return socket.getnameinfo((host, 0), 0)[0]
    except OSError:
        return host


def kerberos_logins(
    entry: KerberosEntry, service: str, rules: KerberosRules, name: str, clock: Clock, rng: Random
) -> KerberosLogins:  # fmt: skip
    """name: no other tickets of the process have it. With both a keytab and a cache the keytab is used.

    Raises ConfigError.
    """
    library = KerberosLibrary("sasl.mechanism")
    if entry.keytab is None:
        return KerberosLogins(library, CachedTickets(library, entry, rules, rng), service)
    library.acceptor(entry)  # a keytab without the principal's keys is told at once, by its name
    return KerberosLogins(library, KeytabTickets(library, entry, rules, name, clock, rng), service)

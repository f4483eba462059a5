"""Logins that were begun and not finished: each is bound to the browser that began it, and is used once.

Another site may send a browser to the callback with a code of its own (login CSRF): the cookie of the transaction is
missing there. Every tab has a transaction and a cookie of its own, so two tabs do not disturb each other.
Source: OpenID Connect Core 1.0, sections 3.1.2.1 and 15.5.2; RFC 6749, section 10.12.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.manager.identity.sessions import new_token

LIFETIME_MS = 10 * 60_000
MOST_OPEN = 10_000
"""The oldest one is dropped for one more."""
COOKIE_PREFIX = "kafka_manager_login_"


class LoginTransaction(NamedTuple):
    """state, nonce and verifier: of the flow. secret: in the browser's cookie. next: the page to show afterwards."""

    state: str
    nonce: str
    verifier: str
    secret: str
    next: str
    opened_ms: float

    @property
    def cookie(self) -> str:
        """The name of the transaction's cookie."""
        return cookie_of(self.state)


class TransactionRefused(Exception):
    """There is no such transaction, or another browser began it; the text says what to do."""


def cookie_of(state: str) -> str:
    """The name of the cookie of a transaction, of which the state cannot be read."""
    return COOKIE_PREFIX + hashlib.sha256(state.encode()).hexdigest()[:16]


class LoginTransactions:
    """All open ones, by state."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self._clock = clock
        self._chance = chance
        self._open: OrderedDict[str, LoginTransaction] = OrderedDict()

    def begin(self, next_path: str) -> LoginTransaction:
        """A new one."""
        texts = [new_token(self._chance) for _ in range(4)]
        state, nonce, verifier, secret = texts
        made = LoginTransaction(state, nonce, verifier, secret, next_path, self._clock.monotonic_ms())
        self._open[state] = made
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return made

    def take(self, state: str, cookies: Mapping[str, str]) -> LoginTransaction:
        """Ends the transaction, and returns it. Raises TransactionRefused.

        One that another browser began stays open: whoever learns a state cannot end the login of its owner.
        """
        found = self._open.get(state)
        if found is None:
            raise TransactionRefused("This login was finished before, or the manager has restarted: log in again")
        given = cookies.get(found.cookie, "")
        if not hmac.compare_digest(found.secret.encode(), given.encode("utf-8", "replace")):
            raise TransactionRefused("This login was begun in another browser: log in again")
        del self._open[state]
        if self._clock.monotonic_ms() - found.opened_ms > LIFETIME_MS:
            raise TransactionRefused("This login took too long: log in again")
        return found

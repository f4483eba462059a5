"""A login by the provider, from its start to the user, and the way to the provider's own logout."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.texts import one_line
from kafka_py.manager.identity.oidc.claims import Claims, ClaimsRefused, is_complete, user_of
from kafka_py.manager.identity.oidc.flow_messages import (
    CallbackAnswer,
    CodeRefused,
    OidcRefused,
    ProviderFault,
    ProviderMetadata,
    authorization_url,
    end_session_url,
    is_of_issuer,
)
from kafka_py.manager.identity.oidc.id_tokens import checked_id_token
from kafka_py.manager.identity.oidc.provider import OidcProvider
from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.manager.identity.oidc.transactions import LoginTransaction, LoginTransactions, TransactionRefused
from kafka_py.manager.identity.roles import WebUser
from kafka_py.manager.identity.sessions import new_token
from kafka_py.security.sasl.oauth.key_sets import KeysUnavailable
from kafka_py.security.sasl.oauth_tokens import TokenRefused

GLANCE_S = 0.3
"""The login page waits so long to say that the provider is down; whoever has a password need not wait longer."""

MOST_LOGOUTS = 100
"""Logouts whose next page was not asked for; the oldest are forgotten."""

_log = logging.getLogger(__name__)


class StartedLogin(NamedTuple):
    """url: where the browser goes. The browser keeps the transaction's secret in its cookie."""

    url: str
    transaction: LoginTransaction


class FinishedLogin(NamedTuple):
    """next: the page to show. id_token: names the session at the provider's logout."""

    user: WebUser
    next: str
    id_token: str


class OidcLogins:
    """Logins by one provider. Raises ConfigError."""

    def __init__(self, settings: OidcSettings, clock: Clock, chance: Chance) -> None:
        self.settings = settings
        self._clock = clock
        self._transactions = LoginTransactions(clock, chance)
        self._chance = chance
        self._provider = OidcProvider(settings, clock)
        self._logouts: OrderedDict[str, str] = OrderedDict()

    async def fault(self) -> str:
        """A sentence that says why nobody can log in by the provider now, as far as that is known; "" if one can."""
        fault = await self._provider.glance(GLANCE_S)
        return self._fault_text(fault) if fault else ""

    async def start(self, next_path: str) -> StartedLogin:
        """Begins a login. Raises OidcRefused."""
        try:
            metadata = await self._provider.ready()
        except ProviderFault as error:
            raise self._down(error) from None
        made = self._transactions.begin(next_path)
        url = authorization_url(metadata, self.settings, state=made.state, nonce=made.nonce, verifier=made.verifier)
        return StartedLogin(url, made)

    async def finish(self, answer: CallbackAnswer, cookies: Mapping[str, str]) -> FinishedLogin:
        """Who has logged in. Raises OidcRefused."""
        try:
            begun = self._transactions.take(answer.state, cookies)
            metadata = self._provider.known or await self._provider.ready()
            self._check_answer(answer, metadata)
            tokens = await self._provider.exchange(metadata, answer.code, begun.verifier)
            async with asyncio.timeout(2 * self.settings.timeout_seconds):
                claims: Claims = await checked_id_token(
                    tokens.id_token, self._provider.keys, self.settings, nonce=begun.nonce, now_ms=self._clock.wall_ms()
                )
            if metadata.userinfo_endpoint and tokens.access_token and not is_complete(claims, self.settings):
                more = await self._provider.userinfo(metadata, tokens.access_token, claims["sub"])
                claims = {**more, **claims}
            return FinishedLogin(user_of(claims, self.settings), begun.next, tokens.id_token)
        except TransactionRefused as error:
            raise OidcRefused(400, f"{error}.") from None
        except CodeRefused:
            raise OidcRefused(400, "The provider no longer accepts this login: log in again.") from None
        except TokenRefused as error:
            _log.warning("An ID token of %s was refused: %s", self.settings.issuer, error)
            raise OidcRefused(502, "The provider's ID token is not accepted.", f"ID token: {error}") from None
        except ClaimsRefused as error:
            raise OidcRefused(403, f"{error}.", user=error.user) from None
        except (ProviderFault, KeysUnavailable, TimeoutError) as error:
            raise self._down(error) from None

    def _check_answer(self, answer: CallbackAnswer, metadata: ProviderMetadata) -> None:
        """Raises OidcRefused."""
        if not is_of_issuer(answer, metadata, self.settings.issuer):
            raise OidcRefused(400, "The answer to this login is of another provider: log in again.")
        if answer.error:
            words = ": ".join(one_line(each, 300) for each in (answer.error, answer.description) if each)
            raise OidcRefused(403, f"The provider refused the login ({words}).")
        if not answer.code:
            raise OidcRefused(400, "The provider's answer has no code: log in again.")

    def begin_logout(self, id_token: str) -> str:
        """A number by which the next page finds where the session with the provider is ended."""
        number = new_token(self._chance)
        self._logouts[number] = id_token
        while len(self._logouts) > MOST_LOGOUTS:
            self._logouts.popitem(last=False)
        return number

    def logout_url(self, number: str) -> str:
        """Where the session with the provider is ended, once; "" where it does not offer that."""
        id_token, known = self._logouts.pop(number, ""), self._provider.known
        return end_session_url(known, self.settings, id_token) if known is not None and id_token else ""

    def _down(self, error: Exception) -> OidcRefused:
        return OidcRefused(503, self._fault_text(str(error) or "it did not answer in time"))

    def _fault_text(self, fault: str) -> str:
        return f"{self.settings.shown_title} cannot be used to log in now: {fault}."

    async def close(self) -> None:
        """Ends what is under way."""
        await self._provider.close()

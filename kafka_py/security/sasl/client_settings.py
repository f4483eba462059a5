"""How a client, or a broker as a client of others, logs in: from its mechanism and its login entry.

Source: KIP-85, KIP-255, KIP-342; SaslChannelBuilder, LoginManager.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.security.sasl.callbacks import load_callback
from kafka_py.security.sasl.client_login import ClientLogin, MakeMechanism, always
from kafka_py.security.sasl.jaas import LoginModule
from kafka_py.security.sasl.kerberos_settings import KerberosRules, kerberos_entry, service_name
from kafka_py.security.sasl.mechanisms import GSSAPI, OAUTHBEARER, PLAIN, SUPPORTED, ClientMechanism
from kafka_py.security.sasl.oauth.options import OAuthOptions
from kafka_py.security.sasl.oauth_tokens import (
    BearerToken,
    extensions_in,
    extensions_of_signed_in,
    unsecured_login,
)
from kafka_py.security.sasl.oauthbearer import OAuthBearerClient
from kafka_py.security.sasl.plain import PlainClient
from kafka_py.security.sasl.scram import ScramClient
from kafka_py.security.sasl.scram_credentials import random_text
from kafka_py.security.sasl.server_settings import MODULES

_log = logging.getLogger(__name__)

_OAUTH = "org.apache.kafka.common.security.oauthbearer"
UNSECURED_LOGIN = f"{_OAUTH}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
SIGNED_LOGINS = (f"{_OAUTH}.OAuthBearerLoginCallbackHandler", f"{_OAUTH}.secured.OAuthBearerLoginCallbackHandler")
"""Java classes whose work is done here."""
_RETRY_MS = 10_000
"""From a token that could not be replaced to the next attempt."""


class RefreshRules(NamedTuple):
    """When a token is replaced (sasl.login.refresh.*)."""

    window_factor: float = 0.8
    window_jitter: float = 0.05
    least_period_s: int = 60
    buffer_s: int = 300

    def due_ms(self, token: BearerToken, obtained_ms: float, drawn: float) -> float:
        """When to replace a token, wall clock. drawn: a random share from 0 to 1."""
        share = self.window_factor + drawn * self.window_jitter
        begins_ms = obtained_ms if token.start_ms is None else token.start_ms
        latest_ms = token.lifetime_ms - self.buffer_s * 1000
        earliest_ms = obtained_ms + self.least_period_s * 1000
        if earliest_ms > latest_ms:  # both cannot be kept
            return obtained_ms + (token.lifetime_ms - obtained_ms) * share
        wanted_ms = begins_ms + (token.lifetime_ms - begins_ms) * share
        return max(earliest_ms, min(wanted_ms, latest_ms))


GetToken = Callable[[], Awaitable[BearerToken]]
"""Gets a new token."""


class Secrets(NamedTuple):
    """What a login draws its nonces from and tells the time by."""

    chance: Chance
    clock: Clock


def client_login(
    mechanism: str, entry: LoginModule, secrets: Secrets, callback: tuple[str, str] | None = None,
    refresh: RefreshRules | None = None, *, kerberos: KerberosRules | None = None, tokens: OAuthOptions | None = None,
) -> ClientLogin:  # fmt: skip
    """callback: setting and path of a function that gives tokens. tokens: where they are. Raises ConfigError."""
    if mechanism not in SUPPORTED:
        raise ConfigError(f"sasl.mechanism: {mechanism} is not available; supported are {', '.join(SUPPORTED)}")
    if entry.module != MODULES[mechanism]:
        raise ConfigError(f"{mechanism} needs the login module {MODULES[mechanism]}, not {entry.module}")
    rng = secrets.chance.generator()
    if mechanism == GSSAPI:
        return ClientLogin(mechanism, _kerberos(entry.options, secrets, kerberos or KerberosRules()), rng)
    if mechanism == OAUTHBEARER:
        get_token = _token_getter(callback, tokens or OAuthOptions.parse({}), entry.options, secrets.clock)
        return ClientLogin(mechanism, TokenSource(entry.options, secrets, get_token, refresh or RefreshRules()), rng)
    return ClientLogin(mechanism, _maker(mechanism, entry.options, secrets), rng)


def _token_getter(
    callback: tuple[str, str] | None, tokens: OAuthOptions, options: Mapping[str, str], clock: Clock
) -> GetToken | None:
    """A function that gives a token; None for unsigned ones. Raises ConfigError."""
    if callback is not None and callback[1] not in (UNSECURED_LOGIN, *SIGNED_LOGINS):
        return CallbackTokens(*callback)
    endpoint = OAuthOptions.sasl_oauthbearer_token_endpoint_url.name
    if callback is not None and (callback[1] == UNSECURED_LOGIN) == bool(tokens.sasl_oauthbearer_token_endpoint_url):
        raise ConfigError(f"{callback[0]}={callback[1]} and {endpoint} do not fit: one is for tokens of an endpoint")
    if not tokens.sasl_oauthbearer_token_endpoint_url:
        return None
    from kafka_py.security.sasl.oauth.token_sources import signed_token_source

    return signed_token_source(endpoint, tokens, options, clock)


def _maker(mechanism: str, options: Mapping[str, str], secrets: Secrets) -> MakeMechanism:
    username, password = _credentials(mechanism, options)
    if mechanism == PLAIN:
        plain = PlainClient(username, password)
        return always(lambda: plain)
    is_token = options.get("tokenauth", "").lower() == "true"
    return always(
        lambda: ScramClient(mechanism, username, password, random_text(secrets.chance), is_token=is_token)
    )


def _kerberos(options: Mapping[str, str], secrets: Secrets, rules: KerberosRules) -> MakeMechanism:
    """Raises ConfigError."""
    from kafka_py.security.sasl.kerberos_tickets import kerberos_logins

    entry, service = kerberos_entry(options), service_name(options, rules.service_name)
    name = f"kafka_py-{random_text(secrets.chance)}"
    return kerberos_logins(entry, service, rules, name, secrets.clock, secrets.chance.generator())


def _credentials(mechanism: str, options: Mapping[str, str]) -> tuple[str, str]:
    for name in ("username", "password"):
        if not options.get(name):
            raise ConfigError(f"The login entry for {mechanism} has no {name}")
    return options["username"], options["password"]


class CallbackTokens:
    """Tokens of a user's own function, which may block or be a coroutine function. Raises ConfigError.

    It is called in a thread: brokers log in at each other by it, and their event loop must not wait. One call at
    a time: a function that hangs takes one thread however often connections are tried.
    """

    def __init__(self, setting: str, path: str) -> None:
        self._named = f"{path} ({setting})"
        self._get_token = load_callback(setting, path)
        self._under_way: asyncio.Task[Any] | None = None

    async def __call__(self) -> BearerToken:
        """Raises KafkaError(SASL_AUTHENTICATION_FAILED); ConnectionLost where another try may succeed."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.get_running_loop().create_task(self._ask())
            self._under_way.add_done_callback(_note_as_retrieved)  # who waited may have gone
        try:
            found = await asyncio.shield(self._under_way)
        except KafkaError:
            raise
        except OSError as error:  # not as it is: the reader of an errno or a time-out would look at the broker
            raise ConnectionLost(f"{self._named} gave no token: {error or type(error).__name__}") from error
        except Exception as error:
            _log.debug("%s failed", self._named, exc_info=True)
            text = f"{self._named} gave no token: {type(error).__name__}: {error}"
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, text) from error
        if not isinstance(found, BearerToken):
            text = f"{self._named} gave a {type(found).__name__}, no BearerToken"
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, text)
        return found

    async def _ask(self) -> Any:
        found = await asyncio.get_running_loop().run_in_executor(None, self._get_token)
        return await found if isinstance(found, Awaitable) else found


def _note_as_retrieved(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


class TokenSource:
    """Bearer tokens: one is used until it is due to be replaced.

    get_token: a coroutine function; else unsigned tokens are made from the options.
    """

    def __init__(
        self, options: Mapping[str, str], secrets: Secrets, get_token: GetToken | None, refresh: RefreshRules
    ) -> None:
        self._options = options
        self._clock = secrets.clock
        self._rng = secrets.chance.generator()
        self._get_token = get_token
        self._refresh = refresh
        self._token: BearerToken | None = None
        self._due_ms = 0.0
        self._extensions = {**extensions_in(options), **extensions_of_signed_in(options)}
        self._turn = asyncio.Lock()
        if get_token is None and unsecured_login(options, secrets.clock.wall_ms()) is None:
            raise ConfigError("The login entry for OAUTHBEARER makes no token: it has no option unsecuredLogin...")

    async def __call__(self, host: str) -> ClientMechanism:
        async with self._turn:  # connections that are opened at once use one token
            return OAuthBearerClient((await self._present()).value, self._extensions)

    async def _present(self) -> BearerToken:
        """Raises KafkaError, ConnectionLost."""
        now_ms, present = self._clock.wall_ms(), self._token
        if present is not None and now_ms < self._due_ms:
            return present
        try:
            token = self._token = await self._new_token(now_ms)
        except (KafkaError, OSError) as error:
            if present is None or self._clock.wall_ms() >= present.lifetime_ms:
                raise
            _log.warning("The login's token could not be replaced, and is used until it ends: %s", error)
            self._due_ms = now_ms + _RETRY_MS
            return present
        self._due_ms = self._refresh.due_ms(token, now_ms, self._rng.random())
        return token

    async def _new_token(self, now_ms: float) -> BearerToken:
        if self._get_token is None:
            made = unsecured_login(self._options, now_ms)
            assert made is not None
            return made
        return await self._get_token()

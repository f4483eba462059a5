"""How a client, or a broker as a client of others, logs in: from its mechanism and its login entry.

Source: KIP-85, KIP-255, KIP-342; SaslChannelBuilder, LoginManager.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.security.sasl.callbacks import load_callback
from kafka_py.security.sasl.client_login import ClientLogin, MakeMechanism, always
from kafka_py.security.sasl.jaas import LoginModule
from kafka_py.security.sasl.kerberos_settings import KerberosRules, kerberos_entry, service_name
from kafka_py.security.sasl.mechanisms import GSSAPI, OAUTHBEARER, PLAIN, SUPPORTED, ClientMechanism
from kafka_py.security.sasl.oauth_tokens import BearerToken, extensions_in, unsecured_login
from kafka_py.security.sasl.oauthbearer import OAuthBearerClient
from kafka_py.security.sasl.plain import PlainClient
from kafka_py.security.sasl.scram import ScramClient
from kafka_py.security.sasl.scram_credentials import random_text
from kafka_py.security.sasl.server_settings import MODULES


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


class Secrets(NamedTuple):
    """What a login draws its nonces from and tells the time by."""

    chance: Chance
    clock: Clock


def client_login(
    mechanism: str, entry: LoginModule, secrets: Secrets, callback: tuple[str, str] | None = None,
    refresh: RefreshRules | None = None, kerberos: KerberosRules | None = None,
) -> ClientLogin:  # fmt: skip
    """callback: setting and path of a function that gives tokens. Raises ConfigError."""
    if mechanism not in SUPPORTED:
        raise ConfigError(f"sasl.mechanism: {mechanism} is not available; supported are {', '.join(SUPPORTED)}")
    if entry.module != MODULES[mechanism]:
        raise ConfigError(f"{mechanism} needs the login module {MODULES[mechanism]}, not {entry.module}")
    rng = secrets.chance.generator()
    if mechanism == GSSAPI:
        return ClientLogin(mechanism, _kerberos(entry.options, secrets, kerberos or KerberosRules()), rng)
    return ClientLogin(mechanism, _maker(mechanism, entry.options, secrets, callback, refresh or RefreshRules()), rng)


def _maker(
    mechanism: str, options: Mapping[str, str], secrets: Secrets, callback: tuple[str, str] | None,
    refresh: RefreshRules,
) -> MakeMechanism:  # fmt: skip
    if mechanism == OAUTHBEARER:
        get_token = None if callback is None else load_callback(*callback)
        return TokenSource(options, secrets, get_token, refresh)
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


class TokenSource:
    """Bearer tokens: one is used until it is due to be replaced.

    get_token: a user's own function without arguments, which may be a coroutine function; else unsigned tokens are made
    from the options.
    """

    def __init__(
        self, options: Mapping[str, str], secrets: Secrets, get_token: Any, refresh: RefreshRules
    ) -> None:
        self._options = options
        self._clock = secrets.clock
        self._rng = secrets.chance.generator()
        self._get_token = get_token
        self._refresh = refresh
        self._token: BearerToken | None = None
        self._due_ms = 0.0
        if get_token is None and unsecured_login(options, secrets.clock.wall_ms()) is None:
            raise ConfigError("The login entry for OAUTHBEARER makes no token: it has no option unsecuredLogin...")

    async def __call__(self, host: str) -> ClientMechanism:
        now_ms = self._clock.wall_ms()
        if self._token is None or now_ms >= self._due_ms:
            token = self._token = await self._new_token(now_ms)
            self._due_ms = self._refresh.due_ms(token, now_ms, self._rng.random())
        return OAuthBearerClient(self._token.value, extensions_in(self._options))

    async def _new_token(self, now_ms: float) -> BearerToken:
        if self._get_token is None:
            made = unsecured_login(self._options, now_ms)
            assert made is not None
            return made
        found = self._get_token()
        if isinstance(found, Awaitable):
            found = await found
        if not isinstance(found, BearerToken):
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "the login callback gave no BearerToken")
        return found

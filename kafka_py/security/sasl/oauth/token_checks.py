"""A listener's check of signed tokens, from its settings. Imported by listeners that have it.

Source: KIP-768.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.mechanisms import ExchangeBroken
from kafka_py.security.sasl.oauth.options import OAuthOptions
from kafka_py.security.sasl.oauth_tokens import BearerToken, TokenRefused
from kafka_py.security.sasl.oauthbearer import TokenCheck

_log = logging.getLogger(__name__)

SETTING = OAuthOptions.sasl_oauthbearer_jwks_endpoint_url.name


class SignedTokenChecks:
    """The checks of a broker's listeners. They share the keys of one place, which outlast a change of settings."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: dict[object, Any] = {}

    def check(self, setting: str, options: OAuthOptions, tls: Mapping[str, str]) -> TokenCheck:
        """A coroutine function for OAuthBearerServer. tls: a login entry, perhaps with stores. Raises ConfigError."""
        try:
            from kafka_py.security.sasl.oauth import signed_tokens
        except ImportError:
            raise ConfigError(
                f"{setting}: signed tokens need the package joserfc: pip install 'kafka_py[oauth]'"
            ) from None
        keys = self._keys_of(setting, options, tls)
        expected = signed_tokens.ExpectedClaims(
            tuple(each for each in options.sasl_oauthbearer_expected_audience or () if each),
            options.sasl_oauthbearer_expected_issuer or None,
            options.sasl_oauthbearer_sub_claim_name,
            options.sasl_oauthbearer_scope_claim_name,
            options.sasl_oauthbearer_clock_skew_seconds * 1000,
        )

        async def check(token: str) -> BearerToken:
            return await self._checked(token, keys, expected)

        return check

    async def _checked(self, text: str, keys: Any, expected: Any) -> BearerToken:
        """Raises TokenRefused; ExchangeBroken where there are no keys: the client then tries again."""
        from kafka_py.security.sasl.oauth.key_sets import KeysUnavailable
        from kafka_py.security.sasl.oauth.signed_tokens import SignedToken

        try:
            token = SignedToken(text)
            return token.checked(await keys.for_key(token.key_id), expected, self._clock.wall_ms())
        except TokenRefused as refused:
            _log.debug("A token was refused: %s", refused)
            raise
        except KeysUnavailable as error:
            raise ExchangeBroken(f"there are no keys to check a token with: {error}") from None

    def _keys_of(self, setting: str, options: OAuthOptions, tls: Mapping[str, str]) -> Any:
        from kafka_py.security.sasl.oauth.key_sets import KeyRefresh, ProviderKeys
        from kafka_py.security.sasl.oauth.places import Unreadable, place_of
        from kafka_py.security.sasl.oauth.signed_tokens import parse_keys

        url = options.sasl_oauthbearer_jwks_endpoint_url or ""
        refresh = KeyRefresh(
            options.sasl_oauthbearer_jwks_endpoint_refresh_ms,
            options.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms,
            options.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms,
        )
        stores = tuple(sorted((name, value) for name, value in tls.items() if name.startswith("ssl.")))
        identity = url, stores, refresh, options.sasl_login_connect_timeout_ms, options.sasl_login_read_timeout_ms
        found = self._keys.get(identity)
        if found is None:
            place = place_of(
                setting, url, self._clock, tls, options.sasl_login_connect_timeout_ms,
                options.sasl_login_read_timeout_ms,
            )  # fmt: skip
            if place.is_file:
                try:
                    parse_keys(place.read())
                except (Unreadable, ValueError) as error:
                    raise ConfigError(f"{setting}: the keys in {place.path} cannot be used: {error}") from None
                refresh = refresh._replace(least_ms=1_000)
            elif url.startswith("http:"):
                _log.warning("%s: whoever is between this broker and %s can replace the keys; use https", setting, url)
            found = self._keys[identity] = ProviderKeys(url, place, refresh, self._clock)
        return found

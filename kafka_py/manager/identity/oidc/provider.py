"""Requests to the provider: discovery, tokens, userinfo, keys. Each ends in the time of the setting timeout_seconds.

Redirects are not followed. A login is in logins.py.
Source: OpenID Connect Discovery 1.0, section 4; OpenID Connect Core 1.0, sections 3.1.3 and 5.3.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.base.texts import one_line
from kafka_py.manager.identity.oidc.flow_messages import (
    WELL_KNOWN,
    IssuedTokens,
    ProviderFault,
    ProviderMetadata,
    json_object,
    metadata_of,
    token_request,
    tokens_of,
)
from kafka_py.manager.identity.oidc.settings import SECTION, OidcSettings
from kafka_py.security.sasl.oauth.key_sets import KeyRefresh, ProviderKeys
from kafka_py.security.sasl.oauth.places import Place

FRESH_MS = 1_000
"""A browser is sent to a provider that has answered within this time, so that it does not end up on an error page."""
AFTER_FAULT_MS = 1_000
"""So long after a failed attempt no other one is made."""
MOST_BYTES = 1 << 20
KEY_REFRESH = KeyRefresh(least_ms=1_000)
"""Only a login that a browser has really begun looks for an unknown key, so the next attempt need not be far off."""


class HttpAnswer(NamedTuple):
    """What an endpoint answered."""

    status: int
    content: bytes


class OidcProvider:
    """The provider of the settings. Raises ConfigError for a CA certificate that cannot be read."""

    def __init__(self, settings: OidcSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._tls = _tls(settings)
        self._client = httpx.AsyncClient(verify=self._tls, timeout=settings.timeout_seconds, follow_redirects=False)
        self._metadata: ProviderMetadata | None = None
        self._keys: ProviderKeys | None = None
        self._fault = ""
        self._tried_ms = -math.inf
        self._answered_ms = -math.inf
        self._attempt: asyncio.Task[None] | None = None

    @property
    def known(self) -> ProviderMetadata | None:
        """The metadata as they were last seen."""
        return self._metadata

    async def glance(self, patience_s: float) -> str:
        """Why the provider cannot be used, as far as that is known after so short a time; "" if it can."""
        await self._look(patience_s)
        return self._fault

    async def ready(self) -> ProviderMetadata:
        """The metadata of a provider that has just answered. Raises ProviderFault."""
        await self._look(None)
        if self._fault or self._metadata is None:
            raise ProviderFault(self._fault or "it did not answer")
        return self._metadata

    async def _look(self, patience_s: float | None) -> None:
        now_ms = self._clock.monotonic_ms()
        is_fresh = now_ms - self._answered_ms < FRESH_MS and not self._fault
        if is_fresh or (self._fault and now_ms - self._tried_ms < AFTER_FAULT_MS):
            return
        if self._attempt is None:
            self._attempt = asyncio.get_running_loop().create_task(self._discover())
        await asyncio.wait([self._attempt], timeout=patience_s)

    async def _discover(self) -> None:
        self._tried_ms = self._clock.monotonic_ms()
        try:
            answer = await self._fetch("GET", self._settings.issuer.rstrip("/") + WELL_KNOWN)
            if answer.status != 200:
                raise ProviderFault(f"it answers {answer.status} to the request for its metadata")
            self._take(metadata_of(answer.content, self._settings.issuer))
        except ProviderFault as error:
            self._fault = str(error)
        finally:
            self._attempt = None

    def _take(self, metadata: ProviderMetadata) -> None:
        if self._metadata is None or metadata.jwks_uri != self._metadata.jwks_uri:
            timeout_s = float(self._settings.timeout_seconds)
            tls = self._tls if metadata.jwks_uri.startswith("https:") else None
            place = Place("issuer", metadata.jwks_uri, "", tls, timeout_s, timeout_s, self._clock)
            self._keys = ProviderKeys(metadata.jwks_uri, place, KEY_REFRESH, self._clock)
        self._metadata, self._fault, self._answered_ms = metadata, "", self._clock.monotonic_ms()

    @property
    def keys(self) -> ProviderKeys:
        """The provider's keys, which are fetched again for a key id that is new. Raises ProviderFault."""
        if self._keys is None:
            raise ProviderFault("it has not answered yet")
        return self._keys

    async def exchange(self, metadata: ProviderMetadata, code: str, verifier: str) -> IssuedTokens:
        """The tokens for a code. Raises CodeRefused, ProviderFault."""
        request = token_request(metadata, self._settings, code=code, verifier=verifier)
        answer = await self._fetch("POST", metadata.token_endpoint, request.headers, request.fields)
        return tokens_of(answer.status, answer.content)

    async def userinfo(self, metadata: ProviderMetadata, access_token: str, subject: str) -> dict[str, Any]:
        """More claims about the subject. Raises ProviderFault, also for claims about another one."""
        answer = await self._fetch("GET", metadata.userinfo_endpoint, {"Authorization": f"Bearer {access_token}"})
        if answer.status != 200:
            raise ProviderFault(f"its userinfo endpoint answers {answer.status}")
        found = json_object(answer.content, "its userinfo")
        if found.get("sub") != subject:
            raise ProviderFault("its userinfo is about another user")
        return found

    async def _fetch(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, form: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """Raises ProviderFault."""
        sent = {"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        try:
            async with (
                asyncio.timeout(self._settings.timeout_seconds),
                self._client.stream(method, url, headers=sent, data=dict(form) if form else None) as response,
            ):
                content = bytearray()
                async for piece in response.aiter_raw():
                    content += piece
                    if len(content) > MOST_BYTES:
                        raise ProviderFault(f"its answer is longer than {MOST_BYTES} bytes")
                return HttpAnswer(response.status_code, bytes(content))
        except (TimeoutError, httpx.TimeoutException):
            raise ProviderFault(f"it did not answer within {self._settings.timeout_seconds} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise ProviderFault(one_line(str(error) or type(error).__name__, 200)) from None

    async def close(self) -> None:
        """Ends what is under way."""
        attempt = self._attempt
        if attempt is not None:
            attempt.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await attempt
        await self._client.aclose()


def _tls(settings: OidcSettings) -> ssl.SSLContext:
    """What the machine trusts, or the CA of the setting alone. Raises ConfigError."""
    try:
        return ssl.create_default_context(cafile=settings.ca_certificate)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"ca_certificate of [{SECTION}]: {settings.ca_certificate} cannot be read: {error}") from None

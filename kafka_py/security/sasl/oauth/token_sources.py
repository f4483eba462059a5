"""A client's tokens from a file, or from an endpoint by its own name and secret (the grant client_credentials).

A client trusts its provider: it reads of a token what it needs, without verifying the signature.
Source: RFC 6749, section 4.4; KIP-768.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.security.sasl.oauth.options import OAuthOptions
from kafka_py.security.sasl.oauth.places import Place, Unreadable, place_of
from kafka_py.security.sasl.oauth_tokens import BearerToken, TokenRefused, list_in, time_in

SETTING = OAuthOptions.sasl_oauthbearer_token_endpoint_url.name


def signed_token_source(
    setting: str, options: OAuthOptions, entry: Mapping[str, str], clock: Clock
) -> Callable[[], Awaitable[BearerToken]]:
    """A coroutine function that gets a new token. entry: options of the login entry. Raises ConfigError.

    What it returns raises KafkaError(SASL_AUTHENTICATION_FAILED), and ConnectionLost where a repetition may help.
    """
    place = place_of(
        setting, options.sasl_oauthbearer_token_endpoint_url or "", clock, entry,
        options.sasl_login_connect_timeout_ms, options.sasl_login_read_timeout_ms,
    )  # fmt: skip
    is_encoded = options.sasl_oauthbearer_header_urlencode
    body, headers = (None, {}) if place.is_file else _request(setting, entry, is_encoded=is_encoded)

    async def get_token() -> BearerToken:
        answer = await _read(place, body, headers, options)
        text = answer.decode("ascii", "replace").strip() if place.is_file else _token_in(answer)
        return unverified(text, options.sasl_oauthbearer_sub_claim_name, options.sasl_oauthbearer_scope_claim_name)

    return get_token


def _request(setting: str, entry: Mapping[str, str], *, is_encoded: bool) -> tuple[bytes, dict[str, str]]:
    """Body and headers. Raises ConfigError."""
    for name in ("clientId", "clientSecret"):
        if not entry.get(name):
            raise ConfigError(f"{setting}: the login entry for OAUTHBEARER has no {name}")
    fields = {"grant_type": "client_credentials", **({"scope": entry["scope"]} if entry.get("scope") else {})}
    name_and_secret = entry["clientId"], entry["clientSecret"]
    pair = ":".join(quote_plus(each) if is_encoded else each for each in name_and_secret)
    return urlencode(fields).encode(), {
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }


async def _read(place: Place, body: bytes | None, headers: Mapping[str, str], options: OAuthOptions) -> bytes:
    """What the place has, tried again for a while. Raises KafkaError, ConnectionLost."""
    wait_ms, passed_ms = options.sasl_login_retry_backoff_ms, 0
    while True:
        try:
            return await asyncio.get_running_loop().run_in_executor(None, place.read, body, headers)
        except Unreadable as error:
            problem = f"No token can be had from {place.url} ({place.setting}): {error}"
            if error.is_final:
                raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, problem) from None
            wait_ms = max(wait_ms, 1)
            if passed_ms + wait_ms > options.sasl_login_retry_backoff_max_ms:
                raise ConnectionLost(problem) from None
        await asyncio.sleep(wait_ms / 1000)
        passed_ms, wait_ms = passed_ms + wait_ms, wait_ms * 2


def _token_in(answer: bytes) -> str:
    """Raises KafkaError."""
    try:
        found = json.loads(answer)["access_token"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "the token endpoint's answer has no access_token")
    return found.strip()


def unverified(text: str, principal_claim: str = "sub", scope_claim: str = "scope") -> BearerToken:
    """What a client needs of its own token. Raises KafkaError(SASL_AUTHENTICATION_FAILED)."""
    try:
        claims = _claims(text)
        ends_s, issued_s = time_in(claims, "exp"), time_in(claims, "iat")
        principal = claims.get(principal_claim)
        if ends_s is None or not isinstance(principal, str):
            raise ValueError(f"it has no claims exp and {principal_claim}")
        begins_ms = None if issued_s is None else issued_s * 1000
        return BearerToken(text, principal, ends_s * 1000, begins_ms, list_in(claims, scope_claim))
    except (TokenRefused, ValueError) as error:
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"the login's token cannot be used: {error}") from None


def _claims(text: str) -> dict[str, Any]:
    """Raises ValueError."""
    parts = text.split(".")
    if len(parts) != 3:
        raise ValueError("it has not the form header.claims.signature")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        claims = None
    if not isinstance(claims, dict):
        raise ValueError("its claims are no JSON object")
    return claims

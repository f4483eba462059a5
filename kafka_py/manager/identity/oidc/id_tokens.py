"""The check of an ID token: signature, issuer, audience, times, nonce.

`none` and shared secrets (HS256 and the like) are no signatures here, whatever a token says.
Source: OpenID Connect Core 1.0, section 3.1.3.7; RFC 8725.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.security.sasl.oauth.key_sets import ProviderKeys
from kafka_py.security.sasl.oauth.signed_tokens import ExpectedClaims, SignedToken, accepted
from kafka_py.security.sasl.oauth_tokens import invalid_token


def check_id_claims(claims: Mapping[str, Any], settings: OidcSettings, nonce: str, now_ms: float) -> None:
    """Raises TokenRefused for claims of a signed token that are not of this login."""
    expected = ExpectedClaims((settings.client_id,), settings.issuer, skew_ms=settings.clock_skew_seconds * 1000)
    accepted("", claims, expected, now_ms)
    audience, party = claims.get("aud"), claims.get("azp")
    if (isinstance(audience, list) and len(audience) > 1 and party is None) or party not in (None, settings.client_id):
        raise invalid_token("it was issued to another client")
    if claims.get("nonce") != nonce:
        raise invalid_token("it is of another login")


async def checked_id_token(
    text: str, keys: ProviderKeys, settings: OidcSettings, *, nonce: str, now_ms: float
) -> dict[str, Any]:
    """The claims of a good ID token. Raises TokenRefused, KeysUnavailable."""
    token = SignedToken(text)
    claims = token.claims(await keys.for_key(token.key_id))
    check_id_claims(claims, settings, nonce, now_ms)
    return claims

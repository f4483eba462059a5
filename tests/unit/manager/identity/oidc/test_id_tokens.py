"""ID tokens: signatures, and which claims are of this login."""

import asyncio
import base64
import hmac
from typing import Any

import pytest
from joserfc.jwk import OctKey

from kafka_py.manager.identity.oidc.id_tokens import check_id_claims, checked_id_token
from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.security.sasl.oauth.key_sets import KeyRefresh, ProviderKeys
from kafka_py.security.sasl.oauth_tokens import TokenRefused
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.peers.token_provider import public, rsa_key, signed

ISSUER, NONCE, NOW_S = "https://login.example", "n-1", 1_600_000_000
SETTINGS = OidcSettings(ISSUER, "manager", public_url="https://kafka.example", clock_skew_seconds=30)
GOOD = {"iss": ISSUER, "aud": "manager", "sub": "1", "iat": NOW_S - 5, "exp": NOW_S + 60, "nonce": NONCE}


def with_changes(changed: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**GOOD, **changed}.items() if value is not None}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"aud": ["manager"]},
        {"aud": ["manager", "other"], "azp": "manager"},
        {"azp": "manager"},
        {"iat": NOW_S - 60, "exp": NOW_S - 29},
        {"iat": NOW_S + 29},
        {"nbf": NOW_S + 29},
    ],
)
def test_a_token_of_this_login_is_accepted(changed: dict[str, Any]) -> None:
    check_id_claims(with_changes(changed), SETTINGS, NONCE, NOW_S * 1000)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"iss": f"{ISSUER}/"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"aud": "other"}, "another audience"),
        ({"aud": None}, "another audience"),
        ({"aud": {"manager": 1}}, "neither a text nor a list"),
        ({"aud": ["manager", "other"]}, "another client"),
        ({"azp": "other"}, "another client"),
        ({"exp": NOW_S - 30}, "has ended"),
        ({"exp": None}, "no end"),
        ({"exp": "never"}, "not a time"),
        ({"exp": True}, "not a time"),
        ({"iat": None}, "when it was issued"),
        ({"iat": NOW_S + 31}, "not valid yet"),
        ({"nbf": NOW_S + 31}, "not valid yet"),
        ({"nonce": None}, "another login"),
        ({"nonce": "n-2"}, "another login"),
        ({"nonce": [NONCE]}, "another login"),
        ({"sub": None}, "names no principal"),
        ({"sub": ""}, "names no principal"),
    ],
)
def test_a_token_that_is_not_of_this_login_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(TokenRefused, match=why):
        check_id_claims(with_changes(changed), SETTINGS, NONCE, NOW_S * 1000)


KEY = rsa_key("k")


class Shown:
    """A place that shows the public half of one key."""

    def read(self) -> bytes:
        return public(KEY)

    def stamp(self) -> object:
        return None


def claims_of(token: str) -> dict[str, Any]:
    async def check() -> dict[str, Any]:
        keys = ProviderKeys("test", Shown(), KeyRefresh(least_ms=1), ManualClock())
        return await checked_id_token(token, keys, SETTINGS, nonce=NONCE, now_ms=NOW_S * 1000)

    return asyncio.run(check())


def test_a_good_signature_gives_the_claims() -> None:
    assert claims_of(signed(GOOD, KEY, "RS256")) == GOOD


def hashed_with(published: bytes, body: str) -> str:
    """A token whose secret is the text of the public key, which everybody knows; joserfc makes none of these."""
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"k"}').decode().rstrip("=")
    digest = hmac.digest(published, f"{head}.{body}".encode(), "sha256")
    return f"{head}.{body}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def test_no_signature_and_signatures_by_a_public_secret_are_refused() -> None:
    by_client_secret = OctKey.import_key(b"the secret of the client, 32 bytes", {"kid": "k"})
    head, _, rest = signed(GOOD, KEY, "RS256").partition(".")
    unsigned = f"eyJhbGciOiJub25lIiwia2lkIjoiayJ9.{rest.partition('.')[0]}."  # {"alg":"none","kid":"k"}
    others = [signed(GOOD, by_client_secret, "HS256"), hashed_with(KEY.as_pem(private=False), rest.partition(".")[0])]
    forged = signed(GOOD, rsa_key("k"), "RS256")
    for token in (*others, unsigned, forged, f"{head}.{rest.partition('.')[0]}.", "", "a.b", "a.b.c", "x" * 100_000):
        with pytest.raises(TokenRefused):
            claims_of(token)

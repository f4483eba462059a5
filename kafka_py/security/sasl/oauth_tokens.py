"""Bearer tokens: what a broker learns from one, and the unsigned tokens of development.

An unsigned token (a JSON Web Signature with algorithm `none`) protects nothing: whoever can make one may be anybody.
It is what both sides use unless a user's own classes make and check tokens.
Source: KIP-255; RFC 7515, section 3; RFC 7628.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.mechanisms import ExchangeBroken

_LOGIN = "unsecuredLogin"
_VALIDATOR = "unsecuredValidator"
_EXTENSION = _LOGIN + "Extension_"
_EXTENSION_OF_SIGNED = "extension_"
_OWN_CLAIMS = ("iat", "exp")


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token with what it says. value: the secret. lifetime_ms: when it ends, wall clock."""

    value: str = field(repr=False)
    principal: str
    lifetime_ms: float
    start_ms: float | None = None
    scope: tuple[str, ...] = ()


class TokenRefused(Exception):
    """A broker does not accept the token. status and scope as in RFC 7628; scope: what would be needed, or None."""

    def __init__(self, status: str, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope


def invalid_token(reason: str) -> TokenRefused:
    """reason: stays in the broker."""
    return TokenRefused("invalid_token", reason)


# ---- checking


def validate_unsecured(token: str, options: Mapping[str, str], now_ms: float) -> BearerToken:
    """The checked content of an unsigned token. options: of the broker's login entry.

    Raises TokenRefused; ExchangeBroken for a header without algorithm.
    """
    claims = _claims_of(token)
    skew_s = _skew_ms(options) / 1000
    now_s = now_ms / 1000
    ends_s = time_in(claims, "exp")
    if ends_s is None or now_s - skew_s >= ends_s:
        raise invalid_token("the token has no end, or has ended")
    begins_s = time_in(claims, "iat")
    if begins_s is not None and (begins_s > now_s + skew_s or begins_s >= ends_s):
        raise invalid_token("the token is not valid yet, or ends before it begins")
    principal = claims.get(options.get(_VALIDATOR + "PrincipalClaimName") or "sub")
    if not isinstance(principal, str) or not principal.strip():
        raise invalid_token("the token names no principal")
    scope = _scope_in(claims, options.get(_VALIDATOR + "ScopeClaimName") or "scope")
    required = options.get(_VALIDATOR + "RequiredScope", "").split()
    if not set(required) <= set(scope):
        raise TokenRefused("insufficient_scope", "the token lacks a scope", f"[{', '.join(required)}]")
    return BearerToken(token, principal, ends_s * 1000, None if begins_s is None else begins_s * 1000, scope)


def _claims_of(token: str) -> dict[str, Any]:
    parts = token.split(".")
    if len(parts) != 3 or not all(parts[:2]) or parts[2]:
        raise invalid_token("the token has not the form header.claims. of an unsigned one")
    header, claims = (_json_object(part) for part in parts[:2])
    algorithm = header.get("alg")
    if algorithm is None:
        raise ExchangeBroken("the header of a token has no algorithm")
    if not isinstance(algorithm, str) or algorithm.lower() != "none":
        raise invalid_token("the token is signed")
    return claims


def _json_object(part: str) -> dict[str, Any]:
    """A part of a token. As in Apache Kafka 2.8.2 the alphabet is that of plain base64, without `-` and `_`."""
    try:
        value = json.loads(base64.b64decode(part + "=" * (-len(part) % 4), validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise invalid_token("a part of the token is not JSON in base64") from None
    if not isinstance(value, dict):
        raise invalid_token("a part of the token is not a JSON object")
    return value


def time_in(claims: Mapping[str, Any], name: str) -> float | None:
    """A claim in seconds since the epoch; None without it. Raises TokenRefused."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) > 1e15:
        raise invalid_token(f"the claim {name} is not a time")
    return float(value)


def _scope_in(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The elements of a list; a text is one element, blanks or not."""
    value = claims.get(name)
    elements = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(each.strip() for each in elements if isinstance(each, str) and each.strip())


def list_in(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The elements of a list, or the words of a text (RFC 6749, section 3.3)."""
    value = claims.get(name)
    return tuple(value.split()) if isinstance(value, str) else _scope_in(claims, name)


def _skew_ms(options: Mapping[str, str]) -> int:
    text = options.get(_VALIDATOR + "AllowableClockSkewMs", "").strip() or "0"
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"{_VALIDATOR}AllowableClockSkewMs of a login entry must be a number of milliseconds")
    return int(text)


def check_validator_options(options: Mapping[str, str]) -> None:
    """Raises ConfigError, at the start of a broker."""
    _skew_ms(options)


# ---- making


def unsecured_login(options: Mapping[str, str], now_ms: float) -> BearerToken | None:
    """The unsigned token that a client's login entry asks for; None without options. Raises ConfigError."""
    claims = _given_claims(options)
    asked = [name for name in options if name.startswith(_LOGIN) and not name.startswith(_EXTENSION)]
    if not asked:
        if extensions_in(options):
            raise ConfigError("A login entry with SASL extensions and without a token cannot be used")
        return None
    principal_claim = options.get(_LOGIN + "PrincipalClaimName") or "sub"
    principal = claims.get(principal_claim)
    if not isinstance(principal, str) or not principal.strip():
        raise ConfigError(f"The login entry gives no principal: {_LOGIN}StringClaim_{principal_claim} is missing")
    lifetime_s = _number(_LOGIN + "LifetimeSeconds", options.get(_LOGIN + "LifetimeSeconds") or "3600")
    start_s = now_ms / 1000
    body = {"exp": start_s + lifetime_s, "iat": start_s, **claims}
    scope = _scope_in(body, options.get(_LOGIN + "ScopeClaimName") or "scope")
    value = f"{_encoded({'alg': 'none'})}.{_encoded(body)}."
    return BearerToken(value, principal, (start_s + lifetime_s) * 1000, now_ms, scope)


def extensions_in(options: Mapping[str, str]) -> dict[str, str]:
    """The SASL extensions (KIP-342) of a login entry, for unsigned tokens."""
    return _after(_EXTENSION, options)


def extensions_of_signed_in(options: Mapping[str, str]) -> dict[str, str]:
    """The same for tokens of a provider (KIP-768)."""
    return _after(_EXTENSION_OF_SIGNED, options)


def _after(prefix: str, options: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)}


def _given_claims(options: Mapping[str, str]) -> dict[str, Any]:
    claims: dict[str, Any] = {}
    for kind in ("String", "Number", "List"):
        prefix = f"{_LOGIN}{kind}Claim_"
        for name, text in options.items():
            if not name.startswith(prefix):
                continue
            claim = name.removeprefix(prefix)
            if claim in _OWN_CLAIMS:
                raise ConfigError(f"{name}: a login entry cannot give the claim {claim}")
            claims[claim] = text if kind == "String" else _number(name, text) if kind == "Number" else _list(text)
    return claims


def _list(text: str) -> list[str]:
    """`|a|b` -> [a, b]: the first character separates."""
    return text[1:].split(text[0]) if len(text) > 1 else []


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{name} of a login entry must be a number") from None


def _encoded(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

"""A provider's public keys, and what a token that it has signed says. The package joserfc verifies the signatures.

Only signatures that need a private key count: with `none` or a shared secret (HS256 and the like) whoever knows the
public key could write tokens. Source: RFC 7515, RFC 7517, RFC 7518, RFC 7519; KIP-768.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import import_key

from kafka_py.security.sasl.oauth_tokens import BearerToken, invalid_token, list_in, time_in

_OF_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_OF_CURVE = {
    "P-256": frozenset({"ES256"}), "P-384": frozenset({"ES384"}), "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA", "Ed25519"}), "Ed448": frozenset({"EdDSA", "Ed448"}),
}  # fmt: skip
LEAST_RSA_BITS = 2048
_MOST_KEYS = 256
_MOST_OF_ONE_ID = 8


class _TokenBounds(jws.JWSRegistry):  # type: ignore[misc]  # the package is optional, so it has no types here
    max_header_length = 8_192
    max_payload_length = 65_536
    max_signature_length = 4_096


_ACCEPTED = _OF_RSA.union(*_OF_CURVE.values())
_BOUNDS = _TokenBounds(algorithms=_ACCEPTED, strict_check_header=False)


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key and the algorithms that it may be used with."""

    key_id: str | None
    algorithms: frozenset[str]
    key: Any = field(repr=False)


class KeySet(NamedTuple):
    """The keys of a provider. left_out: why others of its keys are not used, a line for each."""

    keys: tuple[TrustedKey, ...]
    left_out: tuple[str, ...] = ()

    def has(self, key_id: str | None) -> bool:
        return any(each.key_id == key_id for each in self.keys)

    def candidates(self, key_id: str | None, algorithm: str) -> Sequence[TrustedKey]:
        """The keys that may have signed a token. Without an id there must be one only that fits."""
        fitting = [each for each in self.keys if algorithm in each.algorithms]
        if key_id is not None:
            return [each for each in fitting if each.key_id == key_id][:_MOST_OF_ONE_ID]
        return fitting if len(fitting) == 1 else ()


def parse_keys(document: bytes) -> KeySet:
    """Keys from a JSON document. Raises ValueError, also when none of them can be used."""
    try:
        listed = json.loads(document)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("it is no JSON object with a list of keys") from None
    if not isinstance(listed, list) or len(listed) > _MOST_KEYS:
        raise ValueError(f"its keys are no list of at most {_MOST_KEYS}")
    keys, left_out = [], []
    for number, each in enumerate(listed):
        try:
            keys.append(_trusted(each))
        except (ValueError, TypeError) as error:
            left_out.append(f"key {number}: {error}")
    if not keys:
        raise ValueError("; ".join(["it has no key that can be used", *left_out[:5]]))
    return KeySet(tuple(keys), tuple(left_out))


def _trusted(found: Any) -> TrustedKey:
    """Raises ValueError."""
    if not isinstance(found, dict) or found.get("kty") not in ("RSA", "EC", "OKP"):
        raise ValueError("it is no public key")
    if found.get("use", "sig") != "sig" or "verify" not in found.get("key_ops", ("verify",)):
        raise ValueError("it is not for signatures")
    is_rsa, curve = found["kty"] == "RSA", str(found.get("crv"))
    algorithms = _OF_RSA if is_rsa else _OF_CURVE.get(curve, frozenset())
    if "alg" in found:
        algorithms &= {"EdDSA", curve} if found["alg"] in ("EdDSA", curve) else {found["alg"]}
    if not algorithms:
        raise ValueError("it has another algorithm")
    key_id = found.get("kid")
    public = {name: found[name] for name in ("kty", "n", "e", "crv", "x", "y") if name in found}
    try:
        key: Any = import_key(public)
        bits = key.raw_value.key_size if is_rsa else LEAST_RSA_BITS
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
    if bits < LEAST_RSA_BITS:
        raise ValueError(f"it has {bits} bits, fewer than {LEAST_RSA_BITS}")
    return TrustedKey(key_id if isinstance(key_id, str) else None, algorithms, key)


@dataclass(frozen=True, slots=True)
class ExpectedClaims:
    """What a listener asks of a token. audience: one of these; none: the token may name no audience."""

    audience: tuple[str, ...] = ()
    issuer: str | None = None
    principal_claim: str = "sub"
    scope_claim: str = "scope"
    skew_ms: int = 30_000


class SignedToken:
    """A token that has been read, and whose signature has not been verified. Raises TokenRefused."""

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self._parts = jws.extract_compact(text.encode(), registry=_BOUNDS)
            header = self._parts.headers()
        except (JoseError, ValueError, RecursionError):
            raise invalid_token("it is no signed token") from None
        algorithm, self.key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in _ACCEPTED:
            raise invalid_token(f"its algorithm {str(algorithm)[:20]!r} is not accepted")
        self.algorithm = algorithm
        if not isinstance(self.key_id, str | None):
            raise invalid_token("the id of its key is no text")

    def checked(self, keys: KeySet, expected: ExpectedClaims, now_ms: float) -> BearerToken:
        """What it says. Raises TokenRefused."""
        return accepted(self._text, self.claims(keys), expected, now_ms)

    def claims(self, keys: KeySet) -> dict[str, Any]:
        """All that it says, if a key of the provider has signed it; times are not checked. Raises TokenRefused."""
        if not any(self._is_signed_by(each) for each in keys.candidates(self.key_id, self.algorithm)):
            raise invalid_token("no key of the provider has signed it")
        try:
            claims = json.loads(self._parts.payload or b"")
        except (ValueError, RecursionError):
            claims = None
        if not isinstance(claims, dict):
            raise invalid_token("its content is no JSON object")
        return claims

    def _is_signed_by(self, trusted: TrustedKey) -> bool:
        try:
            return bool(jws.validate_compact(self._parts, trusted.key, registry=_BOUNDS))
        except (JoseError, ValueError, TypeError):
            return False


def accepted(text: str, claims: Mapping[str, Any], expected: ExpectedClaims, now_ms: float) -> BearerToken:
    """The checked content of a token whose signature is good. Raises TokenRefused."""
    ends_s, begins_s, issued_s = (time_in(claims, name) for name in ("exp", "nbf", "iat"))
    if ends_s is None or now_ms - expected.skew_ms >= ends_s * 1000:
        raise invalid_token("it has no end, or has ended")
    if issued_s is None:
        raise invalid_token("it does not say when it was issued")
    for first_s in (issued_s, begins_s):
        if first_s is not None and (first_s * 1000 > now_ms + expected.skew_ms or first_s > ends_s):
            raise invalid_token("it is not valid yet, or ends before it begins")
    if expected.issuer is not None and claims.get("iss") != expected.issuer:
        raise invalid_token("it has another issuer")
    audience = claims.get("aud")
    named = [audience] if isinstance(audience, str) else audience if isinstance(audience, list) else []
    if audience is not None and not named:
        raise invalid_token("its audience is neither a text nor a list")
    if (expected.audience or named) and not any(each in named for each in expected.audience):
        raise invalid_token("it is for another audience")
    principal = claims.get(expected.principal_claim)
    if not isinstance(principal, str) or not principal.strip():
        raise invalid_token(f"its claim {expected.principal_claim} names no principal")
    return BearerToken(text, principal, ends_s * 1000, issued_s * 1000, list_in(claims, expected.scope_claim))

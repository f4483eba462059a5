"""Which tokens a broker accepts: real signatures, each claim right and wrong."""

import base64
import hmac
import json
from typing import Any

import pytest
from joserfc.jwk import OctKey

from kafka_py.security.sasl.oauth.signed_tokens import ExpectedClaims, SignedToken, parse_keys
from kafka_py.security.sasl.oauth_tokens import BearerToken, TokenRefused
from kafka_py.testing.peers import token_provider
from kafka_py.testing.peers.token_provider import ISSUER, public, signed

NOW_S = 1_800_000_000
RSA, OTHER_RSA, EC, ED = (
    token_provider.rsa_key("rsa"), token_provider.rsa_key("other"), token_provider.ec_key("ec"),
    token_provider.ed_key("ed"),
)  # fmt: skip
SECRET = OctKey.generate_key(256, {"kid": "secret"})
EXPECTED = ExpectedClaims(audience=("kafka", "other"), issuer=ISSUER)
KEYS = parse_keys(public(RSA, EC, ED))


def claims(**changed: Any) -> dict[str, Any]:
    return token_provider.claims(NOW_S, **changed)


def part(content: Any) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def token(content: Any = None, key: Any = RSA, algorithm: str = "RS256", **header: Any) -> str:
    return signed(claims() if content is None else content, key, algorithm, **header)


def checked(text: str, expected: ExpectedClaims = EXPECTED, keys: Any = KEYS) -> BearerToken:
    return SignedToken(text).checked(keys, expected, NOW_S * 1000)


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(RSA, "RS256"), (RSA, "RS512"), (RSA, "PS256"), (EC, "ES256"), (ED, "EdDSA"), (ED, "Ed25519")],
)
def test_what_the_provider_signed_is_accepted(key: Any, algorithm: str) -> None:
    found = checked(token(claims(scope="read write"), key, algorithm))
    assert (found.principal, found.lifetime_ms, found.start_ms) == ("alice", (NOW_S + 600) * 1000, (NOW_S - 5) * 1000)
    assert found.scope == ("read", "write")


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": None}, {"exp": NOW_S - 30, "iat": NOW_S - 99}, {"exp": "soon"}, {"exp": True},
        {"iat": None}, {"iat": NOW_S + 31},
        {"iat": NOW_S + 601}, {"nbf": NOW_S + 31}, {"nbf": "x"}, {"iss": None}, {"iss": f"{ISSUER}/"}, {"aud": None},
        {"aud": "kafka2"}, {"aud": []}, {"aud": ["x", "y"]}, {"aud": 5}, {"sub": None}, {"sub": " "}, {"sub": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_claim_that_is_missing_or_wrong_refuses_the_token(changed: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused) as refused:
        checked(token(claims(**changed)))
    assert refused.value.status == "invalid_token"


@pytest.mark.parametrize(
    "changed",
    [{"exp": NOW_S - 29, "iat": NOW_S - 99}, {"iat": NOW_S + 29}, {"nbf": NOW_S + 29}, {"aud": ["x", "other"]}],
    ids=str,
)
def test_what_is_within_the_bounds_is_accepted(changed: dict[str, Any]) -> None:
    assert checked(token(claims(**changed))).principal == "alice"


def test_without_an_expected_audience_a_token_for_another_service_is_refused() -> None:
    for audience in ("kafka", ["kafka"], [], 5, {}):
        with pytest.raises(TokenRefused, match="audience"):
            checked(token(claims(aud=audience)), ExpectedClaims())
    assert checked(token(claims(aud=None, iss="anyone")), ExpectedClaims()).principal == "alice"


def test_the_claims_of_principal_and_scope_have_the_names_that_are_set() -> None:
    expected = ExpectedClaims(("kafka",), None, "client", "scp")
    found = checked(token(claims(sub=None, client="job", scp=["a", "b"])), expected)
    assert (found.principal, found.scope) == ("job", ("a", "b"))


# ---- forgeries


def test_a_token_without_signature_or_by_a_shared_secret_is_refused() -> None:
    body = f"{part({'alg': 'HS256', 'kid': 'rsa'})}.{part(claims())}"
    by_public_key = f"{body}.{part(hmac.digest(RSA.as_pem(private=False), body.encode(), 'sha256'))}"
    unsigned = [f"{part({'alg': name, 'kid': 'rsa'})}.{part(claims())}." for name in ("none", "None", "", "HS256")]
    for forged in (*unsigned, by_public_key, token(key=SECRET, algorithm="HS512")):
        with pytest.raises(TokenRefused, match="algorithm"):
            checked(forged)


@pytest.mark.parametrize(
    "forged",
    [
        token(key=OTHER_RSA), token(key=OTHER_RSA, kid="rsa"), token(key=EC, algorithm="ES256", kid="rsa"),
        token(key=EC, algorithm="ES256", kid="ed"), token()[:-4] + "AAAA", token()[: token().rindex(".") + 1],
    ],
)  # fmt: skip
def test_what_another_key_signed_is_refused(forged: str) -> None:
    with pytest.raises(TokenRefused, match="no key of the provider"):
        checked(forged)


def test_changed_claims_are_refused() -> None:
    header, _, signature = token().split(".")
    body = part(claims(sub="admin"))
    with pytest.raises(TokenRefused, match="no key of the provider"):
        checked(f"{header}.{body}.{signature}")


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "a.b.c", "a.b", "a.b.c.d", "e30.e30.e30", token(kid=5), token(crit=["x"], x=1), token(b"[]"),
     token(b"x"), token(b"[" * 5_000), token(pad="x" * 9_000), token(claims(pad="x" * 70_000)), "é.b.c",
     f"{part(b'[' * 5_000)}.{part(b'{}')}.AAAA"],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_malformed_tokens_are_refused_and_nothing_else_is_raised(text: str) -> None:
    with pytest.raises(TokenRefused):
        checked(text)


# ---- keys


def test_a_token_without_key_id_needs_one_key_only_that_fits() -> None:
    assert checked(token(kid=None), keys=parse_keys(public(RSA, EC))).principal == "alice"
    with pytest.raises(TokenRefused):
        checked(token(kid=None), keys=parse_keys(public(RSA, OTHER_RSA)))


def test_a_key_is_used_with_its_own_algorithm_only() -> None:
    keys = parse_keys(public(RSA, alg="RS512"))
    assert checked(token(algorithm="RS512"), keys=keys).principal == "alice"
    with pytest.raises(TokenRefused):
        checked(token(algorithm="RS256"), keys=keys)


def test_keys_that_cannot_verify_are_left_out_with_the_reason() -> None:
    short = token_provider.rsa_key("short", bits=1024)
    document = json.loads(public(RSA, short))
    document["keys"] += [
        {**RSA.as_dict(private=False), "use": "enc"}, {**RSA.as_dict(private=False), "key_ops": ["wrapKey"]},
        SECRET.as_dict(private=True), {"kty": "RSA", "n": "?"}, 5, {**EC.as_dict(private=False), "alg": ["ES256"]},
        {**RSA.as_dict(private=False), "key_ops": 5}, {**EC.as_dict(private=False), "crv": "P-521"},
    ]  # fmt: skip
    keys = parse_keys(json.dumps(document).encode())
    assert [each.key_id for each in keys.keys] == ["rsa"]
    assert len(keys.left_out) == 9
    assert "1024 bits" in keys.left_out[0]


@pytest.mark.parametrize(
    "document", [b"", b"{}", b"[]", b'{"keys": 5}', b'{"keys": []}', b'{"keys": [{}]}', b"[" * 9999]
)
def test_a_document_without_usable_keys_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match="key"):
        parse_keys(document)


def test_no_repr_has_a_token_or_key() -> None:
    assert token() not in repr(checked(token()))
    assert RSA.as_dict(private=False)["n"] not in repr(KEYS)

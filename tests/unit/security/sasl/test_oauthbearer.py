import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.security.sasl.mechanisms import AuthenticationRefused, Challenge, InvalidCredentials, Success, Work
from kafka_py.security.sasl.oauth_tokens import BearerToken, TokenRefused, validate_unsecured
from kafka_py.security.sasl.oauthbearer import (
    MOST_BYTES,
    TOKEN_PROPERTY,
    OAuthBearerClient,
    OAuthBearerServer,
    parse_first,
)

TOKEN = BearerToken("abc", "alice", 5000.0)


def accepting(token: str) -> BearerToken:
    assert token == "abc"
    return TOKEN


def server(**more: Any) -> OAuthBearerServer:
    return OAuthBearerServer(accepting, is_quick=True, **more)


def test_an_accepted_token_gives_principal_end_and_extensions() -> None:
    client = OAuthBearerClient("abc", {"traceId": "1"})
    made = server().step(client.first())
    assert isinstance(made, Success)
    assert (made.identity.name, made.identity.expires_ms, made.token) == ("alice", 5000.0, b"")
    assert made.identity.properties == {TOKEN_PROPERTY: TOKEN, "traceId": "1"}
    assert client.step(b"") is None


@pytest.mark.parametrize(
    ("refused", "json"),
    [
        (TokenRefused("invalid_token", "expired"), '{"status":"invalid_token"}'),
        (TokenRefused("insufficient_scope", "x", "[a, b]"), '{"status":"insufficient_scope", "scope":"[a, b]"}'),
    ],
)
def test_a_refused_token_is_answered_with_the_reason_and_then_fails(refused: TokenRefused, json: str) -> None:
    def check(token: str) -> BearerToken:
        raise refused

    one, client = OAuthBearerServer(check, is_quick=True), OAuthBearerClient("abc", {})
    made = one.step(client.first())
    assert made == Challenge(json.encode())
    assert client.step(json.encode()) == b"\x01"
    with pytest.raises(AuthenticationRefused) as failed:
        one.step(b"\x01")
    assert str(failed.value) == json
    with pytest.raises(InvalidCredentials):
        one.step(b"more")


def test_refused_extensions_are_listed() -> None:
    def check(token: BearerToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        return dict.fromkeys(extensions, "not known")

    with pytest.raises(AuthenticationRefused) as failed:
        server(check_extensions=check).step(OAuthBearerClient("abc", {"a": "1", "b": "2"}).first())
    text = "Authentication failed: 2 extensions are invalid! They are: a: not known; b: not known"
    assert str(failed.value) == text


def test_another_authorization_id_is_refused() -> None:
    with pytest.raises(AuthenticationRefused, match="authorization id \\(bob\\)"):
        server().step(b"n,a=bob,\x01auth=Bearer abc\x01\x01")


def test_a_check_that_may_block_is_left_to_the_caller() -> None:
    def check(token: str) -> BearerToken:
        raise TokenRefused("invalid_token", "x")

    made = OAuthBearerServer(check).step(OAuthBearerClient("abc", {}).first())
    assert isinstance(made, Work)
    assert made.then(made.call()) == Challenge(b'{"status":"invalid_token"}')


@pytest.mark.parametrize(("token", "extensions"), [("a b", {}), ("abc", {"auth": "x"}), ("abc", {"a1": "x"})])
def test_a_client_does_not_send_what_the_message_cannot_carry(token: str, extensions: Mapping[str, str]) -> None:
    with pytest.raises(KafkaError):
        OAuthBearerClient(token, extensions).first()


def test_the_token_is_in_no_repr() -> None:
    assert "abc" not in repr(TOKEN)


def test_the_check_of_the_security_page() -> None:
    page = (Path(__file__).parents[4] / "docs" / "security.md").read_text()
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "BearerToken" in each]
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["check"]("good").principal == "alice"
    with pytest.raises(TokenRefused):
        names["check"]("bad")


@pytest.mark.parametrize(
    ("shape", "most"),
    [
        ("n,,\x01auth=Bearer %s\x01\x01", MOST_BYTES - len("n,,\x01auth=Bearer \x01\x01")),
        ("n,a=%s,\x01auth=Bearer abc\x01\x01", 4096),
    ],
)
def test_what_a_first_message_may_have_is_bounded(shape: str, most: int) -> None:
    """Whoever has not logged in yet can send it, and the event loop waits while it is parsed."""
    parse_first((shape % ("a" * most)).encode())
    with pytest.raises(InvalidCredentials):
        parse_first((shape % ("a" * (most + 1))).encode())


def test_a_first_message_has_at_most_256_extensions_with_the_token() -> None:
    message = b"n,,\x01auth=Bearer abc\x01" + b"a=b\x01" * 255
    assert parse_first(message + b"\x01").extensions == {"a": "b"}
    with pytest.raises(InvalidCredentials):
        parse_first(message + b"a=b\x01\x01")


@pytest.mark.parametrize(
    ("claims", "is_accepted"),
    [
        ({}, True),
        ({"iat": 99}, True),
        ({"iat": 100}, False),  # it ends when it begins
        ({"exp": True}, False),
        ({"iat": False}, False),
        ({"sub": " "}, False),
        ({"sub": 5}, False),
    ],
)
def test_the_claims_of_an_unsigned_token(claims: dict[str, object], is_accepted: bool) -> None:
    parts = (base64.b64encode(json.dumps(each).encode()).decode() for each in (
        {"alg": "none"}, {"sub": "alice", "exp": 100, **claims},
    ))  # fmt: skip
    # a skew beyond the times of the token: what has to fail fails for another reason than the present time
    options = {"unsecuredValidatorAllowableClockSkewMs": "1000000"}
    token = f"{'.'.join(parts)}."
    if is_accepted:
        assert validate_unsecured(token, options, 50_000.0).principal == "alice"
    else:
        with pytest.raises(TokenRefused):
            validate_unsecured(token, options, 50_000.0)

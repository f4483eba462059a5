"""Messages of the flow as values: metadata, URLs, forms, answers."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from kafka_py.manager.identity.oidc.flow_messages import (
    CallbackAnswer,
    CodeRefused,
    ProviderFault,
    ProviderMetadata,
    authorization_url,
    challenge_of,
    end_session_url,
    is_of_issuer,
    metadata_of,
    token_request,
    tokens_of,
)
from kafka_py.manager.identity.oidc.settings import OidcSettings

ISSUER = "https://login.example"
SETTINGS = OidcSettings(ISSUER, "manager", public_url="https://kafka.example")
DOCUMENT = {
    "issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/auth?tenant=1", "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}  # fmt: skip


def read(**changed: Any) -> ProviderMetadata:
    document = {name: value for name, value in {**DOCUMENT, **changed}.items() if value is not None}
    return metadata_of(json.dumps(document).encode(), ISSUER)


def test_metadata_are_read() -> None:
    assert read() == (f"{ISSUER}/auth?tenant=1", f"{ISSUER}/token", f"{ISSUER}/keys", "", "", False, False)
    more = read(
        userinfo_endpoint=f"{ISSUER}/me", end_session_endpoint=f"{ISSUER}/end",
        authorization_response_iss_parameter_supported=True,
        token_endpoint_auth_methods_supported=["client_secret_post"],
    )  # fmt: skip
    assert more[3:] == (f"{ISSUER}/me", f"{ISSUER}/end", True, True)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"issuer": f"{ISSUER}/"}, "those of the issuer 'https://login.example/'"),
        ({"issuer": None}, "those of the issuer 'None'"),
        ({"jwks_uri": None}, "have no jwks_uri"),
        ({"token_endpoint": "http://login.example/token"}, "token_endpoint is not protected"),
        ({"token_endpoint": "javascript:alert(1)"}, "have no token_endpoint"),
        ({"end_session_endpoint": "javascript://x/%0aalert(1)"}, "end_session_endpoint is not protected"),
        ({"authorization_endpoint": 1}, "have no authorization_endpoint"),
        ({"authorization_endpoint": "https://["}, "have no authorization_endpoint"),
    ],
)
def test_metadata_that_cannot_be_used_are_named(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(ProviderFault, match=why):
        read(**changed)


@pytest.mark.parametrize("document", [b"", b"[]", b"<html>", b"[" * 100_000])
def test_metadata_that_are_no_object_are_refused(document: bytes) -> None:
    with pytest.raises(ProviderFault, match="no JSON object"):
        metadata_of(document, ISSUER)


def test_the_challenge_is_that_of_the_example() -> None:
    """RFC 7636, appendix B."""
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_the_browser_is_sent_with_state_nonce_and_challenge() -> None:
    url = authorization_url(read(), SETTINGS, state="s", nonce="n", verifier="v")
    assert url.startswith(f"{ISSUER}/auth?tenant=1&")
    assert dict(parse_qsl(urlsplit(url).query)) == {
        "tenant": "1", "response_type": "code", "client_id": "manager", "scope": "openid profile email",
        "redirect_uri": "https://kafka.example/login/oidc/callback", "state": "s", "nonce": "n",
        "code_challenge": challenge_of("v"), "code_challenge_method": "S256",
    }  # fmt: skip


def test_the_client_authenticates_itself_as_the_provider_likes() -> None:
    secret = OidcSettings(ISSUER, "manager", "a b:c", public_url="https://kafka.example")
    by_header = token_request(read(), secret, code="c", verifier="v")
    assert by_header.headers == {"Authorization": "Basic bWFuYWdlcjphK2IlM0Fj"}  # manager:a+b%3Ac
    assert "client_secret" not in by_header.fields
    posting = read(token_endpoint_auth_methods_supported=["client_secret_post", "private_key_jwt"])
    by_form = token_request(posting, secret, code="c", verifier="v")
    assert (by_form.headers, by_form.fields["client_id"], by_form.fields["client_secret"]) == ({}, "manager", "a b:c")
    public = token_request(read(), SETTINGS, code="c", verifier="v")
    assert public.headers == {}
    assert public.fields == {
        "grant_type": "authorization_code", "code": "c", "code_verifier": "v", "client_id": "manager",
        "redirect_uri": "https://kafka.example/login/oidc/callback",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("issuer", "names_itself", "is_good"),
    [(ISSUER, True, True), (ISSUER, False, True), ("", False, True), ("", True, False), ("https://evil", False, False)],
)
def test_an_answer_of_another_provider_is_known(issuer: str, names_itself: bool, is_good: bool) -> None:
    metadata = read(authorization_response_iss_parameter_supported=names_itself)
    assert is_of_issuer(CallbackAnswer("s", "c", issuer), metadata, ISSUER) is is_good


def test_tokens_are_read() -> None:
    good = {"id_token": "i", "access_token": "a", "token_type": "bearer"}
    assert tokens_of(200, json.dumps(good).encode()) == ("i", "a")
    assert tokens_of(200, json.dumps({**good, "token_type": "mac"}).encode()) == ("i", "")
    assert tokens_of(200, b'{"id_token": "i"}') == ("i", "")


def test_a_code_that_is_not_accepted_is_no_fault_of_the_provider() -> None:
    with pytest.raises(CodeRefused):
        tokens_of(400, b'{"error": "invalid_grant"}')
    for status, document, why in (
        (401, b'{"error": "invalid_client"}', "answers 401 \\(invalid_client\\)"), (500, b"<html>", "answers 500$"),
        (400, b'{"error": "a\\nb"}', "answers 400$"), (302, b"", "answers 302$"), (200, b"{}", "no ID token"),
        (200, json.dumps({"id_token": "i" * 70_000}).encode(), "no ID token"), (200, b"[1]", "no JSON object"),
    ):  # fmt: skip
        with pytest.raises(ProviderFault, match=why):
            tokens_of(status, document)


def test_the_session_with_the_provider_is_ended_where_that_is_offered() -> None:
    assert end_session_url(read(), SETTINGS, "t") == ""
    url = end_session_url(read(end_session_endpoint=f"{ISSUER}/end"), SETTINGS, "t")
    assert dict(parse_qsl(urlsplit(url).query)) == {
        "id_token_hint": "t", "client_id": "manager", "post_logout_redirect_uri": "https://kafka.example/login",
    }  # fmt: skip

"""What is sent and received in the Authorization Code flow, as plain values.

Pure. Source: OpenID Connect Core 1.0, section 3.1; OpenID Connect Discovery 1.0, section 4; OpenID Connect RP-Initiated
Logout 1.0; RFC 6749, sections 2.3 and 4.1; RFC 7636 (PKCE); RFC 9207 (issuer of a response).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode, urlsplit

from kafka_py.manager.identity.oidc.settings import OidcSettings

WELL_KNOWN = "/.well-known/openid-configuration"
LONGEST_TOKEN = 65_536


class ProviderFault(Exception):
    """The provider does not answer, or answers what it must not; the text says which."""


class CodeRefused(Exception):
    """The provider does not take the code: it was used before, is too old or was issued to another client."""


class OidcRefused(Exception):
    """A login that failed. status: of HTTP. detail: for the audit log, where it says more. user: a name, if known."""

    def __init__(self, status: int, text: str, detail: str = "", user: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.detail = detail or text
        self.user = user


class ProviderMetadata(NamedTuple):
    """The provider's endpoints. names_itself: whether its responses name their issuer. posts_secret: it takes secrets
    in forms only."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    names_itself: bool = False
    posts_secret: bool = False


def metadata_of(document: bytes, issuer: str) -> ProviderMetadata:
    """The document of discovery. Raises ProviderFault, also for that of another issuer."""
    found = json_object(document, "its metadata")
    if found.get("issuer") != issuer:
        raise ProviderFault(f"its metadata are those of the issuer {str(found.get('issuer'))[:200]!r}")
    methods = found.get("token_endpoint_auth_methods_supported")
    methods = methods if isinstance(methods, list) else ["client_secret_basic"]
    return ProviderMetadata(
        _endpoint(found, "authorization_endpoint", issuer),
        _endpoint(found, "token_endpoint", issuer),
        _endpoint(found, "jwks_uri", issuer),
        _endpoint(found, "userinfo_endpoint", issuer, ""),
        _endpoint(found, "end_session_endpoint", issuer, ""),
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        posts_secret="client_secret_basic" not in methods and "client_secret_post" in methods,
    )


def _endpoint(found: Mapping[str, Any], name: str, issuer: str, default: str | None = None) -> str:
    """Raises ProviderFault for one that is missing, or is not protected as the issuer is."""
    url = found.get(name, default)
    if url == "" and default is not None:
        return ""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        is_url = bool(parts.hostname) and str(url).isprintable()
    except ValueError:
        is_url = False
    if not is_url:
        raise ProviderFault(f"its metadata have no {name}")
    if parts.scheme != "https" and parts.scheme != urlsplit(issuer).scheme:
        raise ProviderFault(f"its {name} is not protected by https")
    return str(url)


def json_object(document: bytes, what: str) -> dict[str, Any]:
    """Raises ProviderFault."""
    try:
        found = json.loads(document)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProviderFault(f"{what} are no JSON object")
    return found


def challenge_of(verifier: str) -> str:
    """The code challenge of a verifier by S256 (RFC 7636, section 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def authorization_url(
    metadata: ProviderMetadata, settings: OidcSettings, *, state: str, nonce: str, verifier: str
) -> str:
    """Where the browser is sent to log in."""
    return with_query(metadata.authorization_endpoint, {
        "response_type": "code", "client_id": settings.client_id, "redirect_uri": settings.callback_url,
        "scope": " ".join(settings.scopes), "state": state, "nonce": nonce,
        "code_challenge": challenge_of(verifier), "code_challenge_method": "S256",
    })  # fmt: skip


def with_query(url: str, fields: Mapping[str, str]) -> str:
    """The URL with more fields in its query."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(fields)}"


class CallbackAnswer(NamedTuple):
    """What the browser brings back from the provider. error: a code of RFC 6749, section 4.1.2.1."""

    state: str
    code: str
    issuer: str = ""
    error: str = ""
    description: str = ""


def is_of_issuer(answer: CallbackAnswer, metadata: ProviderMetadata, issuer: str) -> bool:
    """Whether the answer can be from this provider (RFC 9207, section 2.4)."""
    return answer.issuer == issuer or (not answer.issuer and not metadata.names_itself)


class TokenRequest(NamedTuple):
    """The form and headers for the token endpoint."""

    fields: Mapping[str, str]
    headers: Mapping[str, str]


def token_request(metadata: ProviderMetadata, settings: OidcSettings, *, code: str, verifier: str) -> TokenRequest:
    """Exchanges a code; the client authenticates itself as the provider likes, a public one by PKCE alone."""
    fields = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": settings.callback_url,
        "code_verifier": verifier,
    }  # fmt: skip
    if settings.client_secret and not metadata.posts_secret:
        pair = f"{quote_plus(settings.client_id)}:{quote_plus(settings.client_secret)}"
        return TokenRequest(fields, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"})
    fields["client_id"] = settings.client_id
    if settings.client_secret:
        fields["client_secret"] = settings.client_secret
    return TokenRequest(fields, {})


class IssuedTokens(NamedTuple):
    """What the token endpoint issued. access_token: "" for none that can be used."""

    id_token: str
    access_token: str = ""


def tokens_of(status: int, document: bytes) -> IssuedTokens:
    """The answer of the token endpoint. Raises CodeRefused, ProviderFault."""
    if status != 200:
        error = _error_in(document)
        if error == "invalid_grant":
            raise CodeRefused
        raise ProviderFault(f"its token endpoint answers {status}{f' ({error})' if error else ''}")
    found = json_object(document, "its tokens")
    token, access = found.get("id_token"), found.get("access_token")
    if not isinstance(token, str) or not 0 < len(token) <= LONGEST_TOKEN:
        raise ProviderFault("it issued no ID token")
    is_bearer = isinstance(access, str) and access.isascii() and str(found.get("token_type")).lower() == "bearer"
    return IssuedTokens(token, str(access) if is_bearer else "")


def _error_in(document: bytes) -> str:
    """The code of an error (RFC 6749, section 5.2); "" without one."""
    try:
        error = json_object(document, "").get("error")
    except ProviderFault:
        return ""
    return error[:100] if isinstance(error, str) and error.isprintable() else ""


def end_session_url(metadata: ProviderMetadata, settings: OidcSettings, id_token: str) -> str:
    """Where the browser ends its session with the provider; "" where that is not offered."""
    if not metadata.end_session_endpoint:
        return ""
    fields = {"client_id": settings.client_id, "post_logout_redirect_uri": f"{settings.public_url}/login"}
    return with_query(metadata.end_session_endpoint, {"id_token_hint": id_token, **fields})

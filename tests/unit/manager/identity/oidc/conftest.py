"""A provider in this process: discovery, codes that are approved by a call, tokens, userinfo."""

import base64
import hashlib
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.peers.token_provider import TokenProvider, public, signed

CLIENT, SECRET = "kafka-manager", "s3cret:/ +"
ENCODED_SECRET = "s3cret%3A%2F+%2B"
PUBLIC_URL = "http://localhost"


class CodeProvider(TokenProvider):
    """id_claims: of the next ID tokens, over those of a good one. more: what userinfo has. key: that signs.

    metadata: over the usual ones; None leaves one out. sizes: path -> bytes that its answer has, blanks at its end
    included. paths: of all requests that were answered. shown_keys: path -> keys that are there instead of `keys`.
    """

    def __init__(self, clock: ManualClock, tls: ssl.SSLContext | None = None) -> None:
        super().__init__({CLIENT: ENCODED_SECRET})
        self.clock = clock
        self.id_claims: dict[str, Any] = {"preferred_username": "ann", "groups": ["kafka-admins"]}
        self.more: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.sizes: dict[str, int] = {}
        self.paths: list[str] = []
        self.shown_keys: dict[str, list[Any]] = {}
        self.algorithm = "RS256"
        self.key: Any = None
        self._codes: dict[str, dict[str, str]] = {}
        self._is_tls = tls is not None
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)

    @property
    def url(self) -> str:
        return super().url.replace("http:", "https:") if self._is_tls else super().url

    def approve(self, url: str) -> dict[str, str]:
        """What somebody who logs in there is sent back with."""
        asked = dict(parse_qsl(urlsplit(url).query))
        code = f"code-{len(self._codes)}-{asked['state'][:6]}"
        self._codes[code] = asked
        return {"state": asked["state"], "code": code, "iss": self.url}

    def settings(self, **changed: Any) -> OidcSettings:
        given = {"client_secret": SECRET, "administrators": ("kafka-admins",), "readers": ("kafka-users",), **changed}
        return OidcSettings(self.url, CLIENT, public_url=PUBLIC_URL, **given)

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        self.paths.append(path)
        status, content = self._usual_answer(path, headers, body)
        return status, content.ljust(self.sizes.get(path, 0))

    def _usual_answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        if path in self.shown_keys:
            return 200, public(*self.shown_keys[path])
        if self.is_down:
            return 503, b"{}"
        if path == "/.well-known/openid-configuration":
            return 200, json.dumps(self._document()).encode()
        if path == "/token":
            return self._exchange(headers.get("authorization", headers.get("Authorization", "")), body)
        if path == "/userinfo":
            return 200, json.dumps({"sub": "1", **self.more}).encode()
        return super().answer(path, headers, body)

    def _document(self) -> dict[str, Any]:
        ends = {
            "authorization_endpoint": "/auth", "token_endpoint": "/token", "jwks_uri": "/keys",
            "userinfo_endpoint": "/userinfo", "end_session_endpoint": "/end",
        }  # fmt: skip
        usual = {"issuer": self.url, **{name: self.url + path for name, path in ends.items()}}
        usual["authorization_response_iss_parameter_supported"] = True  # type: ignore[assignment]
        return {name: value for name, value in {**usual, **self.metadata}.items() if value is not None}

    def _exchange(self, authorization: str, body: bytes) -> tuple[int, bytes]:
        fields = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if self.clients.get(name) != secret:
            return 401, b'{"error":"invalid_client"}'
        asked = self._codes.pop(fields["code"], None)
        digest = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != fields["redirect_uri"]:
            return 400, b'{"error":"invalid_grant"}'
        now_s = self.clock.wall_ms() / 1000
        claims = {
            "iss": self.url, "aud": CLIENT, "sub": "1", "iat": now_s, "exp": now_s + 60, "nonce": asked["nonce"],
            **self.id_claims,
        }  # fmt: skip
        shown = {key: value for key, value in claims.items() if value is not None}
        token = signed(shown, self.key or self.keys[-1], self.algorithm)
        return 200, json.dumps({"id_token": token, "access_token": "a", "token_type": "Bearer"}).encode()


@pytest.fixture
def provider(manager_clock: ManualClock) -> Iterator[CodeProvider]:
    with CodeProvider(manager_clock) as made:
        yield made

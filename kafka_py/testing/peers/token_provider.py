"""A provider of signed tokens (OpenID Connect as far as Kafka uses it): keys, tokens of any content, endpoints.

    with TokenProvider() as provider:
        provider.keys_url, provider.token_url      answered by a server on the loopback address

Needs the package joserfc, and knows nothing of the code that checks tokens.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

ISSUER, AUDIENCE = "https://issuer.example", "kafka"


class _AnyHeader(jws.JWSRegistry):  # type: ignore[misc]  # joserfc is optional, so it has no types here
    """Signs what no provider would."""

    def check_header(self, header: Mapping[str, Any]) -> None:
        pass


_ANY = _AnyHeader(algorithms=list(jws.JWSRegistry.algorithms))


def rsa_key(key_id: str, bits: int = 2048) -> Any:
    return RSAKey.generate_key(bits, {"kid": key_id})


def ec_key(key_id: str, curve: str = "P-256") -> Any:
    return ECKey.generate_key(curve, {"kid": key_id})


def ed_key(key_id: str) -> Any:
    return OKPKey.generate_key("Ed25519", {"kid": key_id})


def public(*keys: Any, **more: Any) -> bytes:
    """The document with the keys' public halves (RFC 7517). more: set in every key."""
    return json.dumps({"keys": [{**key.as_dict(private=False), **more} for key in keys]}).encode()


def claims(now_s: float, **changed: Any) -> dict[str, Any]:
    """Of a good token of ten minutes. changed: None leaves one out."""
    made = {"sub": "alice", "exp": now_s + 600, "iat": now_s - 5, "iss": ISSUER, "aud": AUDIENCE, **changed}
    return {name: value for name, value in made.items() if value is not None}


def signed(content: Mapping[str, Any] | bytes, key: Any, algorithm: str, **header: Any) -> str:
    """A token. header: added to it; None leaves a field out."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    protected = {"alg": algorithm, "kid": key.kid, **header}
    shown = {name: value for name, value in protected.items() if value is not None}
    return str(jws.serialize_compact(shown, body, key, registry=_ANY))


class TokenProvider:
    """keys: those that its endpoint shows; the last one signs. clients: names and secrets.

    key_requests, token_requests: so many were answered. is_down: requests are answered with status 503, as are so many
    of the next ones as `refusals` says. redirects: path -> the URL that a request for it is sent to, with status 307.
    """

    def __init__(self, clients: Mapping[str, str] | None = None, port: int = 0) -> None:
        self.keys = [rsa_key("first")]
        self.clients = dict(clients or {})
        self.key_requests = self.token_requests = 0
        self.is_down = False
        self.refusals = 0
        self.redirects: dict[str, str] = {}
        self.lifetime_s = 600.0
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys"

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    def token(self, key: Any = None, **changed: Any) -> str:
        """A good one for `sub` alice, or as changed."""
        made = claims(time.time(), **{"exp": time.time() + self.lifetime_s, **changed})
        return signed(made, self.keys[-1] if key is None else key, "RS256")

    def rotate(self, key_id: str) -> None:
        """Signs with a new key from now on, and no longer shows the others."""
        self.keys = [rsa_key(key_id)]

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """Status and content."""
        self.refusals -= (is_refused := self.refusals > 0)
        if self.is_down or is_refused:
            return 503, b"{}"
        if path == "/keys":
            self.key_requests += 1
            return 200, public(*self.keys)
        if path == "/token":
            self.token_requests += 1
            return self._grant(headers.get("Authorization") or "", parse_qs(body.decode()))
        return 404, b"{}"

    def _grant(self, authorization: str, fields: Mapping[str, list[str]]) -> tuple[int, bytes]:
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if self.clients.get(name) != secret:
            return 401, b'{"error":"invalid_client"}'
        if fields.get("grant_type") != ["client_credentials"]:
            return 400, b'{"error":"unsupported_grant_type"}'
        token = self.token(sub=name, scope=fields.get("scope", [None])[0])
        return 200, json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 600}).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(provider: TokenProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _answer(self, body: bytes) -> None:
            moved = provider.redirects.get(self.path)
            status, content = (307, b"") if moved else provider.answer(self.path, dict(self.headers), body)
            self.send_response(status)
            if moved:
                self.send_header("Location", moved)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler

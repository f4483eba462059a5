"""Headers of every response, and the hosts that are answered.

Pages have no script or style of their own inside (Content-Security-Policy), so a name that contains script is text and
nothing else. Without logins only requests for this machine's names are answered: a page of another site whose name was
made to point here (DNS rebinding) is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
HSTS = "max-age=31536000"
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def host_of(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


class ProtectiveHeaders:
    """ASGI middleware. names: the hosts that are answered; None for all. is_tls: whether it is served with TLS."""

    def __init__(self, app: ASGIApp, *, names: Collection[str] | None, is_tls: bool) -> None:
        self._app = app
        self._names = names
        self._headers = {**HEADERS, **({"Strict-Transport-Security": HSTS} if is_tls else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_static = scope["path"].startswith("/static/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=_raw(message))
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "public, max-age=86400" if is_static else "no-store")
            await send(message)

        host = host_of(Headers(scope=scope).get("host", ""))
        if self._names is not None and host not in self._names:
            refused = PlainTextResponse("This manager does not answer to that host name (setting public_names).\n", 421)
            await refused(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _raw(message: Message) -> Any:
    message.setdefault("headers", [])
    return message

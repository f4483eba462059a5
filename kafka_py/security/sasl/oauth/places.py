"""What a URL or a local file has: keys of a provider, tokens (blocking I/O, made in threads).

Source: KIP-768.
"""

from __future__ import annotations

import functools
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.security.tls.contexts import client_context
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import load_stores

MOST_BYTES = 1_048_576
DEFAULT_TIMEOUT_MS = 10_000


class Unreadable(Exception):
    """What a place has could not be had. is_final: the other side said so, and repeating it is of no use."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class Place(NamedTuple):
    """setting: that names it. path: of a file; "" for a URL. context: for https."""

    setting: str
    url: str
    path: str
    context: ssl.SSLContext | None
    connect_s: float
    read_s: float
    clock: Clock

    @property
    def is_file(self) -> bool:
        return bool(self.path)

    def stamp(self) -> object:
        """Another one when the file has changed; always the same for a URL."""
        if not self.is_file:
            return None
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def read(self, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """The content. body: makes it a POST. Raises Unreadable."""
        return self._read_file() if self.is_file else self._fetch(body, headers or {})

    def _read_file(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"{self.path}: {error.strerror}") from None
        _check_size(content)
        return content

    def _fetch(self, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        handlers = [_NoRedirects(), _PlainHandler(self.read_s), _SecureHandler(self.read_s, self.context)]
        request = urllib.request.Request(self.url, body, {"Accept": "application/json", **headers})
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=self.connect_s) as response:
                return self._content(response)
        except urllib.error.HTTPError as error:
            is_final = 400 <= error.code < 500 and error.code not in (408, 429)
            raise Unreadable(f"HTTP status {error.code}", is_final=is_final) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: of a name in the address
            raise Unreadable(str(getattr(error, "reason", error)) or type(error).__name__) from None

    def _content(self, response: http.client.HTTPResponse) -> bytes:
        """The whole body, in the time that it may take. Raises Unreadable, OSError."""
        deadline_ms = self.clock.monotonic_ms() + self.read_s * 1000
        content = bytearray()
        while chunk := response.read1(65_536):
            content += chunk
            _check_size(content)
            if self.clock.monotonic_ms() > deadline_ms:
                raise Unreadable(f"the response was not complete after {self.read_s:g} s")
        return bytes(content)


def _check_size(content: bytes | bytearray) -> None:
    """Raises Unreadable."""
    if len(content) > MOST_BYTES:
        raise Unreadable(f"more than {MOST_BYTES} bytes")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Another address than the configured one is not asked: it could be one without TLS."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


class _PlainHandler(urllib.request.HTTPHandler):
    """Connections whose time limit is another one once they are established: urllib has one for both."""

    def __init__(self, read_s: float) -> None:
        super().__init__()
        self._read_s = read_s

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(_PlainConnection, self._read_s), request)


class _SecureHandler(urllib.request.HTTPSHandler):
    """The same with TLS; the time limit of the connection includes the handshake."""

    def __init__(self, read_s: float, context: ssl.SSLContext | None) -> None:
        super().__init__(context=context)
        self._read_s = read_s
        self._tls = context

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(_SecureConnection, self._read_s), request, context=self._tls)


class _PlainConnection(http.client.HTTPConnection):
    def __init__(self, read_s: float, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._read_s = read_s

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(self._read_s)


class _SecureConnection(http.client.HTTPSConnection):
    def __init__(self, read_s: float, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._read_s = read_s

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(self._read_s)


def place_of(
    setting: str, url: str, clock: Clock, tls: Mapping[str, str], connect_ms: int | None = None,
    read_ms: int | None = None,
) -> Place:  # fmt: skip
    """The place that the value of a setting names. tls: options with the names of stores. Raises ConfigError."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        raise ConfigError(f"Invalid value {url} for configuration {setting}: not a URL") from None
    path, context = "", None
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        path = unquote(parts.path)
    elif parts.scheme in ("http", "https") and parts.hostname:
        context = _context(tls) if parts.scheme == "https" else None
    else:
        raise ConfigError(f"Invalid value {url} for configuration {setting}: it must begin with https:// or file:///")
    seconds = [(DEFAULT_TIMEOUT_MS if each is None else max(each, 1)) / 1000 for each in (connect_ms, read_ms)]
    return Place(setting, url.strip(), path, context, seconds[0], seconds[1], clock)


def _context(tls: Mapping[str, str]) -> ssl.SSLContext:
    """By the stores among the options of a login entry; without them what the machine trusts. Raises ConfigError."""
    given = {name: value for name, value in tls.items() if name.startswith("ssl.")}
    settings = TlsSettings.of({"ssl.endpoint.identification.algorithm": "https", **given})
    return client_context(settings, load_stores(settings))
